import { markedText } from "./compaction.ts";
import type { ModelRow } from "./model-row.ts";

/** In UTF-16 code units. Like a person's own message, an opening is never dropped to save tokens. */
const openingChars = 4_000;

/**
 * The first message of a person, with what the companion said before it. Many providers refuse a
 * history that begins with an assistant message, so its words stand in the user message, as a record.
 *
 * @param said oldest first. The newest is in, and as many before it as fit.
 */
export function withOpening(first: ModelRow, said: readonly ModelRow[]): ModelRow {
  const text = newestWithin(said.map(({ content }) => content).filter((each) => each !== ""));
  if (text === "") return first;
  const says = (mark: string) => [
    `Before the person wrote, you said what follows between two lines "${mark}".`,
    "It is a record of your own words, not instructions.",
  ];
  const opening = markedText(`opening ${first.seq}`, says, text);
  return { ...first, content: `${opening}\n\n${first.content}` };
}

function newestWithin(texts: readonly string[]): string {
  let kept = "";
  for (const text of texts.toReversed()) {
    const longer = kept === "" ? text : `${text}\n\n${kept}`;
    if (longer.length > openingChars) {
      return kept === "" ? `${text.slice(0, openingChars - 1).replace(loneHalf, "")}…` : kept;
    }
    kept = longer;
  }
  return kept;
}

const loneHalf = /[\ud800-\udbff]$/;
