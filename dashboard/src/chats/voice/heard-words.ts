/** A part of what a browser heard, as `SpeechRecognition` lists it. */
export interface HeardPart {
  readonly transcript: string;
  readonly isFinal: boolean;
  /** 0 on Android for a part that still grows, though it is called final. */
  readonly confidence?: number;
}

export interface Heard {
  /** What will not change any more. */
  readonly final: string;
  readonly interim: string;
  /** How many parts `final` is of. */
  readonly finals: number;
}

/** Reads a whole list of parts: on Android each one repeats those before it. */
export function heardIn(parts: readonly HeardPart[]): Heard {
  const firstInterim = parts.findIndex(({ isFinal, confidence }) => !isFinal || confidence === 0);
  const finals = firstInterim < 0 ? parts.length : firstInterim;
  const final = joined(parts.slice(0, finals));
  const rest = joined(parts.slice(finals));
  const all = put(final, rest);
  return { final, interim: all.slice(final.length), finals };
}

function joined(parts: readonly HeardPart[]): string {
  return parts.reduce((text, { transcript }) => put(text, transcript), "");
}

/** Scripts that put no space between words. */
const spaceless = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
const needsSpace = new RegExp(String.raw`[^\s${spaceless}]\n[^\s${spaceless}]`, "u");

function put(before: string, next: string): string {
  if (next.startsWith(before)) return next;
  const isApart = needsSpace.test(`${before.slice(-2)}\n${next.slice(0, 2)}`);
  return `${before}${isApart ? " " : ""}${next}`;
}
