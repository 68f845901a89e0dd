// Which words of a message are somebody else's: quoted, or told of.

import type { Word } from "./words.ts";

interface Span {
  readonly start: number;
  readonly end: number;
}

const closers: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "“": "”",
  "„": "“",
  "«": "»",
  "‘": "’",
};

/**
 * The parts of a text that stand between quotation marks of one line (" " ' ' “ ” „ “ « » ‘ ’), and
 * the lines that begin with `>`. An apostrophe opens nothing: a mark opens before a word and closes
 * after one. In time that grows with the length of the text alone.
 */
export function quotedSpans(text: string): readonly Span[] {
  const spans: Span[] = [];
  let start = 0;
  for (const line of text.split(/[\r\n]/)) {
    if (/^[ \t]{0,3}>/.test(line)) spans.push({ start, end: start + line.length });
    else spansOfLine(line, start, spans);
    start += line.length + 1;
  }
  return spans;
}

function spansOfLine(line: string, offset: number, spans: Span[]): void {
  // Marks that no longer close on this line: looked for once, not at every opening.
  const unclosed = new Set<string>();
  for (let at = 0; at < line.length; at++) {
    const closer = closers[line.charAt(at)];
    if (closer === undefined || unclosed.has(closer) || !opens(line, at)) continue;
    const end = closingAfter(line, at, closer);
    if (end === -1) {
      unclosed.add(closer);
      continue;
    }
    spans.push({ start: offset + at, end: offset + end });
    at = end;
  }
}

const insideWord = /[\p{L}\p{N}]/u;

function opens(line: string, at: number): boolean {
  const before = line.charAt(at - 1);
  const after = line.charAt(at + 1);
  return !insideWord.test(before) && after !== "" && !/\s/.test(after);
}

function closingAfter(line: string, opening: number, closer: string): number {
  const isApostrophe = closer === "'" || closer === "’";
  for (let at = line.indexOf(closer, opening + 1); at !== -1; at = line.indexOf(closer, at + 1)) {
    const isInside = insideWord.test(line.charAt(at + 1)) || /\s/.test(line.charAt(at - 1));
    if (!isApostrophe || !isInside) return at;
  }
  return -1;
}

const reports = new Set(
  [
    "said says say saying told tells calls called calling yelled yells shouted shouts",
    "screamed screams wrote writes texted texts whispered",
  ]
    .join(" ")
    .split(" "),
);
const between = new Set("just always also even never once then has have had keeps kept".split(" "));
const ownSubjects = /^(?:i|we)(?:'(?:ve|d|m|ll|re))?$/;

/** How far back a report is looked for. */
const reportReach = 8;

/**
 * Somebody else is reported to have said the word at `index`: "he said you are useless", "she called
 * me stupid". A report reaches eight words, to the end of the sentence or a "but". What the person
 * says of their own words ("I told you to shut up") is no report, nor is a verb without a subject.
 */
export function isReported(words: readonly Word[], index: number): boolean {
  const sentence = words[index]?.sentence;
  for (let at = index - 1; at >= Math.max(0, index - reportReach); at--) {
    const word = words[at];
    if (word === undefined || word.sentence !== sentence || word.folded === "but") return false;
    if (reports.has(word.folded)) return isSomebodyElse(words, at - 1, word.sentence);
  }
  return false;
}

function isSomebodyElse(words: readonly Word[], from: number, sentence: number): boolean {
  for (let at = from; at >= Math.max(0, from - 3); at--) {
    const word = words[at];
    if (word === undefined || word.sentence !== sentence) return false;
    if (!between.has(word.folded)) return !ownSubjects.test(word.folded);
  }
  return false;
}
