import type { FileStore } from "../storage/file-store.ts";
import type { LogRecord, LogStore } from "../storage/log-store.ts";
import { attachedIn, wholeFile } from "./attachments.ts";
import type { ChatHead } from "./chat-head.ts";
import { alreadyThere, type ChatLog, notFound } from "./chat-log.ts";
import { partsOf } from "./exact.ts";
import { remove } from "./forget.ts";
import { Marks } from "./marks.ts";
import { isMessage, type StoredMessage } from "./message.ts";
import type { MessageInput } from "./message-input.ts";
import { variantOf } from "./record-ids.ts";

/** One thing that a new chat is made of: a message, or a file or a part of the exact form of the next one. */
export type Copied = CopiedRecord | { readonly file: Uint8Array };
type CopiedRecord = { readonly message: MessageInput } | { readonly part: LogRecord };

/** Fork, import: at most so many records in one append, so that one append stays small. */
const copyBatch = 256;
/** And at most about so many UTF-16 units of JSON, and the message that passes it: below 8 MiB. */
const copyBytes = 1024 * 1024;

/**
 * Writes a new chat from messages that exist already, in appends of bounded size. Until the last one
 * is stored the chat is marked unfinished. A fork names its origin before anything is read there: who erases
 * something of that finds it.
 */
export async function writeMessages(
  chats: ChatLog,
  chatId: string,
  from: { readonly messages: AsyncIterable<Copied>; readonly head: Partial<ChatHead> },
): Promise<void> {
  if ((await chats.state(chatId)).head !== undefined) throw alreadyThere(chatId);
  const { forked_from } = from.head;
  const unfinished = { unfinished: true, ...(forked_from && { forked_from }) } as const;
  let isBegun = false;
  let batch: CopiedRecord[] = [];
  const store = async (isLast: boolean) => {
    await chats.change(chatId, (transaction) => {
      if (!isBegun && !transaction.isNewChat) throw alreadyThere(chatId);
      // It was forgotten in between, and perhaps begun again by others.
      if (isBegun && transaction.head.unfinished !== true) throw notFound(chatId);
      for (const item of batch) {
        if ("part" in item) transaction.part(item.part);
        else transaction.message(item.message);
      }
      if (transaction.records.length === 0) transaction.control("metadata", { metadata: {} });
      transaction.set(isLast ? { ...from.head, unfinished: undefined } : unfinished);
    });
    isBegun = true;
    batch = [];
  };
  let bytes = 0;
  try {
    if (forked_from !== undefined) await store(false);
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
  } catch (error) {
    if (isBegun) await removeUnfinished(chats, chatId).catch(() => undefined); // a start removes it
    throw error;
  }
}

/** Removes what was written of a chat, but no chat that was begun after that was forgotten. */
async function removeUnfinished(chats: ChatLog, chatId: string): Promise<void> {
  const { head } = await chats.state(chatId);
  if (head === undefined || head.unfinished === true) await remove(chats, chatId);
}

/**
 * What a fork copies: the messages of a part of a chat up to and including one, each after its files and the parts
 * of its exact form, without what is replaced or taken back. If the last one is itself an answer that was
 * replaced, it is copied, and the other answers to its message are not. A file that is missing or damaged is passed
 * over.
 */
export async function* copyable(
  logs: LogStore,
  files: FileStore,
  chatId: string,
  { after, until }: { readonly after: number; readonly until: StoredMessage | undefined },
): AsyncIterable<Copied> {
  if (until === undefined) return;
  const variant = variantOf(until);
  const marks = await Marks.in(logs, chatId, after);
  const last = marks.shown(until);
  const isOther = ({ role, turn }: StoredMessage) =>
    last?.replaced === true && role !== "user" && turn === until.turn;
  let at: string | undefined;
  let seq = 0;
  const copied = new Set<string>();
  for await (const record of logs.read(chatId, { after })) {
    seq = record.seq;
    if (seq > until.seq) return;
    if (!isMessage(record)) continue;
    const shown = marks.shown(record);
    if (shown === undefined) continue;
    const isLeft = isOther(record) ? variantOf(record) !== variant : shown.replaced === true;
    if (isLeft) continue;
    const { seq: _, timestamp, ...message } = record;
    // Empty where an import knew none: no earlier than the one before.
    at = timestamp || at;
    for (const hash of attachedIn(record)) {
      if (copied.has(hash)) continue;
      copied.add(hash);
      const file = await wholeFile(files, chatId, hash);
      if (file !== undefined) yield { file };
    }
    for (const part of await partsOf(logs, chatId, record)) yield { part };
    yield { message: at ? { ...message, timestamp: at } : message };
  }
  if (seq < until.seq) throw notFound(chatId); // it was forgotten in between
}
