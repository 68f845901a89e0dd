import { type LogStore, logLimits } from "../storage/log-store.ts";
import { isMessage, type StoredMessage } from "./message.ts";
import { shownMessages, withMarksOf } from "./shown-messages.ts";

export interface MessagePage {
  /** Oldest first. */
  readonly messages: readonly StoredMessage[];
  /** Ask for the messages before this number next; absent when there are none. */
  readonly before?: number;
}

/**
 * The newest messages before a number and after `from`: as many as `limit` says, or as the bytes of a
 * page hold, and one at least.
 */
export async function messagePage(
  logs: Pick<LogStore, "page" | "find" | "findAll">,
  chatId: string,
  {
    limit,
    before,
    from,
  }: { readonly limit: number; readonly before: number; readonly from: number },
): Promise<MessagePage> {
  /** Newest first. */
  const found: StoredMessage[] = [];
  let bytes = 0;
  let end = before;
  let isFull = false;
  while (!isFull && end > from + 1) {
    const records = await logs.page(chatId, { before: end, limit });
    const stored = records.filter((record) => isMessage(record)).filter(({ seq }) => seq > from);
    const marks = await withMarksOf(logs, chatId, stored);
    for (const record of stored.reverse()) {
      const [shown] = await shownMessages(marks, chatId, [record]);
      if (shown === undefined) continue;
      isFull = found.length === limit || bytes >= logLimits.pageBytes;
      if (isFull) break;
      found.push(shown);
      bytes += Buffer.byteLength(JSON.stringify(record));
    }
    end = records[0]?.seq ?? 0;
  }
  const messages = found.reverse();
  const first = messages[0];
  return isFull && first !== undefined ? { messages, before: first.seq } : { messages };
}
