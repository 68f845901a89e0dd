import { isErased } from "../storage/batch.ts";
import { checkCount } from "../storage/key.ts";
import { logLimits, type StoredRecord } from "../storage/log-store.ts";
import type { ChatLog } from "./chat-log.ts";
import { Marks, shownRecords } from "./marks.ts";
import { isMessage, type StoredMessage } from "./message.ts";
import { isControlId } from "./record-ids.ts";

export interface MessagePage {
  /** Oldest first. */
  readonly messages: readonly StoredMessage[];
  /** Ask for the messages before this number next; absent when there are none. */
  readonly before?: number;
}

export interface PageWanted {
  /** @default 50 */
  readonly limit?: number | undefined;
  /** Those before this number. @default the newest */
  readonly before?: number | undefined;
}

/**
 * The newest messages before a number that no clear hid: as many as `limit` says, or as the bytes of a page
 * hold, and one at least.
 */
export async function messagePage(
  log: Pick<ChatLog, "logs" | "existing">,
  chatId: string,
  { limit = 50, before = Number.MAX_SAFE_INTEGER }: PageWanted,
): Promise<MessagePage> {
  checkCount(limit, "limit", 1, 1_000);
  checkCount(before, "before", 0, Number.MAX_SAFE_INTEGER);
  const { clear_seq: from = 0 } = (await log.existing(chatId)).head;
  const { logs } = log;
  /** Newest first. */
  const found: StoredMessage[] = [];
  let bytes = 0;
  let end = before;
  let isFull = false;
  while (!isFull && end > from + 1) {
    // With what lies between messages, and the one before the page, which says that there is more.
    const records = await logs.page(chatId, { before: end, limit: Math.min(2 * limit + 1, 1_000) });
    const all = records
      .filter(({ seq }) => seq > from)
      .flatMap((record) => (isMessage(record) ? record : (erasedMark(record) ?? [])));
    const stored = all.slice(-(limit + 1 - found.length));
    end = (stored.length < all.length ? stored : records)[0]?.seq ?? 0;
    const marks = await Marks.about(logs, chatId, stored);
    for (const record of stored.reverse()) {
      const shown = marks.shown(record);
      if (shown === undefined) continue;
      isFull = found.length === limit || bytes >= logLimits.pageBytes;
      if (isFull) break;
      found.push(shown);
      bytes += Buffer.byteLength(JSON.stringify(record));
    }
  }
  const messages = found.reverse();
  const first = messages[0];
  return isFull && first !== undefined ? { messages, before: first.seq } : { messages };
}

/**
 * The mark where an erased message stood; `undefined` for any other record. Who said it and when is gone
 * with it.
 */
function erasedMark(record: StoredRecord): StoredMessage | undefined {
  const { id, seq } = record;
  if (!isErased(record) || isControlId(id)) return undefined;
  return { id, seq, role: "system", timestamp: "", content: "", redacted: true };
}

/** Every message of a chat as people see it, oldest first, all in memory; none where there is no chat. */
export async function allMessages(log: ChatLog, chatId: string): Promise<readonly StoredMessage[]> {
  const { clear_seq: after = 0 } = (await log.state(chatId)).head ?? {};
  const messages: StoredMessage[] = [];
  for await (const record of await shownRecords(log.logs, chatId, after)) {
    const message = isMessage(record) ? record : erasedMark(record);
    if (message !== undefined) messages.push(message);
  }
  return messages;
}
