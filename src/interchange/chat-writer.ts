import { type ChatHead, readHead } from "../core/chat/chat-head.ts";
import type { Chats } from "../core/chat/chats.ts";
import { isMessage } from "../core/chat/message.ts";
import { conflict } from "../core/errors.ts";
import { is, object, type Read, text, whole } from "../core/shape.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";
import type { OwnRecord } from "./own-record.ts";

/** One append stays small, in records and in bytes. */
const batchRecords = 256;
const batchBytes = 2 * 1024 * 1024;

/** The field of a chat's head that says what it was imported from. */
export const importedField = "imported";

const count = whole(0, Number.MAX_SAFE_INTEGER);

const importedShape = object({
  /** SHA-256 in hex of the first `bytes` of the source. */
  digest: text(),
  bytes: count,
  /** Records of the source that are stored. */
  records: count,
  /** The chat's last number after the import. */
  seq: count,
});

/** The part of its source that a chat has. */
export type Imported = Read<typeof importedShape>;

export function readImported({ [importedField]: found }: ChatHead): Imported | undefined {
  return is(importedShape, found) ? found : undefined;
}

/**
 * Gives the records to store, one after the other, and then the head.
 *
 * @param before the head of a chat that exists.
 */
export type Fill = (before?: ChatHead) => AsyncGenerator<OwnRecord, ChatHead>;

/** Records in lists of which each fits into an append. */
export async function* batchesOf<Last>(
  records: AsyncGenerator<OwnRecord, Last>,
): AsyncGenerator<readonly OwnRecord[], Last> {
  let batch: OwnRecord[] = [];
  let bytes = 0;
  for (let next = await records.next(); ; next = await records.next()) {
    const isFull = batch.length === batchRecords || bytes > batchBytes;
    if (batch.length > 0 && (next.done === true || isFull)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    if (next.done === true) return next.value;
    batch.push(next.value);
    bytes += Buffer.byteLength(JSON.stringify(next.value));
  }
}

/**
 * Writes a new chat, or adds records to the end of one that exists, in appends of bounded size.
 *
 * A new chat is marked unfinished until its last append is stored, so a crash or an error in `fill`
 * leaves nothing of it. An existing chat is complete after every append: a crash in between looks
 * like a source with fewer records.
 *
 * @param has what the chat has of the source; absent: the chat is new.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a new chat exists already, or something was written.
 */
export async function writeChat(
  chats: Chats,
  chatId: string,
  has: Imported | undefined,
  fill: Fill,
): Promise<void> {
  const isNew = has === undefined;
  const { logs } = chats;
  await chats.exclusively(chatId, async () => {
    const tail = isNew ? undefined : await logs.tail(chatId, 0);
    const before = isNew ? undefined : readHead(tail?.head ?? {});
    let seq = tail?.seq ?? 0;
    if (has !== undefined && seq !== has.seq) {
      throw conflict("something was written to the chat during the import: run it again");
    }
    let head = before ?? { ...readHead({}), unfinished: true as const };
    try {
      const batches = batchesOf(fill(before));
      // The last batch comes with the head that the whole source gives.
      let held: readonly OwnRecord[] = [];
      let next = await batches.next();
      for (; next.done !== true; next = await batches.next()) {
        if (held.length > 0) {
          if (has !== undefined) head = counting(head, held, seq);
          seq = await logs.append(chatId, held, { expectedSeq: seq, head });
        }
        held = next.value;
      }
      if (held.length > 0) {
        seq = await logs.append(chatId, held, { expectedSeq: seq, head: next.value });
      }
    } catch (error) {
      // Only if the first append was stored is the chat ours to delete.
      if (isNew && seq > 0) await logs.delete(chatId);
      // Nor are its attachments, unless there is no such chat.
      if (isNew && (await logs.tail(chatId, 0)) === undefined) await chats.files.delete(chatId);
      throw error;
    } finally {
      chats.forgetState(chatId);
    }
  });
}

/** The head of a chat that has more of its source: an import that is cut off continues from there. */
function counting(head: ChatHead, records: readonly OwnRecord[], seq: number): ChatHead {
  const messages = records.filter((record) => isMessage(record as StoredRecord)).length;
  const has = readImported(head);
  const imported = has && {
    ...has,
    records: has.records + records.length,
    seq: seq + records.length,
  };
  const message_count = head.message_count + messages;
  return { ...head, message_count, [importedField]: imported };
}
