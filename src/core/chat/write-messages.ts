import type { ChatHead } from "./chat-head.ts";
import { alreadyThere, type ChatLog } from "./chat-log.ts";
import type { Copied, CopiedRecord } from "./copies.ts";

/** Fork, import: at most so many records in one append, so that one append stays small. */
const copyBatch = 256;
/** And at most about so many UTF-16 units of JSON, and the message that passes it: below 8 MiB. */
const copyBytes = 1024 * 1024;

/**
 * Writes a new chat from messages that exist already, in appends of bounded size. Until the last one
 * is stored the chat is marked unfinished.
 */
export async function writeMessages(
  chats: ChatLog,
  chatId: string,
  from: { readonly messages: AsyncIterable<Copied>; readonly head: Partial<ChatHead> },
): Promise<void> {
  if ((await chats.state(chatId)).head !== undefined) throw alreadyThere(chatId);
  let isBegun = false;
  let batch: CopiedRecord[] = [];
  const store = async (isLast: boolean) => {
    await chats.change(chatId, (transaction) => {
      if (!isBegun && !transaction.isNewChat) throw alreadyThere(chatId);
      for (const item of batch) {
        if ("part" in item) transaction.part(item.part);
        else transaction.message(item.message);
      }
      if (transaction.records.length === 0) transaction.control("metadata", { metadata: {} });
      transaction.set(isLast ? { ...from.head, unfinished: undefined } : { unfinished: true });
    });
    isBegun = true;
    batch = [];
  };
  let bytes = 0;
  for await (const item of from.messages) {
    if ("file" in item) {
      // After the mark: a start after a crash removes the files of an unfinished chat with it.
      if (!isBegun) await store(false);
      await chats.files.put(chatId, item.file);
      continue;
    }
    if (batch.length === copyBatch || bytes > copyBytes) {
      await store(false);
      bytes = 0;
    }
    batch.push(item);
    bytes += JSON.stringify(item).length;
  }
  await store(true);
}
