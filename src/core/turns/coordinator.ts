import type { ReadOnlyMemory } from "../chat/working-memory.ts";
import { errorName, isThroughlineError } from "../errors.ts";
import { type Logger, silentLogger, thrown } from "../logger.ts";
import { checkArgument, having } from "../options.ts";
import type { CoordinatorPorts, Input, OutputSink, TurnResult } from "./coordinator-ports.ts";
import type { Intent } from "./intent.ts";
import { isStopRequest } from "./stop-words.ts";

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
  const loop: Loop = { ...options, signal, logger };
  let turns = 0;
  for (;;) {
    const input = await unlessAborted(signal, () => ports.input.next(signal));
    if (input === aborted) return { turns, ended: "aborted" };
    if (input === undefined) return { turns, ended: "input_ended" };
    const text = await unlessAborted(signal, () => heard(ports, input, loop));
    if (text === aborted) return { turns, ended: "aborted" };
    if (text.trim() === "") continue;
    turns++;
    await runTurn(ports, text, loop);
    if (isStopRequest(text, loop.companionName)) return { turns, ended: "stop_word" };
  }
}

type Loop = CoordinatorOptions & { readonly signal: AbortSignal; readonly logger: Logger };

/** The words of an input; "" when there are none, or when the sound could not be understood. */
async function heard(ports: CoordinatorPorts, input: Input, loop: Loop): Promise<string> {
  if ("text" in input) return input.text;
  try {
    return await ports.speechToText.transcribe(input.audio, input.format, loop.signal);
  } catch (error) {
    if (loop.signal.aborted) return "";
    loop.logger.error(thrown(error), "speech to text failed");
    const delivery = new Delivery(ports.output, loop);
    await delivery.begin();
    await delivery.end({ outcome: "failed", response: "", reason: reasonOf(error) });
    return "";
  }
}

async function runTurn(ports: CoordinatorPorts, text: string, loop: Loop): Promise<void> {
  const delivery = new Delivery(ports.output, loop);
  const { signal } = delivery;
  let result: TurnResult = { outcome: "failed", response: "", reason: "The answer has no end." };
  await delivery.begin();
  try {
    const intent = intentOf(ports, text, loop);
    for await (const event of ports.converse(text, intent, signal, loop.memory)) {
      if (event.type === "text") await delivery.write(event.text);
      else result = event;
    }
  } catch (error) {
    if (!signal.aborted) loop.logger.error(thrown(error), "a turn failed");
    result = signal.aborted
      ? { outcome: "interrupted", response: "" }
      : { outcome: "failed", response: "", reason: reasonOf(error) };
  }
  await delivery.end(result);
  loop.logger.info({ outcome: result.outcome, memory: loop.memory?.stats() }, "a turn ended");
}

/** A parser that fails costs the label, not the turn. */
function intentOf(ports: CoordinatorPorts, text: string, loop: Loop): Intent {
  try {
    return ports.parseIntent(text, loop.companionName);
  } catch (error) {
    loop.logger.error(thrown(error), "the intent parser failed");
    return { type: "unknown", confidence: 0 };
  }
}

/** Brings one answer to the output, and ends the turn early when it cannot be heard. */
class Delivery {
  /** Aborted when the turn is to be cut short, for any reason. */
  readonly signal: AbortSignal;
  readonly #output: OutputSink;
  readonly #logger: Logger;
  readonly #turn = new AbortController();
  #failed = false;
  #wrote = false;

  constructor(output: OutputSink, loop: Loop) {
    this.#output = output;
    this.#logger = loop.logger;
    this.signal = AbortSignal.any([loop.signal, this.#turn.signal]);
  }

  async begin(): Promise<void> {
    const interrupt = () => this.#cutShort("The answer was talked over.");
    await this.#attempt(() => this.#output.begin(interrupt));
  }

  async write(text: string): Promise<void> {
    if (!this.#failed && !this.signal.aborted) {
      this.#wrote = true;
      await this.#attempt(() => this.#output.write(text));
    }
    // Not before there is text: by then the turn has kept what the person said.
    if (this.#failed) this.#cutShort("The output failed.");
  }

  async end(result: TurnResult): Promise<void> {
    if (!this.#wrote && result.response !== "") await this.write(result.response);
    await this.#attempt(() => this.#output.end(result));
  }

  #cutShort(reason: string): void {
    this.#turn.abort(new DOMException(reason, "AbortError"));
  }

  /** An output that hangs is let go of when the turn is cut short, so that the turn can end. */
  async #attempt(call: () => Promise<void>): Promise<void> {
    try {
      await (this.signal.aborted ? call() : unlessAborted(this.signal, call));
    } catch (error) {
      this.#failed = true;
      this.#logger.error(thrown(error), "the output failed");
    }
  }
}

const aborted = Symbol("aborted");

/** What the call resolves with, or `aborted` as soon as the signal is. */
async function unlessAborted<T>(
  signal: AbortSignal,
  call: () => Promise<T>,
): Promise<T | typeof aborted> {
  if (signal.aborted) return aborted;
  let stop = () => {};
  const end = new Promise<typeof aborted>((resolve) => {
    stop = () => resolve(aborted);
  });
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([call(), end]);
  } catch (error) {
    if (signal.aborted) return aborted;
    throw error;
  } finally {
    // A loop has no limit of turns: a listener left by each would pile up.
    signal.removeEventListener("abort", stop);
  }
}

/** Our own messages are made to be shown; those of others may hold a path or what was said. */
function reasonOf(error: unknown): string {
  const isOurs = isThroughlineError(error) || errorName(error) === "ResponderError";
  return isOurs && error instanceof Error ? error.message : "Something went wrong in this turn.";
}
