import type { Outcome } from "../chat/message.ts";
import type { ReadOnlyMemory } from "../chat/working-memory.ts";
import { errorName, isThroughlineError, ThroughlineError } from "../errors.ts";
import { type Logger, silentLogger, thrown } from "../logger.ts";
import { aFunction, checkArgument, having } from "../options.ts";
import { until } from "../timers.ts";
import { type Intent, isStopRequest } from "./intent.ts";

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

export interface CoordinatorOptions {
  /** May be said beside a stop word: "stop, Nova". */
  readonly companionName?: string | undefined;
  /** Ends the loop; a turn under way is cut short and kept. */
  readonly signal?: AbortSignal;
  /** Passed on to `converse` and counted in the log: nothing here appends. */
  readonly memory?: ReadOnlyMemory;
  /** Gets counts and outcomes, never what was said. */
  readonly logger?: Logger;
}

interface CoordinatorReport {
  /** How many turns were given to `converse`, however they ended. */
  readonly turns: number;
  readonly ended: "stop_word" | "input_ended" | "aborted";
}

/**
 * Talks with one person, a turn after the other: input, words, intent, answer, output. Has no limit
 * of turns. Ends when the person asks it to (after that turn was answered), when there is no more
 * input, or by the signal. An input without words is no turn. Turns and outputs that fail are shown
 * and logged, and the loop goes on.
 *
 * Resolves when the last turn is over: a `converse` that does not end when it is aborted is waited
 * for. Rejects only with what `input.next` rejected with.
 */
export async function runCoordinator(
  ports: CoordinatorPorts,
  options: CoordinatorOptions = {},
): Promise<CoordinatorReport> {
  checkArgument(ports, "ports", having("{ input, output, converse, … }", "input"));
  const { signal = new AbortController().signal, logger = silentLogger } = options;
  const { companionName, memory } = options;
  const loop: Loop = { output: ports.output, signal, logger };
  for (let turns = 0; ; ) {
    const input = signal.aborted ? undefined : await until(ports.input.next(signal), { signal });
    if (signal.aborted) return { turns, ended: "aborted" };
    if (input === undefined) return { turns, ended: "input_ended" };
    const text = "text" in input ? input.text : await heard(ports, input, loop);
    if (signal.aborted) return { turns, ended: "aborted" };
    if (text.trim() === "") continue;
    turns++;
    const { outcome } = await deliver(loop, "a turn failed", (cut) =>
      ports.converse(text, intentOf(ports, text, companionName, logger), cut, memory),
    );
    logger.info({ outcome, memory: memory?.stats() }, "a turn ended");
    if (isStopRequest(text, companionName)) return { turns, ended: "stop_word" };
  }
}

/** How a loop shows and logs. */
interface Loop {
  readonly output: OutputSink;
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/** Makes words of sound: "" when there are none, or when it could not be understood, which is shown. */
async function heard(
  { speechToText }: CoordinatorPorts,
  { audio, format }: Extract<Input, { readonly audio: unknown }>,
  loop: Loop,
): Promise<string> {
  const { signal } = loop;
  try {
    return (await until(speechToText.transcribe(audio, format, signal), { signal })) ?? "";
  } catch (error) {
    await deliver(loop, "speech to text failed", () => {
      throw error;
    });
    return "";
  }
}

/** A parser that fails costs the label, not the turn. */
function intentOf(
  { parseIntent }: CoordinatorPorts,
  text: string,
  companionName: string | undefined,
  logger: Logger,
): Intent {
  try {
    return parseIntent(text, companionName);
  } catch (error) {
    logger.error(thrown(error), "the intent parser failed");
    return { type: "unknown", confidence: 0 };
  }
}

/**
 * Brings one answer to the output, and ends the turn early when it cannot be heard.
 *
 * @param failed what is logged if `run` throws.
 * @param run gets a signal that cuts the turn short, for any reason.
 */
export async function deliver(
  { output, signal: ending, logger }: Loop,
  failed: string,
  run: (signal: AbortSignal) => AsyncIterable<TurnEvent>,
): Promise<TurnResult> {
  const turn = new AbortController();
  const cut = (reason: string) => turn.abort(new DOMException(reason, "AbortError"));
  const signal = AbortSignal.any([ending, turn.signal]);
  let isBroken = false;
  let hasWritten = false;
  /** Lets go of an output that hangs when the turn is cut short, so that the turn can end. */
  const show = async (call: () => Promise<void>) => {
    try {
      await (signal.aborted ? call() : until(call(), { signal }));
    } catch (error) {
      isBroken = true;
      logger.error(thrown(error), "the output failed");
    }
  };
  const write = async (text: string) => {
    if (!isBroken && !signal.aborted) {
      hasWritten = true;
      await show(() => output.write(text));
    }
    // Not before there is text: by then the turn has kept what the person said.
    if (isBroken) cut("The output failed.");
  };
  await show(() => output.begin(() => cut("The answer was talked over.")));
  let result: TurnResult = { outcome: "failed", response: "", reason: "The answer has no end." };
  try {
    for await (const event of run(signal)) {
      if (event.type === "text") await write(event.text);
      else result = event;
    }
  } catch (error) {
    result = { outcome: "interrupted", response: "" };
    if (!signal.aborted) {
      logger.error(thrown(error), failed);
      result = { outcome: "failed", response: "", reason: reasonOf(error) };
    }
  }
  if (!hasWritten && result.response !== "") await write(result.response);
  await show(() => output.end(result));
  return result;
}

/** Our own messages are made to be shown; those of others may hold a path or what was said. */
function reasonOf(error: unknown): string {
  const isOurs = isThroughlineError(error) || errorName(error) === "ResponderError";
  return isOurs && error instanceof Error ? error.message : "Something went wrong in this turn.";
}

/** Every line is an input, until there are no more. Closing the lines is the caller's part. */
export function textInput(lines: AsyncIterable<string>): InputTrigger {
  checkArgument(Object(lines)[Symbol.asyncIterator], "what iterates over lines", aFunction);
  const iterator = lines[Symbol.asyncIterator]();
  return {
    async next() {
      const line = await iterator.next();
      return line.done === true ? undefined : { text: line.value };
    },
  };
}

/** For a companion without ears: refuses sound with `THROUGHLINE_MEDIA_TYPE`. */
export const textOnly: SpeechToText = {
  async transcribe() {
    throw new ThroughlineError("Sound cannot be heard here: speech to text is not set up.", {
      code: "THROUGHLINE_MEDIA_TYPE",
    });
  },
};

/**
 * Answers as plain text, each ended by a line break; a turn that was not answered says so in
 * brackets. Control characters of the answer, such as terminal escapes, are left out.
 *
 * @param write What it returns is awaited.
 */
export function textOutput(write: (text: string) => unknown): OutputSink {
  checkArgument(write, "write", aFunction);
  let isLineOpen = false;
  const put = async (text: string) => {
    const plain = text.replace(unsafe, "");
    if (plain === "") return;
    isLineOpen = !plain.endsWith("\n");
    await write(plain);
  };
  return {
    async begin() {
      isLineOpen = false;
    },
    write: put,
    async end({ outcome, reason }) {
      const notes = { answered: "", interrupted: "(interrupted)", failed: "(no answer)" };
      const note = reason === undefined ? notes[outcome] : `(${reason})`;
      if (note !== "") await put(isLineOpen ? ` ${note}` : note);
      if (isLineOpen) await put("\n");
    },
  };
}

const unsafe = /(?![\n\t])\p{Cc}/gu;
