import type { ProviderMetadata, TextStreamPart, ToolSet } from "ai";
import type { JsonObject } from "../json.ts";
import { sumUsage, toUsage } from "./prices.ts";
import { type Thought, writeProviderData } from "./provider-data.ts";
import type { FinishReason, ResponderEvent, Usage } from "./responder.ts";

type AnswerPart = TextStreamPart<ToolSet>;

/** How the stream of one answer ended, as far as it said. */
export interface AnswerEnd {
  /** `undefined`: the stream stopped without an end. */
  readonly finish?: FinishReason | undefined;
  /** Without what it cost. */
  readonly usage?: Usage;
  readonly model?: string;
  readonly metadata?: ProviderMetadata | undefined;
  /** The first error part, if there was one. A piece of the answer is lost, also before a good end. */
  readonly error?: unknown;
}

/** What is told is bounded by who reads it: this bounds the rest, in UTF-16 units. */
const mostUntoldChars = 4 * 1024 * 1024;

/** Turns the parts of one AI SDK stream into events, and keeps what only the end makes useful. */
export class Answer {
  readonly #keepsPlain: boolean;
  readonly #toolInputs = new Map<string, string>();
  /** What was thought since the last call of this step. */
  readonly #reasoning = new Map<string, { -readonly [K in keyof Thought]: Thought[K] }>();
  /** This step has thought and called something: its next call is of the same message. */
  #hasCalled = false;
  #isThoughtTold = false;
  #untoldChars = 0;
  /** Whether anything of the answer itself (not of the thinking) has come. */
  begun = false;
  /** The model has heard what became of its calls, and is yet to say something. */
  isAskedAgain = false;
  end: AnswerEnd = {};

  /** @param keepsPlain also thoughts that are nothing but text are wanted again. */
  constructor(keepsPlain: boolean) {
    this.#keepsPlain = keepsPlain;
  }

  /** Whether more was thought, or followed a lost piece, than any answer is worth. */
  get isFlood(): boolean {
    return this.#untoldChars > mostUntoldChars;
  }

  get reasoning(): readonly Thought[] {
    const thoughts = [...this.#reasoning.values()];
    return this.#keepsPlain ? thoughts : thoughts.filter(({ metadata }) => metadata !== undefined);
  }

  /**
   * What the model wants to see again with what an event begins or calls. Text gets it at its start, so
   * that an answer that is cut has it, too.
   */
  dataBefore({ type }: ResponderEvent): JsonObject | undefined {
    const isCall = type === "tool-call";
    if (!isCall && (type !== "text" || this.#isThoughtTold)) return undefined;
    const { reasoning } = this;
    const data = writeProviderData({ reasoning, continues: isCall && this.#hasCalled });
    this.#isThoughtTold = !isCall;
    if (isCall) {
      this.#hasCalled ||= data !== undefined;
      this.#reasoning.clear();
    }
    return data;
  }

  /** The event that a part stands for; most parts are bookkeeping and stand for none. */
  read(part: AnswerPart): ResponderEvent | undefined {
    if (part.type === "reasoning-delta") return this.#readReasoning(part);
    // What follows a lost piece could say the opposite of what the model said.
    const isAfterLoss = part.type === "text-delta" && this.end.error !== undefined;
    const event = isAfterLoss ? undefined : eventOf(part, this.#toolInputs);
    if (event !== undefined) {
      this.begun = true;
      this.isAskedAgain = event.type === "tool-result";
    } else {
      if ("text" in part) this.#untoldChars += part.text.length;
      if ("delta" in part) this.#untoldChars += part.delta.length;
      this.#keep(part);
    }
    return event;
  }

  #readReasoning(
    part: Extract<AnswerPart, { type: "reasoning-delta" }>,
  ): ResponderEvent | undefined {
    const { text } = part;
    this.#untoldChars += text.length;
    this.#keep(part);
    if (text === "" || this.end.error !== undefined) return undefined;
    return { type: "reasoning", text };
  }

  #keep(part: AnswerPart): void {
    if (part.type === "tool-input-start") this.#toolInputs.set(part.id, "");
    else if (part.type === "tool-input-delta") {
      this.#toolInputs.set(part.id, (this.#toolInputs.get(part.id) ?? "") + part.delta);
    } else if (part.type === "reasoning-start") {
      this.#reasoning.set(part.id, { text: "", metadata: part.providerMetadata });
    } else if (part.type === "reasoning-delta" || part.type === "reasoning-end") {
      this.#keepReasoning(part.id, "text" in part ? part.text : "", part.providerMetadata);
    } else if (part.type === "start-step") {
      this.#reasoning.clear();
      this.#hasCalled = false;
      this.#isThoughtTold = false;
    } else if (part.type === "finish-step") {
      const { response, providerMetadata: metadata } = part;
      const used = toUsage(part.usage);
      const usage = this.end.usage ? sumUsage(this.end.usage, used) : used;
      this.end = { ...this.end, usage, model: response.modelId, metadata };
    } else if (part.type === "finish") {
      this.end = { ...this.end, finish: finishReason(part.finishReason) };
    } else if (part.type === "error") {
      const error = this.end.error ?? part.error ?? new Error("the stream did not say which");
      this.end = { ...this.end, error };
    }
  }

  /** A signature comes after the text that it signs, on a part of its own: the last one counts. */
  #keepReasoning(id: string, text: string, metadata: ProviderMetadata | undefined): void {
    const known = this.#reasoning.get(id);
    if (known === undefined) return;
    known.text += text;
    known.metadata = metadata ?? known.metadata;
  }
}

function eventOf(
  part: AnswerPart,
  toolInputs: ReadonlyMap<string, string>,
): ResponderEvent | undefined {
  if (part.type === "text-delta" && part.text !== "") return { type: "text", text: part.text };
  if (part.type === "tool-call") {
    // As the model wrote it, where its pieces were seen; parsed and written again otherwise.
    const written = toolInputs.get(part.toolCallId) || asText(part.input);
    const call = { name: part.toolName, arguments: written };
    return { type: "tool-call", call: { id: part.toolCallId, type: "function", function: call } };
  }
  if (part.type === "tool-result") {
    return toolResult(part, asText(part.output), false);
  }
  if (part.type === "tool-error") {
    const { error } = part;
    return toolResult(part, error instanceof Error ? error.message : asText(error), true);
  }
  return undefined;
}

function toolResult(
  part: { readonly toolCallId: string; readonly toolName: string },
  content: string,
  isError: boolean,
): ResponderEvent {
  const { toolCallId, toolName } = part;
  return { type: "tool-result", toolCallId, toolName, content, isError };
}

export function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

const finishReasons = ["stop", "length", "tool-calls", "content-filter", "error"] as const;

function finishReason(reason: string): FinishReason {
  return finishReasons.find((known) => known === reason) ?? "other";
}
