import type { Chat } from "../../api/openapi-types.ts";
import { counted } from "../../ui/in-words.ts";
import { type Model, providerName } from "./model-names.ts";

/** What a chat keeps of its providers. */
type Sessions = Pick<Chat, "provider_sessions">;

/**
 * What happens to the sessions of a chat if a provider answers from now on, with another model than now.
 *
 * @returns "" where nothing was answered yet.
 */
export function switchWords(chat: Sessions, from: Model, provider: string): string {
  const name = providerName(provider);
  const known = answersOf(chat, provider);
  if (Object.keys(chat.provider_sessions).length === 0) return "";
  if (provider === "offline") return "No model gets your messages.";
  if (provider === from.provider) {
    return `Each continues the session with ${name} and gets the messages of this chat.`;
  }
  return known === 0
    ? `${name} gets the messages of this chat and starts a session of its own.`
    : `${name} continues its session (${counted(known, "answer")}) and gets what was said since.`;
}

/** What happens to the session that a chat has now if another provider answers. "": it has none. */
export function keptWords(chat: Sessions, from: Model): string {
  const answers = answersOf(chat, from.provider);
  if (answers === 0 || from.provider === "offline") return "";
  return (
    `The session with ${providerName(from.provider)} (${counted(answers, "answer")}) is kept if you ` +
    "switch, and continues when you switch back."
  );
}

function answersOf({ provider_sessions: sessions }: Sessions, provider: string): number {
  return Object.hasOwn(sessions, provider) ? (sessions[provider]?.message_count ?? 0) : 0;
}
