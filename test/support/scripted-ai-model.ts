// A model of the AI SDK that says what a test wants it to say.
import { MockLanguageModelV4 } from "ai/test";

type Answers = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"];
type StreamPart = Answers extends ReadableStream<infer Part> ? Part : never;

/** A word; a wait; a call of a tool; an end that is not a stop. */
export type AiStep =
  | string
  | Promise<unknown>
  | { readonly call: string; readonly id: string; readonly input?: object }
  | { readonly thinks: string }
  | { readonly error: Error }
  | { readonly finish: "length" | "other" | "error" | "content-filter" };

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 4, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** @param answers one for each request; then the last one again. */
export function scriptedAiModel(answers: readonly (readonly AiStep[])[]): MockLanguageModelV4 {
  let next = 0;
  return new MockLanguageModelV4({
    modelId: "m-1",
    doStream: async () => {
      const steps = answers[Math.min(next, answers.length - 1)] ?? [];
      next++;
      return { stream: ReadableStream.from(partsOf(steps)) as unknown as Answers };
    },
  });
}

async function* partsOf(steps: readonly AiStep[]): AsyncGenerator<StreamPart> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "response-metadata", modelId: "m-1-2026" };
  let finish: "stop" | "tool-calls" | "length" | "other" | "error" | "content-filter" = "stop";
  let isText = false;
  for (const step of steps) {
    if (step instanceof Promise) {
      await step;
      continue;
    }
    if (typeof step === "string") {
      if (!isText) yield { type: "text-start", id: "t" };
      isText = true;
      yield { type: "text-delta", id: "t", delta: step };
      continue;
    }
    if (isText) yield { type: "text-end", id: "t" };
    isText = false;
    if ("call" in step) {
      finish = "tool-calls";
      const input = JSON.stringify(step.input ?? {});
      yield { type: "tool-call", toolCallId: step.id, toolName: step.call, input };
    } else if ("thinks" in step) {
      yield { type: "reasoning-start", id: "r" };
      yield { type: "reasoning-delta", id: "r", delta: step.thinks };
      yield { type: "reasoning-end", id: "r", providerMetadata: { test: { signature: "s" } } };
    } else if ("error" in step) {
      yield { type: "error", error: step.error };
      return;
    } else finish = step.finish;
  }
  if (isText) yield { type: "text-end", id: "t" };
  yield { type: "finish", finishReason: { unified: finish, raw: undefined }, usage };
}
