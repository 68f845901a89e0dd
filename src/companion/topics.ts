import { conversationOf, quoted, type SaidMessage } from "./quoted-lines.ts";

const topicLimits = { topics: 5, snippet: 60 } as const;

/**
 * What a person talked about: up to 5 of their messages, oldest first, evenly spread, the first and
 * the newest among them. Each is a JSON string of its first 60 code points, `...` if there is more.
 *
 * @returns "" when the person said nothing.
 */
export function topicsText(messages: readonly SaidMessage[]): string {
  const said = conversationOf(messages).filter(({ role }) => role === "USER");
  return spread(said)
    .map(({ text }) => quoted(snippet(text), topicLimits.snippet + "...".length))
    .join(", ");
}

function spread<T>(items: readonly T[]): readonly T[] {
  const { topics } = topicLimits;
  if (items.length <= topics) return items;
  const last = items.length - 1;
  const picked = Array.from({ length: topics }, (_, i) => Math.floor((i * last) / (topics - 1)));
  return picked.flatMap((index) => items.slice(index, index + 1));
}

function snippet(text: string): string {
  const points = Array.from(text.trim().slice(0, 2 * topicLimits.snippet + 2));
  if (points.length <= topicLimits.snippet) return points.join("");
  return `${points.slice(0, topicLimits.snippet).join("").trimEnd()}...`;
}
