/**
 * A text between two rows of backticks, longer than any inside, so that nothing in it can close the block:
 * the rule of Markdown's code fences (CommonMark 0.31, 4.5).
 *
 * @param info stands behind the first row.
 */
export function fenced(text: string, info = ""): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${fence}${info}\n${text}\n${fence}`;
}
