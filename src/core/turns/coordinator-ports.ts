import type { Outcome } from "../chat/interaction.ts";
import type { ReadOnlyMemory } from "../chat/working-memory.ts";
import type { Intent } from "./intent.ts";

/** What a person gave: words, or the sound of them. */
export type Input =
  | { readonly text: string }
  | { readonly audio: Uint8Array; readonly format: string };

/** Where a person's words come from: a terminal, a wake word, a button. */
export interface InputTrigger {
  /** Waits for the next input. `undefined`: there will be none. A rejection ends the loop with it. */
  next(signal: AbortSignal): Promise<Input | undefined>;
}

/** Makes words of sound. */
export interface SpeechToText {
  /** @returns the words, "" when there are none. A rejection is shown, and the loop goes on. */
  transcribe(audio: Uint8Array, format: string, signal: AbortSignal): Promise<string>;
}

/** Classifies what was said; `parseIntent` fits. */
type IntentParser = (text: string, companionName?: string) => Intent;

/** How a turn ended, and the whole response as far as it came. */
export interface TurnResult {
  readonly outcome: Outcome;
  readonly response: string;
  /** Why it was not answered: one sentence that is safe to show. */
  readonly reason?: string | undefined;
}

/** A turn as it runs: text as it comes, and last the result. */
export type TurnEvent =
  | { readonly type: "text"; readonly text: string }
  | ({ readonly type: "result" } & TurnResult);

/**
 * Runs one turn: keeps what was said, asks a model, keeps the answer, remembers the interaction.
 *
 * When the signal is aborted (the person talks over the answer, the output fails, the loop is ended)
 * it stops answering, keeps the text so far as `interrupted`, and still ends with a result. It is
 * always read to its end. What it throws is shown, and the loop goes on.
 */
export type Converse = (
  text: string,
  intent: Intent,
  signal: AbortSignal,
  memory?: ReadOnlyMemory,
) => AsyncIterable<TurnEvent>;

/**
 * Shows or speaks answers, one call at a time. A call that rejects costs the output of its turn,
 * never the turn. One that is pending when the turn is cut short is not waited for.
 */
export interface OutputSink {
  /** An answer is to come. `interrupt` cuts it short, for a person who talks over it. */
  begin(interrupt: () => void): Promise<void>;
  /** The next piece of the answer, in order. */
  write(text: string): Promise<void>;
  /** The answer is over. Follows every `begin`, also one that rejected. */
  end(result: TurnResult): Promise<void>;
}

export interface CoordinatorPorts {
  readonly input: InputTrigger;
  readonly speechToText: SpeechToText;
  readonly parseIntent: IntentParser;
  readonly converse: Converse;
  readonly output: OutputSink;
}
