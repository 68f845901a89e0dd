import { createHash } from "node:crypto";

/**
 * A stored text between two marks that it does not hold: nothing in it can end the record early. The
 * marks come from the seed, so that the bytes of a prompt stay the same turn after turn.
 *
 * @param says the lines above the record, given its mark.
 */
export function markedText(
  seed: string,
  says: (mark: string) => readonly string[],
  stored: string,
): string {
  const text = stored.toWellFormed();
  let mark = markOf(seed);
  while (text.includes(mark)) mark = markOf(mark);
  return [...says(mark), mark, text, mark].join("\n");
}

function markOf(seed: string): string {
  return `record-${createHash("sha256").update(seed).digest("hex").slice(0, 16)}`;
}
