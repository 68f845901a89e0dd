/**
 * The words that search compares, for every driver: an index that keeps these tokens finds what a
 * scan with `holdsEvery` finds.
 */

/** The script of a Chinese, Japanese or Korean character; with its marks it is a word by itself. */
const cjk = String.raw`[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]`;
const words = new RegExp(
  String.raw`(?=[\p{L}\p{N}])${cjk}\p{M}*|(?:(?!${cjk})[\p{L}\p{N}\p{M}])+`,
  "gu",
);
const asciiWords = /[a-z0-9]+/g;
const notAscii = /[^\0-\x7f]/;
// Accents, and the points of Hebrew and Arabic. Not the voicing marks of kana and not the vowel
// signs of Indic scripts, without which they are other words.
const accents = /(?![\u3099\u309a])(?=\p{M})[\p{Script=Inherited}\p{Script=Hebrew}]/gu;
// Soft hyphens, joiners, direction marks: they are inside words. The zero-width space ends one.
const invisible = /(?!\u200b)\p{Cf}/gu;

/**
 * The words of a text, folded so that case, accents and forms of width do not matter. Words are runs
 * of letters and digits; every Chinese, Japanese or Korean character is a word of its own, because
 * those scripts put no space between words. No token holds white space or ASCII punctuation.
 */
export function searchTokens(text: string): string[] {
  if (!notAscii.test(text)) return text.toLowerCase().match(asciiWords) ?? [];
  return fold(text).match(words) ?? [];
}

/**
 * The phrases that a query asks for: one per word between white space, as its tokens (`don't` is
 * `["don", "t"]`). Words without a letter or digit ask for nothing; a query of such words alone
 * answers no phrase, and finds nothing.
 */
export function queryPhrases(query: string): string[][] {
  return query
    .split(/\s+/u)
    .map(searchTokens)
    .filter((phrase) => phrase.length > 0);
}

/**
 * Whether the last token of the last phrase stands for every token that begins with it: `prefix` is asked
 * for, and no white space ends the query.
 */
export function endsOpen(query: string, prefix = false): boolean {
  return prefix && searchTokens(query.split(/\s+/u).at(-1) ?? "").length > 0;
}

/**
 * Whether every phrase occurs in these tokens, as a run of consecutive ones; in any order.
 *
 * @param isOpen see `endsOpen`.
 */
export function holdsEvery(
  tokens: readonly string[],
  phrases: readonly string[][],
  isOpen = false,
): boolean {
  return phrases.every((phrase, index) => {
    const open = isOpen && index === phrases.length - 1 ? phrase.length - 1 : -1;
    const matches = (token: string, i: number, found: string | undefined) =>
      i === open ? found?.startsWith(token) === true : found === token;
    return tokens.some((_, start) =>
      phrase.every((token, i) => matches(token, i, tokens[start + i])),
    );
  });
}

function fold(text: string): string {
  const bare = text.normalize("NFKD").replace(accents, "").replace(invisible, "");
  // Down, up, down: `ẞ` and `ß` are `ss`. Both forms of sigma are one. Hangul is whole again.
  const lower = bare.toLowerCase().toUpperCase().toLowerCase();
  return lower.replaceAll("ς", "σ").normalize("NFC");
}
