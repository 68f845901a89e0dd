// What is told of a turn beside what its model says.
import { ThroughlineError } from "../errors.ts";
import type { Chats } from "../memories/chat/chats.ts";
import { sessionView } from "../memories/provider-session/provider-sessions.ts";
import type { Turn, TurnAnswer } from "./turn.ts";
import { answerId, type Begun } from "./turn-records.ts";

/**
 * The stored result of a turn that was answered before, told to the turn.
 *
 * @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: its id is of another message.
 */
export async function storedAnswer(chats: Chats, turn: Turn): Promise<TurnAnswer | undefined> {
  const user = await chats.find(turn.chatId, turn.id);
  if (user === undefined) return undefined;
  if (user.content !== turn.content || user.role !== "user") {
    throw new ThroughlineError("this id was used for another message", {
      code: "THROUGHLINE_ID_CONFLICT",
    });
  }
  const assistant = await chats.find(turn.chatId, answerId(turn.id, turn.retryId));
  const { head } = await chats.log.existing(turn.chatId);
  if (assistant === undefined || head.session === null) return undefined;
  turn.add({ type: "accepted", user });
  turn.add({ type: "text", text: assistant.content });
  return {
    ...{ turnId: turn.id, user, assistant, notices: [] },
    session: sessionView(turn.chatId, head.session),
    // What it cost was counted then.
    usage: { inputTokens: undefined, outputTokens: undefined, costUsd: 0 },
    outcome: assistant.partial === true ? "interrupted" : "answered",
  };
}

/** What a person should know of the session that a turn began in. */
export function noticesOf({ resolution }: Begun): string[] {
  const { ended, reason, session } = resolution;
  if (ended === "session") {
    return [`A new session began (${reason}). The one before is kept and can be read.`];
  }
  if (ended === "provider") {
    return [`${session.provider} starts afresh (${reason}). What was said is kept.`];
  }
  return [];
}
