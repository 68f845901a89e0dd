// A text of Markdown in pieces, so that a long one is not read from its beginning for each new word.

/** Each piece is at least this long, because each costs the set-up of a parser. */
const leastChars = 2_000;
const line = /[^\r\n]*(?:\r\n|\r|\n|$)/y;
/** An item of a list: the marker, and the spaces before its words. */
const marker = /^( {0,3})(?:[-*+]|\d{1,9}[.)])(?: {1,4}(?=\S)|[ \t]|$)/;
/** Such an item begins a list wherever it stands. Another one may not, for example behind indented code. */
const interrupts = /^ {0,3}(?:[-*+]|1[.)])[ \t]+\S/;
const fenceLine = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})/;
/** In HTML a fence is none, and some of it goes past blank lines. */
const htmlLine = /^ {0,3}</;

/**
 * Cuts a text where its blocks end: each piece means the same on its own as in the whole. A list and a block
 * of code are never cut, nor is a text with a definition or a footnote, which may be meant anywhere.
 */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let from = 0;
  /** The fence of the code that is open; one in an item of a list ends with the item. */
  let fence: { readonly marks: string; readonly isInItem: boolean } | undefined;
  /** How far the words of a list's item are indented; 0: no list is open. */
  let indent = 0;
  /** Whether a list is open is not certain. */
  let isUnsure = false;
  let isAfterBlank = true;
  for (let at = 0; at < text.length; at = line.lastIndex) {
    line.lastIndex = at;
    const words = (line.exec(text)?.[0] ?? "").trimEnd();
    const isBlank = words === "";
    const [item, before = ""] = marker.exec(words) ?? [];
    const isBegin = isAfterBlank;
    isAfterBlank = isBlank;
    const isShort = !isBlank && indent > 0 && words.search(/[^ ]/) < indent;
    if (isShort && fence?.isInItem) fence = undefined;
    if (isBegin && /^\S/.test(words) && item === undefined && fence === undefined) {
      indent = 0;
      isUnsure = false;
      if (at - from >= leastChars) {
        pieces.push(text.slice(from, at));
        from = at;
      }
    }
    const [, gap = "", marks] = fenceLine.exec(words) ?? [];
    if (fence !== undefined) {
      if (marks?.startsWith(fence.marks) && words.trim() === marks) fence = undefined;
    } else if (words.includes("]:")) return [text];
    else if (htmlLine.test(words) || (marks !== undefined && gap !== "" && isUnsure)) break;
    else if (marks !== undefined) {
      const isInItem = indent > 0 && gap.length >= indent;
      fence = { marks, isInItem };
      if (!isInItem) indent = 0;
    } else if (item !== undefined && (indent === 0 || before.length < indent)) {
      isUnsure ||= words === item.trimEnd() || (indent === 0 && !interrupts.test(words));
      indent = item.length + (/\s$/.test(item) ? 0 : 1);
    } else isUnsure ||= isShort;
  }
  return [...pieces, text.slice(from)];
}
