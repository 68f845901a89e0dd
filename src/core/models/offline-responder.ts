import { setImmediate } from "node:timers/promises";
import type { ModelInput } from "../chat/message.ts";
import { withoutName } from "../chat/person-name.ts";
import { type HeardMessage, offlineAnswer } from "./offline-answer.ts";
import type { Responder, ResponderEvent, ResponderRequest, Usage } from "./responder.ts";

interface OfflineResponderOptions {
  /** Whether what is said is still there when this program has ended. It says so. @default true */
  readonly isKept?: boolean;
}

/**
 * The responder for when no model is configured. It says that it is one, needs no key, no network and
 * no package, costs nothing, and streams `offlineAnswer` a word at a time. Others get their turn
 * between two words, and an abort is heard there.
 */
export function offlineResponder({ isKept = true }: OfflineResponderOptions = {}): Responder {
  return {
    provider: "offline",
    model: "offline",
    window: undefined,
    respond: (request, signal) => respond(request, signal, isKept),
  };
}

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, costUsd: 0 };

async function* respond(
  { messages }: ResponderRequest,
  signal: AbortSignal,
  isKept: boolean,
): AsyncGenerator<ResponderEvent, void> {
  for (const text of offlineAnswer(heardIn(messages), isKept).match(/\S+\s*/g) ?? []) {
    await setImmediate();
    if (signal.aborted) throw signal.reason;
    yield { type: "text", text };
  }
  if (signal.aborted) throw signal.reason;
  yield { type: "end", finish: "stop", usage: noUsage, model: "offline" };
}

/** What the two said; an assistant that only called tools said nothing. */
function heardIn(messages: readonly ModelInput[]): readonly HeardMessage[] {
  return messages.flatMap((message): HeardMessage[] => {
    const { role, content } = message;
    const text = role === "user" ? withoutName(message.name, content) : content;
    if (role === "user") {
      const files = (message.files ?? []).map(({ name }) => name);
      return [{ role, text: files.length === 0 ? text : text.replace(namedFiles, ""), files }];
    }
    return role === "assistant" && text !== "" ? [{ role, text }] : [];
  });
}

/** The lines that name files in the content of a message, and the text of text files. */
const namedFiles = /(?:^|\n\n)\[(?:image|audio|video|file): [^\]\n]*\].*$/s;
