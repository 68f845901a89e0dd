// A fork copies messages under their ids. What is erased in one chat has to go from the
// others that hold it, too.
import { errorName } from "../errors.ts";
import { isJsonObject } from "../json.ts";
import type { Logger } from "../logger.ts";
import type { FileStore } from "../storage/file-store.ts";
import { type LogRecord, type LogStore, rows } from "../storage/log-store.ts";
import { attachedIn, wholeFile } from "./attached.ts";
import type { ChatHead, ForkedFrom } from "./chat-head.ts";
import { partsOf } from "./exact.ts";
import type { Removed } from "./forget-receipt.ts";
import { Marks } from "./marks.ts";
import { isMessage, type StoredMessage } from "./message.ts";
import type { MessageInput } from "./message-input.ts";
import { variantOf } from "./turn-ids.ts";

interface Fork {
  readonly chatId: string;
  readonly from: string;
  /** The last message that was copied. */
  readonly lastId: string;
}

/**
 * The chats that hold the same message as `chatId`, or held it until it was erased there: its forks, the
 * chat that it is a fork of, the forks of that one, and so on. Looks through the heads of all chats, and
 * opens only forks.
 */
export async function copiesOf(
  logs: LogStore,
  chatId: string,
  messageId: string,
): Promise<readonly Copy[]> {
  const forks = await allForks(logs);
  const related = new Set([chatId]);
  // A set is walked to its end, those that are added on the way included.
  for (const known of related) {
    for (const fork of forks) {
      const other = fork.chatId === known ? fork.from : fork.chatId;
      const isNext = (fork.chatId === known || fork.from === known) && !related.has(other);
      if (isNext && (await isCopied(logs, fork, messageId))) related.add(other);
    }
  }
  related.delete(chatId);
  const copies: Copy[] = [];
  for (const other of [...related].sort()) {
    const record = await logs.find(other, messageId);
    copies.push({ chatId: other, isThere: record !== undefined && isMessage(record) });
  }
  return copies;
}

/** The chats that were copied from this one, directly or through others. Looks through the heads of all chats. */
export async function forksOf(logs: LogStore, chatId: string): Promise<readonly string[]> {
  const forks = await allForks(logs);
  const related = new Set([chatId]);
  for (const known of related) {
    for (const fork of forks) if (fork.from === known) related.add(fork.chatId);
  }
  related.delete(chatId);
  return [...related].sort();
}

interface Copy {
  readonly chatId: string;
  /** Or it was until it was erased there. */
  readonly isThere: boolean;
}

/**
 * Removes a message from each chat that holds a copy of it, and adds those that fail to `removed`.
 *
 * @returns the chats in which it was, and from which it is gone.
 */
export async function removeEach(
  copies: readonly Copy[],
  logger: Logger,
  removed: Removed[],
  remove: (copy: Copy) => Promise<void>,
): Promise<readonly string[]> {
  const reached: string[] = [];
  for (const copy of copies) {
    try {
      await remove(copy);
      if (copy.isThere) reached.push(copy.chatId);
    } catch (error) {
      logger.warn({ error: errorName(error) }, "a copy of a message was not removed");
      const chat = JSON.stringify(copy.chatId);
      const unreachable = `the chat ${chat}, which holds a copy: erase it there`;
      removed.push({ unreachable });
    }
  }
  return reached;
}

/** One thing that a new chat is made of: a message, or a file or a part of the exact form of the next one. */
export type Copied = CopiedRecord | { readonly file: Uint8Array };
export type CopiedRecord = { readonly message: MessageInput } | { readonly part: LogRecord };

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
  const marks = await Marks.in(logs.read(chatId, { after }));
  const last = marks.shown(until);
  const isOther = ({ role, turn }: StoredMessage) =>
    last?.replaced === true && role !== "user" && turn === until.turn;
  let at: string | undefined;
  const copied = new Set<string>();
  for await (const record of logs.read(chatId, { after })) {
    if (record.seq > until.seq) return;
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
}

/** So many of the chats that a fork comes from are named in it. */
const maxEarlier = 8;

export function forkedFrom(
  chatId: string,
  messageId: string | undefined,
  { forked_from }: ChatHead,
): ForkedFrom {
  const from: ForkedFrom =
    messageId === undefined ? { chat_id: chatId } : { chat_id: chatId, message_id: messageId };
  if (forked_from === undefined) return from;
  const { chat_id, earlier = [] } = forked_from;
  return { ...from, earlier: [chat_id, ...earlier].slice(0, maxEarlier) };
}

async function allForks(logs: LogStore): Promise<readonly Fork[]> {
  const forks: (Fork & { readonly earlier: readonly string[] })[] = [];
  const chatIds = new Set<string>();
  for await (const { key, head } of rows(logs)) {
    chatIds.add(key);
    const origin = head["forked_from"];
    if (!isJsonObject(origin)) continue;
    const { chat_id: from, message_id: lastId, earlier } = origin;
    if (typeof from !== "string" || typeof lastId !== "string") continue;
    forks.push({ chatId: key, from, lastId, earlier: Array.isArray(earlier) ? earlier : [] });
  }
  return forks.flatMap(({ earlier, ...fork }) => {
    // Past a chat that is there, that chat leads on.
    const chain = [fork.from, ...earlier.map(String)];
    const end = chain.findIndex((from) => chatIds.has(from)) + 1;
    return (end > 0 ? chain.slice(0, end) : chain).map((from) => ({ ...fork, from }));
  });
}

/** A fork may hold another message of the same id among those that came after it was made. */
async function isCopied(logs: LogStore, fork: Fork, messageId: string): Promise<boolean> {
  const record = await logs.find(fork.chatId, messageId);
  if (record === undefined) return false;
  const last = await logs.find(fork.chatId, fork.lastId);
  return last === undefined || record.seq <= last.seq;
}
