/** A word of a text: letters, digits and marks, with `'` and `-` inside it. */
export interface Word {
  /** As written, with straight apostrophes. */
  readonly exact: string;
  readonly folded: string;
  readonly start: number;
  readonly end: number;
  readonly sentence: number;
  /** Only white space stands between this word and the one before. */
  readonly follows: boolean;
  /** A comma or another mark comes right after it. */
  readonly isCutOff: boolean;
}

const wordPattern = /[\p{L}\p{M}\p{N}_]+(?:['’ʼ＇-][\p{L}\p{M}\p{N}_]+)*/gu;
const sentenceEnd = /[.!?…。！？;\n\r]/;
const onlySpace = /^[^\S\r\n]*$/;
const mark = /^\s*[,.!?…;:—–-]/;

/** The words of a text in order, in time that grows with its length alone. */
export function wordsOf(text: string): readonly Word[] {
  const found = [...text.matchAll(wordPattern)];
  let sentence = 0;
  let end = 0;
  return found.map((match, index) => {
    const [written] = match;
    const before = text.slice(end, match.index);
    if (sentenceEnd.test(before)) sentence += 1;
    end = match.index + written.length;
    const exact = straight(written);
    return {
      exact,
      folded: exact.toLowerCase(),
      start: match.index,
      end,
      sentence,
      follows: index > 0 && onlySpace.test(before),
      isCutOff: mark.test(text.slice(end, end + 8)),
    };
  });
}

/** Past this a word is no word of a pattern, and is left as it is. */
const longestWord = 128;

function straight(written: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII needs no work, the usual case
  if (written.length > longestWord || /^[\x00-\x7f]*$/.test(written)) return written;
  return written.replace(/[’ʼ＇]/g, "'").normalize("NFC");
}
