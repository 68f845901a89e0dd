import type { Outcome } from "./message.ts";
import { cutText } from "./printable.ts";

/** What a turn leaves behind for working memory. */
export interface NewInteraction {
  /** What the person said. */
  readonly utterance: string;
  /** A label such as `question`: at most 64 letters, digits, `_` and `-`, kept in upper case. */
  readonly intent: string;
  /** What was answered, as far as it came; "" when nothing did. */
  readonly response: string;
  readonly outcome: Outcome;
}

/** One entry of working memory, frozen. */
export interface Interaction extends NewInteraction {
  /** From 1, never reused within one working memory: not by eviction, not by `clear`. */
  readonly turn: number;
  /** When it was remembered: ISO 8601, UTC. */
  readonly timestamp: string;
}

/** In code points, the `…` of a cut included. */
const summaryLimits = { text: 280, whole: 2_000 } as const;

/**
 * What was just said, as sentences for a prompt, oldest turn first:
 * `Turn 4: You said 'Hello' (classified as GREETING). I responded 'Hi there!'.`
 *
 * One line of at most 2,000 code points: whole turns are left out from the oldest on. Nothing that a
 * person or a model said can end its quotes or begin a line. "" when there is nothing.
 */
export function summarise(interactions: readonly Interaction[]): string {
  const sentences: string[] = [];
  let left: number = summaryLimits.whole;
  for (const interaction of interactions.toReversed()) {
    const next = sentence(interaction);
    left -= Array.from(next).length;
    if (left < 0) break;
    sentences.unshift(next);
    left -= 1;
  }
  return sentences.join(" ");
}

function sentence({ turn, utterance, intent, response }: Interaction): string {
  const answer = response.trim() === "" ? "I did not answer." : `I responded ${quote(response)}.`;
  return `Turn ${turn}: You said ${quote(utterance)} (classified as ${intent}). ${answer}`;
}

/**
 * The text on one line between single quotes that nothing in it can close: a `'` stays only where it
 * cannot be the end of a quotation, between two letters or digits, and is a U+2019 elsewhere.
 */
export function quote(text: string): string {
  // Cut first: the cut may take the letter away that made a `'` harmless.
  return `'${cutText(oneLine(text), summaryLimits.text).replace(looseQuote, "\u2019")}'`;
}

// Letters that cannot be seen, or that look like a quote themselves, do not count.
const visible = "(?!\\p{Default_Ignorable_Code_Point})[\\p{Lu}\\p{Ll}\\p{Lt}\\p{Lo}\\p{Nd}]";
const looseQuote = new RegExp(`(?<!${visible})'|'(?!${visible})`, "gu");

// With the bidirectional embeddings, overrides and isolates: left open they would reorder our words.
const space = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;
const breaking = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

function oneLine(text: string): string {
  return text.toWellFormed().replace(space, (run) => (breaking.test(run) ? " " : run));
}
