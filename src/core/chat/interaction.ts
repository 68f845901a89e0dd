import { checked, object, required, type Shape, text, word } from "../shape.ts";

export const outcomes = ["answered", "interrupted", "failed"] as const;
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

/** Most bytes of UTF-8 that are kept of an utterance, and of a response. */
export const fieldBytes = 8_192;

// Not free text: the label stands outside of the quotes in the summary.
const label = checked(text(), (intent, at) => {
  if (/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(intent)) return;
  at.says("must be a label: at most 64 letters, digits, _ and -");
});

const shape: Shape<NewInteraction> = object(
  { utterance: text(), intent: label, response: text(), outcome: word(outcomes) },
  "left out",
);

/** @throws ThroughlineError `THROUGHLINE_INVALID`: a field is not what `NewInteraction` says. */
export function checkInteraction(input: NewInteraction): void {
  required(shape, input, "an interaction");
}

/** Copies an interaction, with its intent in upper case and its texts within `fieldBytes` each. */
export function fitInteraction(input: NewInteraction): NewInteraction {
  const { utterance, intent, response, outcome } = input; // with lone surrogates, as it was said
  return {
    utterance: fitText(utterance),
    intent: intent.toUpperCase(),
    response: fitText(response),
    outcome,
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const ellipsis = "…";

/** Cuts a text at a code point, with a `…`, so that a cut answer never looks like none. */
function fitText(text: string): string {
  if (Buffer.byteLength(text) <= fieldBytes) return text;
  const kept = new Uint8Array(fieldBytes - Buffer.byteLength(ellipsis));
  // encodeInto stops before the first code point that does not fit.
  const { written } = encoder.encodeInto(text, kept);
  // Decoded, not sliced: a slice would keep the whole text alive behind it.
  return decoder.decode(kept.subarray(0, written)) + ellipsis;
}
