import { APICallError, InvalidResponseDataError, wrapLanguageModel } from "ai";
import type { ModelInput, ToolCall } from "../chat/message.ts";
import { wellFormed } from "../json.ts";
import {
  aFunction,
  aName,
  anObject,
  maybe,
  must,
  type Options,
  type Resolved,
  resolveOptions,
} from "../options.ts";
import { inSpan, type Span, silentSpan } from "../telemetry.ts";
import { until } from "../timers.ts";
import { AiStep, asText, type StreamPart } from "./ai-step.ts";
import { type Attempt, toResponderError, unavailable, waitMsBefore } from "./errors.ts";
import { costUsd, type Price, sumUsage, unknownUsage } from "./prices.ts";
import { planSession } from "./provider-data.ts";
import {
  type Responder,
  ResponderError,
  type ResponderEvent,
  type ResponderRequest,
  type ResponderTool,
  toolFailed,
  type Usage,
} from "./responder.ts";
import { type AskOptions, askOptions } from "./settings.ts";
import { withThoughts } from "./think-tags.ts";
import {
  addResult,
  fenceContext,
  hasThoughts,
  type SdkModel,
  toAiMessages,
} from "./to-ai-messages.ts";

/**
 * A model of the AI SDK as an object, as the packages of its providers make it. A bare name would be looked
 * up at a gateway on the network.
 */
export interface AiModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: never): PromiseLike<unknown>;
  doStream(options: never): PromiseLike<unknown>;
}

export interface AiSdkResponderOptions extends AskOptions {
  /** Name of the provider's bucket: `ollama`, `openai`, ... */
  readonly provider: string;
  readonly model: AiModel;
  /**
   * The name that the session keeps.
   *
   * @default model.modelId
   */
  readonly modelId?: string | undefined;
  /** Without one, what answers cost is unknown. */
  readonly price?: Price | undefined;
  /**
   * Whether the model takes files of a media type, such as `image/png` or `application/pdf`.
   *
   * @default it takes none
   */
  readonly takes?: Responder["takes"] | undefined;
}

const declared = {
  ...askOptions,
  modelId: maybe(),
  price: maybe(),
  takes: maybe(aFunction),
  provider: must(aName),
  model: must(anObject),
} satisfies Options<AiSdkResponderOptions>;

/**
 * A responder over any model of the AI SDK 7, which calls the model and drains its stream itself.
 *
 * - The provider ends its answer: `end` with its reason. It sends an error or closes the connection
 *   after some text: `end` with `"error"` or `"other"`, and the usage if it was reported. So does a
 *   piece that cannot be read, although more text may follow: that is left out.
 * - It sends an error or closes the connection before any text, refuses the call, cannot be reached,
 *   breaks the stream or misses a deadline: a `ResponderError`.
 * - The signal fires, or the reader leaves: the request is cancelled.
 *
 * Nothing is logged or measured elsewhere. The tools of the request are offered. Once the model has ended
 * what it says, those that it called are run, and with their results it is asked again, up to 4 times in
 * all. After an answer that was cut off, by a limit, a filter or an error, none runs. Of two tools with one name
 * the last counts. A call of any other tool is reported and gets an error as its result.
 * A model that refuses a request because of its tools is asked without them, then and from then on. A
 * window that a provider states when it refuses a request as too long is the responder's from then on. What a
 * model thought goes back to it; one that refuses a request for its thinking is asked without it or with some.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION` at once: an option cannot be used.
 */
export function aiSdkResponder(given: AiSdkResponderOptions): Responder {
  return new AiSdkModel(resolveOptions("the options of aiSdkResponder", given, declared));
}

/** How often a model is asked within one answer, each time but the last one with new results. */
const maxSteps = 4;

/** A model, with what it has taught by what it refused. */
class AiSdkModel implements Responder {
  readonly provider: string;
  readonly model: string;
  /** As configured, or what the provider said when it refused a request as too long. */
  window: number | undefined;
  readonly takes: NonNullable<Responder["takes"]>;
  readonly #options: Resolved<AiSdkResponderOptions, typeof declared>;
  readonly #sdk: SdkModel;
  /** Until it turns out that it does not. */
  #takesTools = true;
  /** Whether its messages are sent with what it thought. */
  #thinking: boolean | undefined;

  constructor(options: Resolved<AiSdkResponderOptions, typeof declared>) {
    const { provider, window, model, modelId = model.modelId, takes = () => false } = options;
    this.provider = provider;
    this.model = modelId;
    this.window = window;
    this.takes = takes;
    this.#options = options;
    // In the newest form, whichever it is of.
    this.#sdk = wrapLanguageModel({ model: model as SdkModel, middleware: [] }) as SdkModel;
  }

  async *respond(
    request: ResponderRequest,
    signal: AbortSignal,
  ): AsyncGenerator<ResponderEvent, void> {
    const { tools, ...plain } = request;
    let takesTools = this.#takesTools;
    let thinking = this.#thinking;
    for (;;) {
      const texts = [request.instructions, tools?.instructions ?? ""].filter((text) => text !== "");
      const asked = tools && takesTools ? { ...request, instructions: texts.join("\n\n") } : plain;
      const name = `${this.provider}/${this.model}`;
      const attempt: Attempt = { name, resumed: false, usage: unknownUsage };
      try {
        yield* this.#answer(asked, attempt, thinking, signal);
        this.#takesTools = takesTools; // like this it answers
        this.#thinking = thinking;
        return;
      } catch (error) {
        const isRefused = error instanceof ResponderError && !attempt.begun;
        const refuses = isRefused ? error.refuses : undefined;
        if (refuses === "tools" && "tools" in asked) takesTools = false;
        else if (refuses === "thinking" && thinking === this.#thinking) {
          thinking = !(thinking ?? hasThoughts(request.messages));
        } else throw error;
      }
    }
  }

  /** Asks the model until it calls no more tools. */
  async *#answer(
    request: ResponderRequest,
    attempt: Attempt,
    thinking: boolean | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<ResponderEvent, void> {
    const sdk = this.#sdk;
    const { messages, resumed, instructions, providerOptions } = planSession(sdk.provider, request);
    attempt.resumed = resumed;
    const { tools, context = "", span = silentSpan } = request;
    const prompt = toAiMessages(messages, context, thinking);
    if (instructions !== undefined) prompt.unshift({ role: "system", content: instructions });
    const said = withContext(messages, context);
    // Of two with one name the last: a provider refuses a request that offers a name twice.
    const byName = new Map(tools?.tools.map((tool) => [tool.name, tool]));
    const offered = tools && Array.from(byName.values(), offer);
    const limits = new Limits(signal);
    const total = limits.start(this.#options.totalTimeoutMs, "did not end its answer within");
    let used: Usage | undefined;
    try {
      for (let number = 1; ; number++) {
        const call = span.begin({ type: "model", provider: this.provider, model: this.model });
        if (call.wantsContent) call.add({ instructions: request.instructions, asked: [...said] });
        // Ollama passes over a thought that is sent back: it would only take room in the window.
        const step = new AiStep(call, sdk, this.provider !== "ollama");
        const asked = { prompt, tools: offered, toolChoice: offered && auto, providerOptions };
        try {
          const stream = call.run(() => this.#call(asked, request, attempt, limits.signal));
          yield* this.#read(partsOf(stream, limits.signal), step, attempt, limits);
        } finally {
          step.end(signal.aborted);
        }
        if (step.finish === undefined) limits.assertInTime(attempt);
        if (used === undefined) used = step.usage;
        else if (step.finish !== undefined) used = sumUsage(used, step.usage);
        attempt.usage = { ...used, costUsd: costUsd(used, this.#options.price) };
        // After any other end, such as "length", the model may not have said all that it meant.
        const isWhole = step.finish === "stop" || step.finish === "tool-calls";
        const calls = isWhole && step.error === undefined ? step.calls : [];
        prompt.push(step.repeated);
        said.push(step.said);
        const running = Promise.all(calls.map((each) => runTool(each, byName, span)));
        const results = (await until(running, { signal: limits.signal })) ?? [];
        limits.assertInTime(attempt);
        for (const result of results) {
          const { isError = false, role: _, ...told } = result;
          yield { ...told, type: "tool-result", isError };
          addResult(prompt, result);
          said.push(result);
        }
        if (calls.length > 0 && number < maxSteps) continue;
        yield* this.#end(step, attempt);
        return;
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw this.#failed(error, attempt);
    } finally {
      clearTimeout(total);
      limits.close();
    }
  }

  /**
   * Calls the model, and calls it again where that fails before its first byte in a way that may pass.
   *
   * @throws the last error, or the signal's reason.
   */
  async #call(
    asked: Parameters<SdkModel["doStream"]>[0],
    { onRetry }: ResponderRequest,
    attempt: Attempt,
    signal: AbortSignal,
  ): Promise<ReadableStream<StreamPart>> {
    // A lone surrogate, from a tool or a file, would get every request of the chat refused.
    const wellFormedAsked = { ...wellFormed(asked), abortSignal: signal };
    for (let number = 1; ; number++) {
      try {
        return (await this.#sdk.doStream(wellFormedAsked)).stream;
      } catch (error) {
        const waitMs = waitMsBefore(error, number);
        if (waitMs === undefined || number > this.#options.maxRetries) throw error;
        const { message: reason, detail } = toResponderError(error, attempt);
        onRetry?.({ reason, detail, attempt: number + 1, waitMs });
        await until(new Promise(() => undefined), { ms: waitMs, signal });
        signal.throwIfAborted();
      }
    }
  }

  /** Reads one call of the model to its end, within the limits of time. */
  async *#read(
    parts: AsyncIterable<StreamPart>,
    step: AiStep,
    attempt: Attempt,
    limits: Limits,
  ): AsyncGenerator<ResponderEvent, void> {
    const { firstTokenTimeoutMs, idleTimeoutMs } = this.#options;
    let wait = limits.start(firstTokenTimeoutMs, "did not answer within");
    try {
      for await (const part of withThoughts(parts)) {
        clearTimeout(wait); // while the reader of the answer is busy, the model is not late
        for (const event of step.read(part)) {
          attempt.begun ||= step.hasSaid;
          yield event;
        }
        wait = step.hasSaid
          ? limits.start(idleTimeoutMs, "fell silent for")
          : limits.start(firstTokenTimeoutMs, "did not answer within");
      }
    } finally {
      clearTimeout(wait);
    }
  }

  #failed(error: unknown, attempt: Attempt): ResponderError {
    const known = toResponderError(error, attempt);
    const { window = this.window } = known;
    if (window !== undefined) this.window = Math.min(window, this.window ?? window);
    return known;
  }

  /** The end of an answer. @throws ResponderError: nothing came, or the request was refused after a tool. */
  *#end(step: AiStep, attempt: Attempt): Generator<ResponderEvent> {
    const { error } = step;
    const isClosed = closedEarly(step);
    const finish = isClosed ? "other" : error === undefined ? step.finish : "error";
    const isPartial = finish === "error" || finish === "other" || finish === undefined;
    if (isPartial && !attempt.begun && isClosed) {
      throw unavailable("closed the connection without an answer", attempt);
    }
    // A request that was refused after a tool is refused in the provider's words.
    const isRefused = APICallError.isInstance(error);
    if (isPartial && (!attempt.begun || isRefused)) throw this.#failed(error, attempt);
    if (!isPartial) yield* step.last();
    yield { type: "end", finish: finish ?? "other", usage: attempt.usage, model: step.modelName };
  }
}

const auto = { type: "auto" } as const;

/** A tool as a model of the AI SDK is offered it. */
function offer({ name, description, parameters: inputSchema }: ResponderTool) {
  return { type: "function", name, description, inputSchema } as const;
}

/** The limits of time of an answer. */
class Limits {
  readonly #turn: AbortSignal;
  readonly #missed = new AbortController();
  /** Fires when the turn is stopped, or a limit is missed. */
  readonly signal: AbortSignal;

  constructor(turn: AbortSignal) {
    this.#turn = turn;
    this.signal = AbortSignal.any([turn, this.#missed.signal]);
  }

  start(ms: number, what: string): NodeJS.Timeout {
    return setTimeout(() => this.#missed.abort(`${what} ${ms / 1000} s`), ms);
  }

  /** @throws what the turn was stopped with. @throws ResponderError: a limit was missed. */
  assertInTime(attempt: Attempt): void {
    this.#turn.throwIfAborted();
    const { aborted, reason } = this.#missed.signal;
    if (aborted) throw unavailable(reason, attempt);
  }

  /** Lets go of the model's connection. */
  close(): void {
    this.#missed.abort();
  }
}

/** The connection closed without a finish. Some providers of the SDK report it as their own error. */
function closedEarly({ error, finish }: AiStep): boolean {
  if (InvalidResponseDataError.isInstance(error)) return error.data === undefined;
  return error === undefined && (finish === undefined || finish === "other");
}

/** The parts of a stream until a signal fires, also if its model ignores that. */
async function* partsOf(
  opening: Promise<ReadableStream<StreamPart>>,
  signal: AbortSignal,
): AsyncGenerator<StreamPart> {
  const stream = await until(opening, { signal });
  // A stream that opens after the signal has no reader, and would keep its connection.
  if (stream === undefined) opening.then((late) => late.cancel()).catch(() => undefined);
  const reader = stream?.getReader();
  try {
    for (;;) {
      const next = reader && (await until(reader.read(), { signal }));
      if (next === undefined || next.done) return;
      yield next.value;
    }
  } finally {
    reader?.cancel().catch(() => undefined); // it has failed: that was said
  }
}

/** Runs a tool that was called. What is wrong with the arguments is for the tool itself to say. Never rejects. */
async function runTool(
  call: ToolCall,
  tools: ReadonlyMap<string, ResponderTool>,
  span: Span,
): Promise<ToolResult> {
  const { name, arguments: written } = call.function;
  const result = { role: "tool", toolCallId: call.id, toolName: name } as const;
  const failed = (content: string) => ({ ...result, content, isError: true }) as const;
  const tool = tools.get(name);
  if (tool === undefined) return failed(`${name} is an unavailable tool.`);
  let args: unknown;
  try {
    args = JSON.parse(written);
  } catch {
    return failed("The arguments are not JSON.");
  }
  try {
    const start = { type: "tool", tool: name, callId: call.id } as const;
    const content = asText(await inSpan(span, start, () => tool.run(args, call)));
    return { ...result, content };
  } catch {
    return failed(toolFailed); // its message would go to the model and into the log
  }
}

type ToolResult = Extract<ModelInput, { role: "tool" }>;

/** The messages for a tracer: the newest of the person with the context that stands before it. */
function withContext(messages: readonly ModelInput[], context: string): ModelInput[] {
  const newest = context === "" ? -1 : messages.findLastIndex(({ role }) => role === "user");
  return messages.map((each, index) =>
    index === newest ? { ...each, content: fenceContext(context) + each.content } : each,
  );
}
