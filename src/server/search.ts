import type { ChatRow } from "../memories/chat/chat-row.ts";
import type { Chats } from "../memories/chat/chats.ts";
import type { StoredMessage } from "../memories/chat/message.ts";
import { searchChats } from "../memories/chat/search-chats.ts";

/** The chats that hold a message with every word, each with the newest that no clear hid. */
export async function chatsWith(
  chats: Chats,
  query: string,
  limit: number,
): Promise<(ChatRow & { readonly match: StoredMessage })[]> {
  const rows: (ChatRow & { match: StoredMessage })[] = [];
  for (const { chat_id, message } of await searchChats(chats.log, query, { limit, each: 1 })) {
    rows.push({ ...(await chats.row(chat_id)), match: message });
  }
  return rows;
}
