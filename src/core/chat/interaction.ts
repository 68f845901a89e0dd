import { invalid } from "../errors.ts";

const outcomes = ["answered", "interrupted", "failed"] as const;
/** How a turn ended. `interrupted`: stopped or talked over, the response is what came before. */
export type Outcome = (typeof outcomes)[number];

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

// Not free text: the label stands outside of the quotes in the summary.
const label = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** @throws ThroughlineError `THROUGHLINE_INVALID`: a field is not what `NewInteraction` says. */
export function checkInteraction(input: NewInteraction): NewInteraction {
  const { utterance, intent, response, outcome } = input;
  for (const [name, value] of Object.entries({ utterance, intent, response })) {
    if (typeof value !== "string") throw invalid(`the ${name} of an interaction must be a string`);
  }
  if (!label.test(intent)) {
    throw invalid("an intent must be a label: at most 64 letters, digits, _ and -");
  }
  if (!outcomes.includes(outcome))
    throw invalid(`an outcome must be one of ${outcomes.join(", ")}`);
  return { utterance, intent: intent.toUpperCase(), response, outcome };
}

/** The UTF-8 bytes of the texts of an interaction: what the byte budget counts. */
export function bytesOf({ utterance, intent, response }: NewInteraction): number {
  return utf8Length(utterance) + utf8Length(intent) + utf8Length(response);
}

/**
 * The interaction within `maxBytes`, at least 80: the response is cut first, down to an eighth of
 * them, then the utterance, each at a code point and with a `…`. A long text that somebody pastes
 * does not cost the answer to it, and a cut answer never looks like none.
 */
export function fitInteraction(input: NewInteraction, maxBytes: number): NewInteraction {
  if (bytesOf(input) <= maxBytes) return input;
  const room = maxBytes - utf8Length(input.intent);
  const share = Math.max(room - utf8Length(input.utterance), Math.floor(maxBytes / 8));
  const response = fitText(input.response, share);
  const utterance = fitText(input.utterance, room - utf8Length(response));
  return { ...input, utterance, response };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const ellipsis = "…";
const ellipsisBytes = 3;

function utf8Length(text: string): number {
  return Buffer.byteLength(text);
}

function fitText(text: string, maxBytes: number): string {
  if (utf8Length(text) <= maxBytes) return text;
  const kept = new Uint8Array(maxBytes - ellipsisBytes);
  // encodeInto stops before the first code point that does not fit.
  const { written } = encoder.encodeInto(text, kept);
  // Decoded, not sliced: a slice would keep the whole text alive behind it.
  return decoder.decode(kept.subarray(0, written)) + ellipsis;
}
