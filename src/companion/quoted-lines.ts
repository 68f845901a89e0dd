// Stored words go to a model as data: each text is one JSON string on one line, so that nothing in it
// begins a line, ends its quotes, or is a token that a model's template would take for a role.

import { cutText, unicodeEscape } from "../core/chat/printable.ts";

/** What a person or the companion said: some text. */
export interface Said {
  readonly role: "USER" | "ASSISTANT";
  readonly text: string;
}

export const quoteLimits = { text: 500, messages: 6_000, name: 64 } as const;

/** A text in double quotes, as JSON, cut at `maxPoints` code points (a `…` is the last of them). */
export function quoted(text: string, maxPoints: number = quoteLimits.text): string {
  return `"${escaped(cut(text, maxPoints))}"`;
}

/** The same within `maxChars` characters, quotes included; "" when not even a word would fit. */
export function quotedWithin(text: string, maxChars: number): string {
  const least = 12;
  const longestEscape = 6;
  let points = maxChars;
  let quote = quoted(text, points);
  while (quote.length > maxChars && maxChars >= least) {
    points -= Math.ceil((quote.length - maxChars) / longestEscape);
    quote = quoted(text, points);
  }
  return quote.length > maxChars ? "" : quote;
}

/**
 * Messages, oldest first, each as `  USER: "…"`. The oldest are left out until the lines and the breaks between
 * them are within `maxChars` characters.
 */
export function messageLines(
  messages: readonly Said[],
  maxChars: number = quoteLimits.messages,
): readonly string[] {
  const lines: string[] = [];
  let left = maxChars;
  for (const { role, text } of messages.toReversed()) {
    const line = `  ${role}: ${quoted(text)}`;
    left -= line.length + 1;
    if (left < 0) break;
    lines.unshift(line);
  }
  return lines;
}

/**
 * A name that others chose, such as a face recogniser's: on one line, within 64 code points, without
 * anything that cannot be seen. `undefined` when nothing of it is left.
 */
export function cleanName(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const clean = cut(name, 4 * quoteLimits.name)
    .replace(unseen, " ")
    .replace(/\s+/gu, " ")
    .trim();
  return clean === "" ? undefined : cut(clean, quoteLimits.name).trimEnd();
}

/** A label such as an event's name: as it is when it is a plain word, quoted otherwise. */
export function label(text: unknown): string | undefined {
  const name = cleanName(text);
  return name === undefined || /^[\w-]+$/.test(name) ? name : quoted(name);
}

/** Control characters, line and paragraph separators, private use, halves; format but for joiners. */
const unseen = /[\p{Cc}\p{Zl}\p{Zp}\p{Co}\p{Cs}]|(?![\u200c\u200d])\p{Cf}/gu;

/** What JSON leaves bare, though it breaks lines, reorders text or hides. */
const bare = /[\u007f-\u009f\u2028\u2029\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
/** Tag characters spell out text that no person sees. */
const tags = /[\u{e0000}-\u{e0fff}]/gu;
/** The beginnings of tags and of template tokens: `<|im_end|>`, `</s>`, `<<SYS>>`, `[INST]`. */
const opening = /<(?=[|\uff5c/<!?\p{L}])|\[(?=\/?[A-Z_]+\])/gu;

function escaped(text: string): string {
  const json = JSON.stringify(text.replace(tags, "\ufffd")).slice(1, -1);
  return json.replace(bare, unicodeEscape).replace(opening, unicodeEscape);
}

/** The first code points of a text; lone surrogates are U+FFFD. */
const cut = (text: string, maxPoints: number) => cutText(text, maxPoints).toWellFormed();
