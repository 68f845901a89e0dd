import type { Chats } from "../../core/chat/chats.ts";
import type { StoredMessage } from "../../core/chat/message.ts";
import type { MessagePage } from "../../core/chat/message-page.ts";
import { invalid } from "../../core/errors.ts";
import { checkArgument, having } from "../../core/options.ts";
import type { TranscriptMessage } from "../record/label.ts";
import { limits } from "../record/ring.ts";

/** A turn with more records behind its question than this is not looked through to its end. */
const furthest = 200;

/**
 * Up to 50 messages of a chat, ending with the turn of the one that is named: for a reaction to
 * something that the buffers no longer hold, or never held.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: there is no such message to be seen.
 */
export async function transcriptUpTo(
  chats: Chats,
  chatId: string,
  messageId: string,
): Promise<readonly TranscriptMessage[]> {
  checkArgument(chats, "chats", having("the chats of a Throughline", "find"));
  const named = await chats.find(chatId, messageId);
  if (named === undefined) throw invalid("the target is no message of this chat");
  let said: readonly StoredMessage[] = [];
  for (let before: number | undefined = named.seq + furthest; before !== undefined; ) {
    const page: MessagePage = await chats.messages(chatId, { before, limit: furthest });
    said = [...page.messages, ...said];
    // What came after the turn may fill a page alone.
    before = said.some(({ id }) => id === messageId) ? undefined : page.before;
  }
  const shown = said.filter(({ hidden, redacted }) => !hidden && !redacted);
  const turn = named.turn ?? named.id;
  const last = shown.findLastIndex((message) => (message.turn ?? message.id) === turn);
  if (last < 0) throw invalid("the target is no message of this chat");
  return shown.slice(Math.max(0, last + 1 - limits.messages), last + 1).map((message) => {
    return transcriptMessage(chatId, message);
  });
}

/** The newest answer of a chat that can be seen. */
export async function lastAnswer(chats: Chats, chatId: string): Promise<StoredMessage | undefined> {
  const { messages } = await chats.messages(chatId, { limit: limits.messages });
  return messages.findLast(({ role, content, hidden }) => {
    return role === "assistant" && content !== "" && !hidden;
  });
}

export function transcriptMessage(chatId: string, message: StoredMessage): TranscriptMessage {
  const { id, role, content, turn, timestamp, tool_calls, tool_call_id, partial } = message;
  const { synthetic, name } = message;
  const atMs = Date.parse(timestamp);
  return {
    id,
    role,
    text: content,
    name: role === "user" ? name : undefined,
    attachments: message.attachments,
    chatId,
    turnId: turn,
    interrupted: partial === true,
    synthetic,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    toolCalls: tool_calls?.map((call) => ({ ...call })),
    toolCallId: tool_call_id,
  };
}
