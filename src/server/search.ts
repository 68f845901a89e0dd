import type { ChatRow } from "../memories/chat/chat-row.ts";
import type { Chats } from "../memories/chat/chats.ts";
import type { StoredMessage } from "../memories/chat/message.ts";
import { searchChats, searchedChats } from "../memories/chat/search-chats.ts";

/** Which chats a list is to have: with both, those that are both. */
interface Only {
  readonly unanswered: boolean;
  readonly damaged: boolean;
}

type FoundChat = ChatRow & { readonly match: StoredMessage };

/** The chats that hold a message with every word, each with the newest that no clear hid. */
export async function chatsWith(
  chats: Chats,
  query: string,
  { limit, only }: { readonly limit: number; readonly only: Only },
): Promise<FoundChat[]> {
  if (only.unanswered || only.damaged) return lookedInto(chats, query, { limit, only });
  const rows: FoundChat[] = [];
  for (const { chat_id, message } of await searchChats(chats.log, query, { limit, each: 1 })) {
    rows.push({ ...(await chats.row(chat_id)), match: message });
  }
  return rows;
}

/** Looks into the chats that are wanted, the first ones of them: they are few, as a rule. */
async function lookedInto(
  chats: Chats,
  query: string,
  { limit, only }: { readonly limit: number; readonly only: Only },
): Promise<FoundChat[]> {
  const found: FoundChat[] = [];
  let left = searchedChats;
  for await (const row of chatsThatAre(chats, only)) {
    if (left-- === 0) break;
    const [hit] = await chats.search(query, { chatId: row.chat_id, limit: 1 });
    if (hit !== undefined) found.push({ ...row, match: hit.message });
    if (found.length === limit) break;
  }
  return found;
}

/** In the order of the list of all. */
async function* chatsThatAre(
  chats: Chats,
  { unanswered, damaged }: Only,
): AsyncGenerator<ChatRow, void> {
  let cursor: string | undefined;
  do {
    const page = await chats.list({ unanswered, limit: 1_000, ...(cursor && { cursor }) });
    for (const row of page.chats) if (row.damaged || !damaged) yield row;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
