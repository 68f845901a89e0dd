import { type ChatHead, readHead } from "../core/chat/chat-head.ts";
import type { Chats } from "../core/chat/chats.ts";
import { isMessage } from "../core/chat/message.ts";
import type { StoredRecord } from "../core/storage/log-store.ts";
import type { OwnRecord } from "./own-record.ts";

/** One append stays small, in records and in bytes. */
const batchRecords = 256;
const batchBytes = 2 * 1024 * 1024;

/**
 * What a writer is given: records with ids that are new to the chat, and then the head.
 *
 * @param before the head of a chat that is there.
 */
export type Fill = (
  put: (record: OwnRecord) => Promise<void>,
  before?: ChatHead,
) => Promise<ChatHead>;

/**
 * Writes a new chat in appends of bounded size. Until the last one is stored it is marked unfinished:
 * a crash leaves nothing half, and neither does an error in `fill`.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the chat exists.
 */
export async function writeChat(chats: Chats, chatId: string, fill: Fill): Promise<ChatHead> {
  const { logs } = chats.log.ports;
  const draft: ChatHead = { ...readHead({}), unfinished: true };
  return chats.log.exclusively(chatId, async () => {
    let seq = 0;
    try {
      const batches = new Batches(async (records) => {
        seq = await logs.append(chatId, records, { expectedSeq: seq, head: draft });
      });
      const head = await fill((record) => batches.put(record));
      const records = batches.rest();
      seq = await logs.append(chatId, records, { expectedSeq: seq, head });
      return head;
    } catch (error) {
      // Without a first append of our own, what is there is somebody else's.
      if (seq > 0) await logs.delete(chatId);
      throw error;
    } finally {
      chats.log.forgetState(chatId);
    }
  });
}

/**
 * Adds the records that a source has gained to the end of its chat. Every append leaves a chat that
 * is whole, so that a crash in between is a source that has gained less.
 */
export async function extendChat(chats: Chats, chatId: string, fill: Fill): Promise<ChatHead> {
  const { logs } = chats.log.ports;
  return chats.log.exclusively(chatId, async () => {
    const tail = await logs.tail(chatId, 0);
    let seq = tail?.seq ?? 0;
    let head = readHead(tail?.head ?? {});
    const before = head.message_count;
    let messages = 0;
    try {
      const batches = new Batches(async (records) => {
        messages += records.filter((record) => isMessage(record as StoredRecord)).length;
        head = { ...head, message_count: before + messages };
        seq = await logs.append(chatId, records, { expectedSeq: seq, head });
      });
      const last = await fill((record) => batches.put(record), head);
      const records = batches.rest();
      if (records.length > 0) await logs.append(chatId, records, { expectedSeq: seq, head: last });
      return last;
    } finally {
      chats.log.forgetState(chatId);
    }
  });
}

class Batches {
  readonly #store: (records: readonly OwnRecord[]) => Promise<void>;
  #records: OwnRecord[] = [];
  #bytes = 0;

  constructor(store: (records: readonly OwnRecord[]) => Promise<void>) {
    this.#store = store;
  }

  async put(record: OwnRecord): Promise<void> {
    if (this.#records.length === batchRecords || this.#bytes > batchBytes) {
      await this.#store(this.rest());
    }
    this.#records.push(record);
    this.#bytes += Buffer.byteLength(JSON.stringify(record));
  }

  rest(): readonly OwnRecord[] {
    const records = this.#records;
    this.#records = [];
    this.#bytes = 0;
    return records;
  }
}
