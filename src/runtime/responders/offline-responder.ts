import { setImmediate } from "node:timers/promises";
import type { ModelInput } from "../../memories/chat/message.ts";
import type { Responder, ResponderEvent, ResponderRequest, Usage } from "../responder.ts";
import { type HeardMessage, offlineAnswer } from "./offline-answer.ts";

/**
 * The responder for when no model is configured. It says that it is one, needs no key, no network and
 * no package, costs nothing, and streams `offlineAnswer` a word at a time. Others get their turn
 * between two words, and an abort is heard there.
 */
export function offlineResponder(): Responder {
  return { provider: "offline", model: "offline", window: undefined, respond };
}

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, costUsd: 0 };

async function* respond(
  { messages }: ResponderRequest,
  signal: AbortSignal,
): AsyncGenerator<ResponderEvent, void> {
  for (const text of offlineAnswer(heardIn(messages)).match(/\S+\s*/g) ?? []) {
    await setImmediate();
    if (signal.aborted) throw signal.reason;
    yield { type: "text", text };
  }
  if (signal.aborted) throw signal.reason;
  yield { type: "end", finish: "stop", usage: noUsage, model: "offline" };
}

/** What the two said; an assistant that only called tools said nothing. */
function heardIn(messages: readonly ModelInput[]): readonly HeardMessage[] {
  return messages.flatMap(({ role, content: text }): HeardMessage[] =>
    role === "user" || (role === "assistant" && text !== "") ? [{ role, text }] : [],
  );
}
