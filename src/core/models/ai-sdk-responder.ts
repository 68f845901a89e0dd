import {
  APICallError,
  dynamicTool,
  InvalidResponseDataError,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  NoOutputGeneratedError,
  streamText,
  type ToolSet,
  wrapLanguageModel,
} from "ai";
import { periodLimits } from "../chat/period.ts";
import { wellFormed } from "../json.ts";
import {
  aName,
  anObject,
  type Checks,
  type Defaults,
  type Resolved,
  resolveOptions,
} from "../options.ts";
import { isLongerThan } from "../storage/key.ts";
import { inSpan, type Span, silentSpan } from "../telemetry.ts";
import { Answer, type AnswerEnd } from "./answer.ts";
import { type Attempt, toResponderError, unavailable } from "./errors.ts";
import { ModelCall, type StreamPart } from "./model-call.ts";
import { costUsd, type Price, unknownUsage } from "./prices.ts";
import { planSession, sessionIdOf, writeProviderData } from "./provider-data.ts";
import {
  type OfferedTools,
  type Responder,
  ResponderError,
  type ResponderEvent,
  type ResponderRequest,
  toolFailed,
} from "./responder.ts";
import { withRetries } from "./retries.ts";
import { type AskOptions, askChecks, askDefaults } from "./settings.ts";
import { thinkTagsToReasoning } from "./think-tags.ts";
import { hasThoughts, toAiMessages } from "./to-ai-messages.ts";

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

/** The same, in the SDK's own types: those of `AiModel` need no package. */
type SdkModel = Exclude<LanguageModel, string>;

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

const defaults = {
  ...askDefaults,
  modelId: undefined,
  price: undefined,
  takes: undefined,
} as const satisfies Defaults<AiSdkResponderOptions>;

const checks: Checks<AiSdkResponderOptions> = {
  ...askChecks,
  provider: aName,
  model: anObject,
  takes: ["a function", (value) => typeof value === "function"],
};

/**
 * A responder over any model of the AI SDK 7, which drains the stream itself.
 *
 * - The provider ends its answer: `end` with its reason. It sends an error or closes the connection
 *   after some text: `end` with `"error"` or `"other"`, and the usage if it was reported. So does a
 *   piece that cannot be read, although more text may follow: that is left out.
 * - It sends an error or closes the connection before any text, refuses the call, cannot be reached,
 *   breaks the stream or misses a deadline: a `ResponderError`.
 * - The signal fires, or the reader leaves: the request is cancelled.
 *
 * Nothing is logged or measured elsewhere: the SDK's telemetry, error log and warnings (which quote
 * messages) are off. The tools of the request are offered; after their results the model is asked
 * again, up to 4 times in all. A call of any other tool is reported and gets an error as its result.
 * A model that refuses a request because of its tools is asked without them, then and from then on. A
 * window that a provider states when it refuses a request as too long is the responder's from then on. What a
 * model thought goes back to it; one that refuses a request for its thinking is asked without it or with some.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION` at once: an option cannot be used.
 */
export function aiSdkResponder(given: AiSdkResponderOptions): Responder {
  return new AiSdkModel(resolveOptions("the options of aiSdkResponder", given, defaults, checks));
}

/** The clients whose user messages have a `name`. Ollama's server speaks the same protocol and ignores it. */
const withNameField: readonly string[] = ["openai.chat", "openai-compatible.chat"];

/** How often a model is asked within one answer, each time but the last one with new results. */
const maxSteps = 4;

/** A model, with what it has taught by what it refused. */
class AiSdkModel implements Responder {
  readonly provider: string;
  readonly model: string;
  /** As configured, or what the provider said when it refused a request as too long. */
  window: number | undefined;
  readonly takes: NonNullable<Responder["takes"]>;
  readonly #options: Resolved<AiSdkResponderOptions, typeof defaults>;
  readonly #name: string;
  /** Until it turns out that it does not. */
  #takesTools = true;
  /** Whether its messages are sent with what it thought. */
  #thinking: boolean | undefined;

  constructor(options: Resolved<AiSdkResponderOptions, typeof defaults>) {
    const { provider, window, modelId = options.model.modelId, takes = () => false } = options;
    this.provider = provider;
    this.model = modelId;
    this.window = window;
    this.takes = takes;
    this.#options = options;
    this.#name = `${provider}/${modelId}`;
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
      // Ollama passes over a thought that is sent back: it would only take room in the window.
      const answer = new Answer(this.provider !== "ollama");
      try {
        yield* this.#ask(asked, answer, thinking, signal);
        this.#takesTools = takesTools; // like this it answers
        this.#thinking = thinking;
        return;
      } catch (error) {
        const isRefused = error instanceof ResponderError && !answer.begun;
        const refuses = isRefused ? error.refuses : undefined;
        if (refuses === "tools" && "tools" in asked) takesTools = false;
        else if (refuses === "thinking" && thinking === this.#thinking) {
          thinking = !(thinking ?? hasThoughts(request.messages));
        } else throw error;
      }
    }
  }

  async *#ask(
    request: ResponderRequest,
    answer: Answer,
    thinking: boolean | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<ResponderEvent, void> {
    const { firstTokenTimeoutMs, idleTimeoutMs, totalTimeoutMs, model } = this.#options;
    const { messages, resumed, ...plan } = planSession(model.provider, request);
    const { tools, span = silentSpan } = request;
    const attempt = { name: this.#name, resumed, usage: unknownUsage };
    const reader = new AbortController();
    let missed: string | undefined;
    const limit = (ms: number, what: string) =>
      setTimeout(() => {
        missed ??= `${what} ${ms / 1000} s`;
        reader.abort();
      }, ms);
    const total = limit(totalTimeoutMs, "did not end its answer within");
    let wait = limit(firstTokenTimeoutMs, "did not answer within");
    const calls: ModelCall[] = [];
    try {
      const hasNames = withNameField.includes(model.provider);
      const { stream } = streamText({
        ...plan,
        model: this.#guarded(request, attempt, calls, signal),
        messages: toAiMessages(messages, request.context, thinking, hasNames),
        maxRetries: 0, // the retries are ours: see #guarded
        abortSignal: AbortSignal.any([signal, reader.signal]),
        telemetry: { isEnabled: false },
        onError: () => undefined, // its default prints the request; the stream brings the error to us
        tools: tools && toAiTools(tools, span),
        stopWhen: isStepCount(maxSteps),
      });
      for await (const part of stream) {
        const event = answer.read(part);
        clearTimeout(wait); // while the reader of the answer is busy, the model is not late
        const data = event && answer.dataBefore(event);
        if (data !== undefined) yield { type: "provider-data", data };
        if (event !== undefined) yield event;
        if (answer.isFlood) break;
        const isUnderWay = answer.begun && !answer.isAskedAgain;
        wait = isUnderWay
          ? limit(idleTimeoutMs, "fell silent for")
          : limit(firstTokenTimeoutMs, "did not answer within");
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw this.#failed(error, attempt);
    } finally {
      clearTimeout(wait);
      clearTimeout(total);
      reader.abort();
      for (const call of calls) call.end(); // one that failed, or was not read to its end
    }
    if (answer.end.finish === undefined) {
      signal.throwIfAborted();
      if (missed !== undefined) throw unavailable(missed, attempt);
    }
    if (answer.isFlood) throw unavailable("sent more than can be read", attempt);
    yield* this.#lastEvents(answer, attempt);
  }

  #failed(error: unknown, attempt: Attempt): ResponderError {
    const known = toResponderError(error, attempt);
    const { window = this.window } = known;
    if (window !== undefined) this.window = Math.min(window, this.window ?? window);
    return known;
  }

  /** What only a whole answer yields: the session to resume, the data to send back, and the end. */
  *#lastEvents(answer: Answer, known: Attempt): Generator<ResponderEvent> {
    const { end } = answer;
    const { usage: used = unknownUsage } = end;
    const usage = { ...used, costUsd: costUsd(used, this.#options.price) };
    const attempt = { ...known, usage };
    const finish = closedEarly(end) ? "other" : end.error === undefined ? end.finish : "error";
    const partial = finish === "error" || finish === "other" || finish === undefined;
    // A request that was refused after a tool is refused in the provider's words.
    if (partial && answer.begun && APICallError.isInstance(end.error)) {
      throw this.#failed(end.error, attempt);
    }
    if (partial && !answer.begun) {
      if (closedEarly(end)) throw unavailable("closed the connection without an answer", attempt);
      throw this.#failed(end.error, attempt);
    }
    if (finish === "stop" || finish === "length" || finish === "tool-calls") {
      const id = sessionIdOf(this.#options.model.provider, end.metadata);
      if (id !== undefined) yield { type: "provider-session", id };
      const reasoning = answer.reasoning;
      const data = writeProviderData({ reasoning, responseId: id });
      if (data !== undefined) yield { type: "provider-data", data };
    }
    // Some servers name a model by its path.
    const isLong = end.model !== undefined && isLongerThan(end.model, periodLimits.nameBytes);
    const model = isLong ? undefined : end.model || undefined;
    yield { type: "end", finish: finish ?? "other", usage, model };
  }

  /**
   * The model with our retries and a span for each call, and without its warnings: the SDK prints them on the
   * process, and some of them quote whole messages.
   *
   * @param calls Each call that is made is added.
   * @param signal stops the turn.
   */
  #guarded(
    { onRetry, span = silentSpan }: ResponderRequest,
    attempt: Attempt,
    calls: ModelCall[],
    signal: AbortSignal,
  ): SdkModel {
    const { model, maxRetries } = this.#options;
    const { provider, model: name } = this;
    return wrapLanguageModel({
      model: model as SdkModel,
      middleware: {
        specificationVersion: "v4",
        // A lone surrogate, from a tool or a file, would get every request of the chat refused.
        transformParams: async ({ params }) => wellFormed(params),
        async wrapStream({ doStream, params }) {
          const call = new ModelCall(span, { provider, model: name }, signal);
          calls.push(call);
          const result = await call.ask(params.prompt, () =>
            withRetries(doStream, {
              maxRetries,
              signal: params.abortSignal,
              onWait: ({ error, ...wait }) => {
                const { message: reason, detail } = toResponderError(error, attempt);
                onRetry?.({ reason, detail, ...wait });
              },
            }),
          );
          const quiet = result.stream.pipeThrough(thinkTagsToReasoning()).pipeThrough(
            new TransformStream<StreamPart, StreamPart>({
              flush: () => call.end(),
              transform(part, controller) {
                call.read(part);
                controller.enqueue(part.type === "stream-start" ? { ...part, warnings: [] } : part);
              },
            }),
          );
          return { ...result, stream: quiet };
        },
      },
    });
  }
}

/** The connection closed without a finish. Some providers of the SDK report it as their own error. */
function closedEarly(end: AnswerEnd): boolean {
  if (NoOutputGeneratedError.isInstance(end.error)) return true;
  if (InvalidResponseDataError.isInstance(end.error)) return end.error.data === undefined;
  return end.error === undefined && (end.finish === undefined || end.finish === "other");
}

/** Tools in the AI SDK's form. What is wrong with the arguments is for the tool itself to say. */
function toAiTools({ tools }: OfferedTools, span: Span): ToolSet {
  const made = tools.map(({ name, description, parameters, run }) => {
    const execute = async (input: unknown, { toolCallId: id }: { readonly toolCallId: string }) => {
      const written = JSON.stringify(input) ?? "";
      try {
        return await inSpan(span, { type: "tool", tool: name, callId: id }, () =>
          run(input, { id, type: "function", function: { name, arguments: written } }),
        );
      } catch (cause) {
        // The message goes to the model and into the log.
        throw new Error(toolFailed, { cause });
      }
    };
    return [name, dynamicTool({ description, inputSchema: jsonSchema(parameters), execute })];
  });
  return Object.fromEntries(made);
}
