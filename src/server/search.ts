import { isThroughlineError } from "../errors.ts";
import type { ChatRow } from "../memories/chat/chat-row.ts";
import type { Chats } from "../memories/chat/chats.ts";
import type { StoredMessage } from "../memories/chat/message.ts";

export interface Hit {
  readonly chat_id: string;
  readonly message: StoredMessage;
}

/** Messages that hold every word, newest first; without those that a clear hid. */
export async function visibleHits(
  chats: Chats,
  query: string,
  options: { readonly limit: number; readonly chatId?: string },
): Promise<Hit[]> {
  const hits: Hit[] = [];
  for (const hit of await chats.search(query, options)) {
    if (hit.message.seq > (await clearedUntil(chats, hit.chat_id))) hits.push(hit);
  }
  return hits;
}

/** The chats that hold such a message, each with the newest of them. */
export async function chatsWith(
  chats: Chats,
  query: string,
  limit: number,
): Promise<(ChatRow & { readonly match: StoredMessage })[]> {
  const newest = new Map<string, StoredMessage>();
  for (const { chat_id, message } of await visibleHits(chats, query, { limit: 1_000 })) {
    if (!newest.has(chat_id)) newest.set(chat_id, message);
  }
  const rows: (ChatRow & { match: StoredMessage })[] = [];
  for (const [chatId, match] of newest) {
    if (rows.length === limit) break;
    rows.push({ ...(await chats.row(chatId)), match });
  }
  return rows;
}

/** Past every number for a chat that was forgotten meanwhile. */
async function clearedUntil(chats: Chats, chatId: string): Promise<number> {
  try {
    const { head } = await chats.log.existing(chatId);
    return head.clear_seq ?? 0;
  } catch (error) {
    if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) return Number.MAX_SAFE_INTEGER;
    throw error;
  }
}
