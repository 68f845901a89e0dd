import type { LanguageModel } from "ai";
import type { ModelInput, ToolCall } from "../chat/message.ts";
import type { Span } from "../telemetry.ts";
import { asText } from "./answer.ts";

type V4Model = Extract<LanguageModel, { specificationVersion: "v4" }>;
type Prompt = Parameters<V4Model["doStream"]>[0]["prompt"];
export type StreamPart =
  Awaited<ReturnType<V4Model["doStream"]>>["stream"] extends ReadableStream<infer Part>
    ? Part
    : never;

const failed = "THROUGHLINE_MODEL_FAILED";

/** One call of a model as its span tells of it: what it was asked, and what the parts of its stream say. */
export class ModelCall {
  readonly #span: Span;
  readonly #signal: AbortSignal;
  #finish: string | undefined;
  #text = "";
  readonly #calls: ToolCall[] = [];

  /** @param signal stops the turn: what breaks off by that has not failed. */
  constructor(
    turn: Span,
    named: { readonly provider: string; readonly model: string },
    signal: AbortSignal,
  ) {
    this.#span = turn.begin({ type: "model", ...named });
    this.#signal = signal;
  }

  ask<T>(prompt: Prompt, ask: () => Promise<T>): Promise<T> {
    if (this.#span.wantsContent) this.#span.add(promptFacts(prompt));
    return this.#span.run(ask);
  }

  read(part: StreamPart): void {
    if (part.type === "response-metadata") {
      this.#span.add({ responseId: part.id, answeredBy: part.modelId });
    } else if (part.type === "finish") {
      const { inputTokens, outputTokens } = part.usage;
      this.#finish = part.finishReason.unified;
      this.#span.add({
        finish: this.#finish,
        input: inputTokens.total,
        output: outputTokens.total,
        cachedInput: inputTokens.cacheRead,
        reasoning: outputTokens.reasoning,
      });
    } else if (!this.#span.wantsContent) return;
    else if (part.type === "text-delta") this.#text += part.delta;
    else if (part.type === "tool-call") {
      this.#calls.push(callOf(part.toolCallId, part.toolName, part.input));
    }
  }

  /** The call is over, whole or not. Only the first time counts. */
  end(): void {
    const isWhole = !["error", "other", undefined].includes(this.#finish);
    if (this.#span.wantsContent && (this.#text !== "" || this.#calls.length > 0)) {
      const answer = { role: "assistant", content: this.#text, toolCalls: this.#calls } as const;
      this.#span.add({ answer });
    }
    this.#span.end(isWhole || this.#signal.aborted ? undefined : failed);
  }
}

function promptFacts(prompt: Prompt) {
  const instructions = prompt.flatMap((each) => (each.role === "system" ? [each.content] : []));
  return { instructions: instructions.join("\n\n"), asked: prompt.flatMap(inputsOf) };
}

/** A message of a prompt in our form: text, calls and results, which is all that is ever sent. */
function inputsOf(message: Prompt[number]): ModelInput[] {
  if (message.role === "system") return [];
  if (message.role === "tool") {
    return message.content.flatMap((part) => {
      if (part.type !== "tool-result") return [];
      const { toolCallId, toolName, output } = part;
      const content = "value" in output ? asText(output.value) : "";
      return [{ role: "tool", toolCallId, toolName, content } as const];
    });
  }
  const parts: readonly { readonly type: string; readonly text?: string }[] = message.content;
  const content = parts.map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
  if (message.role === "user") return [{ role: "user", content }];
  const toolCalls = message.content.flatMap((part) =>
    part.type === "tool-call" ? [callOf(part.toolCallId, part.toolName, asText(part.input))] : [],
  );
  return [{ role: "assistant", content, toolCalls }];
}

function callOf(id: string, name: string, written: string): ToolCall {
  return { id, type: "function", function: { name, arguments: written } };
}
