// How an answer is split and cleaned to be read aloud.

/** Markdown as a person would read it out: without its marks, addresses and code. */
export function speakable(markdown: string): string {
  return markdown
    .replace(/(```|~~~)[\s\S]*?(\1|$)/g, " (code) ")
    .replace(/!\[[^\]]*\]\([^)]*\)/g, " ")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/https?:\/\/\S+/g, " (a link) ")
    .replace(/^\s*(#{1,6}|>|[-*+]|\d+\.)\s+/gm, "")
    .replace(/[*_~`|]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

const fence = /[ \t>]*(`{3,}|~{3,})/y;
const sentence = /[\s\S]*?([.!?…。！？]["'”’)\]]*\s|\n{1,2})/y;

/** Finds what comes next as a whole: a block of code, or a sentence. @returns where it ends. */
function endOfNext(text: string, from: number): number | undefined {
  fence.lastIndex = from;
  const opening = fence.exec(text)?.[1];
  sentence.lastIndex = from;
  if (opening === undefined) return sentence.test(text) ? sentence.lastIndex : undefined;
  const closing = new RegExp(`\\n[ \\t>]*${opening}[ \\t]*(?:\\n|$)`, "g");
  closing.lastIndex = fence.lastIndex;
  return closing.test(text) ? closing.lastIndex : undefined;
}

/**
 * Splits a text from a place on into whole sentences; a block of code is one.
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
  for (let end = endOfNext(text, next); end !== undefined; end = endOfNext(text, next)) {
    sentences.push(text.slice(next, end));
    next = end;
  }
  if (isWhole && next < text.length) {
    sentences.push(text.slice(next));
    next = text.length;
  }
  return { sentences, next };
}
