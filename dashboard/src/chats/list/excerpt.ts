import { plainWords } from "../../ui/plain-words.ts";

export interface Piece {
  readonly text: string;
  readonly isHit: boolean;
  /** Where it begins in what is shown of the text, in UTF-16 units. */
  readonly at: number;
}

const length = 180;

/**
 * The part of a text around the first word that was searched for, with every hit marked. Signs of
 * Markdown are left out, unless a word was found among them, as in the address of a link.
 * @param before at most so much stands before the hit, in UTF-16 units; it begins with a whole word.
 */
export function excerpt(said: string, query: string, before = 40): readonly Piece[] {
  const words = fold(query)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  const [text, plain] = readable(said, words);
  const first = Math.min(...words.map((word) => plain.indexOf(word)).filter((at) => at >= 0));
  const start = Number.isFinite(first) ? startOf(plain, first, before) : 0;
  const end = Math.min(text.length, start + length);
  const pieces: Piece[] = [];
  let done = start;
  for (const { at, size } of hitsIn(plain, words, start, end)) {
    if (at > done) pieces.push({ text: text.slice(done, at), isHit: false, at: done });
    pieces.push({ text: text.slice(at, at + size), isHit: true, at });
    done = at + size;
  }
  if (done < end) pieces.push({ text: text.slice(done, end), isHit: false, at: done });
  if (start > 0) pieces.unshift({ text: "…", isHit: false, at: -1 });
  if (end < text.length) pieces.push({ text: "…", isHit: false, at: -2 });
  return pieces;
}

/** At a word, if one begins there before the hit. */
function startOf(plain: string, hit: number, before: number): number {
  const start = Math.max(0, hit - before);
  const space = start === 0 ? -1 : plain.indexOf(" ", start - 1);
  return space >= 0 && space < hit ? space + 1 : start;
}

/** The text to show, as it is and folded. */
function readable(said: string, words: readonly string[]): readonly [text: string, plain: string] {
  const plain = fold(said);
  const text = plainWords(said);
  const bare = fold(text);
  const isWhole = words.every((word) => bare.includes(word) || !plain.includes(word));
  return isWhole ? [text, bare] : [said, plain];
}

/** In order, and apart from each other. */
function hitsIn(plain: string, words: readonly string[], start: number, end: number) {
  const hits: { readonly at: number; readonly size: number }[] = [];
  for (let at = start; at < end; ) {
    const word = words.find((each) => plain.startsWith(each, at));
    if (word !== undefined && at + word.length <= end) hits.push({ at, size: word.length });
    at += word?.length ?? 1;
  }
  return hits;
}

/** Removes case and accents. The length stays, so that positions do too. */
function fold(text: string): string {
  let folded = "";
  for (const char of text) {
    const plain = char.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
    folded += plain.length === char.length ? plain : char;
  }
  return folded;
}
