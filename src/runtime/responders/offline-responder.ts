import type { LanguageModel } from "ai";
import type { Responder } from "../responder.ts";
import { aiSdkResponder } from "./ai-sdk-responder.ts";
import { type HeardMessage, offlineAnswer } from "./offline-answer.ts";

/**
 * The responder for when no model is configured. It says that it is one, needs no key and no
 * network, costs nothing, and takes the same path as every other model.
 */
export function offlineResponder(): Responder {
  return aiSdkResponder({ provider: "offline", model: new OfflineModel() });
}

type Model = Extract<LanguageModel, { specificationVersion: "v4" }>;
type CallOptions = Parameters<Model["doStream"]>[0];
type StreamResult = Awaited<ReturnType<Model["doStream"]>>;
type StreamPart = StreamResult["stream"] extends ReadableStream<infer Part> ? Part : never;
type GenerateResult = Awaited<ReturnType<Model["doGenerate"]>>;

const noUsage: GenerateResult["usage"] = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};
const stop: GenerateResult["finishReason"] = { unified: "stop", raw: undefined };

/** `offlineAnswer` as a model of the AI SDK, a word at a time. */
export class OfflineModel implements Model {
  readonly specificationVersion = "v4";
  readonly provider = "throughline";
  readonly modelId = "offline";
  readonly supportedUrls = {};

  async doGenerate(options: CallOptions): Promise<GenerateResult> {
    const text = offlineAnswer(heardIn(options.prompt));
    return { content: [{ type: "text", text }], finishReason: stop, usage: noUsage, warnings: [] };
  }

  async doStream(options: CallOptions): Promise<StreamResult> {
    const id = "answer";
    const words = offlineAnswer(heardIn(options.prompt)).match(/\S+\s*/g) ?? [];
    const parts: StreamPart[] = [
      { type: "stream-start", warnings: [] },
      { type: "text-start", id },
      ...words.map((delta): StreamPart => ({ type: "text-delta", id, delta })),
      { type: "text-end", id },
      { type: "finish", finishReason: stop, usage: noUsage },
    ];
    return { stream: ReadableStream.from(parts) };
  }
}

/** A user message's words are its last text part: what comes before it is context of ours. */
function heardIn(prompt: CallOptions["prompt"]): readonly HeardMessage[] {
  return prompt.flatMap((message): HeardMessage[] => {
    if (message.role !== "user" && message.role !== "assistant") return [];
    let text = "";
    for (const part of message.content) if (part.type === "text") text = part.text;
    return [{ role: message.role, text }];
  });
}
