// The model of the Telegram bot in tests: repeats what it is told.
import { setImmediate } from "node:timers/promises";
import { type Responder, ResponderError } from "../../src/core/models/responder.ts";

/** What it answers: as many lines as the words ask for, or one. */
export function echoOf(words: string): string {
  const times = Number(/^(\d+) times /.exec(words)?.[1] ?? 1);
  return Array.from({ length: times }, (_, n) => `${n + 1}: ${words}`).join("\n");
}

export function echo(): Responder {
  return {
    provider: "echo",
    model: "echo",
    window: undefined,
    async *respond({ messages }, signal) {
      for (let n = 0; n < 20; n++) await setImmediate(); // others get their turn
      signal.throwIfAborted();
      if (process.env["MODEL"] === "away") {
        throw new ResponderError("the model is away", { kind: "refused" });
      }
      yield { type: "text", text: echoOf(messages.at(-1)?.content ?? "") };
      yield { type: "end", finish: "stop", usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 } };
    },
  };
}
