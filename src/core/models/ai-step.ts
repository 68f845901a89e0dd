// One call of a model of the AI SDK: its parts as events, for its span, and as the next call repeats them.
import type { ModelInput, ToolCall } from "../chat/message.ts";
import { periodLimits } from "../chat/period.ts";
import { isLongerThan } from "../storage/key.ts";
import type { Span } from "../telemetry.ts";
import { counted, unknownUsage } from "./prices.ts";
import { sessionIdOf, type Thought, writeProviderData } from "./provider-data.ts";
import { type FinishReason, finishReasons, type ResponderEvent, type Usage } from "./responder.ts";
import { type AiMessage, type SdkModel, toolInput } from "./to-ai-messages.ts";

type StreamResult = Awaited<ReturnType<SdkModel["doStream"]>>;
export type StreamPart = StreamResult["stream"] extends ReadableStream<infer Part> ? Part : never;

type Content = Extract<AiMessage, { role: "assistant" }>["content"][number];
type ContentOf<Type> = Extract<Content, { type: Type }>;
type Metadata = Extract<StreamPart, { type: "text-start" }>["providerMetadata"];

export class AiStep {
  /** Text, thoughts and calls, in order. */
  readonly #content: Content[] = [];
  /** The text and the thoughts that are being written, by kind and id. */
  readonly #open = new Map<string, ContentOf<"text" | "reasoning">>();
  /** The calls that are ours to run, as the model wrote them. */
  readonly calls: ToolCall[] = [];
  readonly #span: Span;
  readonly #provider: string;
  readonly #keepsPlain: boolean;
  /** Its next call is of the same message as a call whose thoughts were told. */
  #continues = false;
  #isThoughtTold = false;
  #metadata: Metadata;
  #says = "";
  /** Something of the answer itself, not of the thinking, has come. */
  hasSaid = false;
  /** Without what it cost. */
  usage: Usage = unknownUsage;
  /** `undefined`: the stream stopped without an end. */
  finish: FinishReason | undefined;
  /** The model that really answered. */
  model: string | undefined;
  /** The first error part. A piece of the answer is lost, also before a good end. */
  error: unknown;

  /** @param provider the SDK's name for it. */
  constructor(span: Span, { provider, modelId }: SdkModel, keepsPlain: boolean) {
    this.#span = span;
    this.#provider = provider;
    this.#keepsPlain = keepsPlain;
    this.model = modelId;
  }

  /** Reads the next part. Most parts are bookkeeping and stand for no event. */
  *read(part: StreamPart): Generator<ResponderEvent> {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const type = part.type === "text-start" ? "text" : "reasoning";
        const made = { type, text: "", providerOptions: part.providerMetadata } as const;
        this.#content.push(made);
        this.#open.set(`${type}:${part.id}`, made);
        return;
      }
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end":
        yield* this.#readWords(part);
        return;
      case "tool-call":
        yield* this.#readCall(part);
        return;
      case "tool-result": {
        const { toolCallId, toolName, result, isError = false, preliminary } = part;
        const output = { type: isError ? "error-json" : "json", value: result } as const;
        const made = { type: "tool-result", toolCallId, toolName, output } as const;
        // A preliminary result is replaced by a later one.
        if (!preliminary) this.#content.push({ ...made, providerOptions: part.providerMetadata });
        yield { type: "tool-result", toolCallId, toolName, content: asText(result), isError };
        return;
      }
      case "response-metadata":
        this.model = part.modelId ?? this.model;
        this.#span.add({ responseId: part.id, answeredBy: part.modelId });
        return;
      case "finish":
        this.#readFinish(part);
        return;
      case "error":
        this.error ??= part.error ?? new Error("the stream did not say which");
    }
  }

  *#readWords(
    part: Extract<StreamPart, { id: string; type: `${"text" | "reasoning"}-${"delta" | "end"}` }>,
  ): Generator<ResponderEvent> {
    const type = part.type.startsWith("text") ? "text" : "reasoning";
    const text = "delta" in part ? part.delta : "";
    const known = this.#open.get(`${type}:${part.id}`);
    if (known !== undefined) {
      known.text += text;
      // A signature comes after the text that it signs, on a part of its own: the last one counts.
      known.providerOptions = part.providerMetadata ?? known.providerOptions;
    }
    // What follows a lost piece could say the opposite of what the model said.
    if (text === "" || this.error !== undefined) return;
    if (type === "text") {
      this.#says += text;
      this.hasSaid = true;
      // At its start, so that an answer that is cut has it, too.
      if (!this.#isThoughtTold) yield* dataEvent({ reasoning: this.#thoughts });
      this.#isThoughtTold = true;
    }
    yield { type, text };
  }

  *#readCall(part: Extract<StreamPart, { type: "tool-call" }>): Generator<ResponderEvent> {
    const { toolCallId, toolName, input: written, providerExecuted, providerMetadata } = part;
    const call: ToolCall = {
      id: toolCallId,
      type: "function",
      function: { name: toolName, arguments: written.trim() === "" ? "{}" : written },
    };
    this.hasSaid = true;
    const data = [...dataEvent({ reasoning: this.#thoughts, continues: this.#continues })];
    this.#continues ||= data.length > 0;
    this.#isThoughtTold = false;
    if (!providerExecuted) this.calls.push(call);
    const made = { toolCallId, toolName, input: toolInput(call), providerExecuted };
    this.#content.push({ type: "tool-call", ...made, providerOptions: providerMetadata });
    yield* data;
    yield { type: "tool-call", call };
  }

  #readFinish({ usage, finishReason, providerMetadata }: Extract<StreamPart, { type: "finish" }>) {
    const { inputTokens: input, outputTokens: output } = usage;
    const finish = finishReason.unified;
    this.finish = finishReasons.find((each) => each === finish) ?? "other";
    this.#metadata = providerMetadata;
    this.usage = counted(input.total, output.total, input.cacheRead);
    this.#span.add({
      finish,
      input: input.total,
      output: output.total,
      cachedInput: input.cacheRead,
      reasoning: output.reasoning,
    });
  }

  /** What was thought since the last call, for its provider to see again. */
  get #thoughts(): readonly Thought[] {
    const since = this.#content.findLastIndex(({ type }) => type === "tool-call") + 1;
    return this.#content.slice(since).flatMap((part) => {
      if (part.type !== "reasoning") return [];
      const { text, providerOptions: metadata } = part;
      return this.#keepsPlain || metadata !== undefined ? [{ text, metadata }] : [];
    });
  }

  /** What only a whole answer yields: the session to resume, and the data to send back. */
  *last(): Generator<ResponderEvent> {
    const { finish } = this;
    if (finish !== "stop" && finish !== "length" && finish !== "tool-calls") return;
    const id = sessionIdOf(this.#provider, this.#metadata);
    if (id !== undefined) yield { type: "provider-session", id };
    yield* dataEvent({ reasoning: this.#thoughts, responseId: id });
  }

  /** The name of the model, if it can be kept: some servers name a model by its path. */
  get modelName(): string | undefined {
    const { model } = this;
    return model && !isLongerThan(model, periodLimits.nameBytes) ? model : undefined;
  }

  /** What it said, as the next call repeats it. */
  get repeated(): AiMessage {
    // An empty text may carry a signature that its provider wants back.
    const content = this.#content.filter(
      (part) => part.type !== "text" || part.text !== "" || part.providerOptions !== undefined,
    );
    return { role: "assistant", content };
  }

  /** The same in our form. */
  get said(): ModelInput {
    return { role: "assistant", content: this.#says, toolCalls: this.calls };
  }

  /** The call is over, whole or not. Only the first time counts. @param isStopped what breaks off has not failed. */
  end(isStopped: boolean): void {
    const isWhole = this.finish !== undefined && !["error", "other"].includes(this.finish);
    const hasAnswer = this.#says !== "" || this.calls.length > 0;
    if (this.#span.wantsContent && hasAnswer) this.#span.add({ answer: this.said });
    this.#span.end(isWhole || isStopped ? undefined : "THROUGHLINE_MODEL_FAILED");
  }
}

function* dataEvent(given: Parameters<typeof writeProviderData>[0]): Generator<ResponderEvent> {
  const data = writeProviderData(given);
  if (data !== undefined) yield { type: "provider-data", data };
}

export function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
