// How an answer is split and cleaned to be read aloud.

/** Markdown as a person would read it out: without its marks, addresses and code. */
export function speakable(markdown: string): string {
  return markdown
    .replace(/```[\s\S]*?(```|$)/g, " (code) ")
    .replace(/!\[[^\]]*\]\([^)]*\)/g, " ")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/https?:\/\/\S+/g, " (a link) ")
    .replace(/^\s*(#{1,6}|>|[-*+]|\d+\.)\s+/gm, "")
    .replace(/[*_~`|]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

/**
 * The whole sentences of a text from a place on.
 *
 * @param isWhole nothing more comes: the rest counts as a sentence.
 * @returns them, and the place to go on from.
 */
export function sentencesFrom(
  text: string,
  from: number,
  isWhole: boolean,
): { readonly sentences: readonly string[]; readonly next: number } {
  const sentences: string[] = [];
  let next = from;
  for (const match of text.slice(from).matchAll(/[\s\S]*?([.!?…。！？]["'”’)\]]*\s|\n{1,2})/g)) {
    sentences.push(match[0]);
    next += match[0].length;
  }
  if (isWhole && next < text.length) {
    sentences.push(text.slice(next));
    next = text.length;
  }
  return { sentences, next };
}
