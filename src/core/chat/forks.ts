// A fork copies messages under their ids, and its head names the chat that it was made from. A label of the
// index leads from there to the fork.
import { isJsonObject } from "../json.ts";
import { type LogStore, rows } from "../storage/log-store.ts";
import { type ChatHead, type ForkedFrom, forkLabel, forkOrigins, readHead } from "./chat-head.ts";
import type { ChatLog } from "./chat-log.ts";
import { isMessage } from "./message.ts";

/** The other end of a branch. */
export interface LinkedChat {
  readonly chat_id: string;
  readonly title: string;
  readonly created_at: string;
  /** The last message that was copied, by its id and its place in the chat that was copied; absent: none was. */
  readonly message_id?: string | undefined;
  readonly seq?: number | undefined;
}

/** Most branches that are named: those that a person used last. */
const maxBranches = 100;

/**
 * Finds the chat that this one was made from, unless it was forgotten, and those that were made from it and are
 * there, oldest first.
 */
export async function linksOf(log: ChatLog, chatId: string, head: ChatHead) {
  const { logs } = log;
  const branches: LinkedChat[] = [];
  for await (const row of rows(logs, { label: forkLabel(chatId) })) {
    const made = readHead(row.head);
    if (made.unfinished === true || forkOrigins(made)[0] !== chatId) continue;
    branches.push(await linked(logs, row.key, made, { chatId, head: made }));
    if (branches.length === maxBranches) break;
  }
  const order = ({ created_at, chat_id }: LinkedChat) => `${created_at} ${chat_id}`;
  branches.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  const [from] = forkOrigins(head);
  const state = from === undefined ? undefined : await log.state(from).catch(() => undefined); // such as an unreadable log
  const origin = state?.head?.unfinished === true ? undefined : state?.head;
  if (from === undefined || origin === undefined) return { origin: undefined, branches };
  return { origin: await linked(logs, from, origin, { chatId: from, head }), branches };
}

/** @param fork the chat that was copied, and the head that says up to where. */
async function linked(
  logs: LogStore,
  chat_id: string,
  { title, created_at }: ChatHead,
  fork: { readonly chatId: string; readonly head: ChatHead },
): Promise<LinkedChat> {
  const id = fork.head.forked_from?.message_id;
  const last = typeof id === "string" ? await logs.find(fork.chatId, id) : undefined;
  const isThere = last !== undefined && isMessage(last);
  const place = isThere ? { message_id: last.id, seq: last.seq } : {};
  return { chat_id, title, created_at, ...place };
}

/** A chat that holds a copy of a message. */
interface Copy {
  readonly chatId: string;
  /** Or it was until it was erased there. */
  readonly isThere: boolean;
}

/**
 * Finds the chats that hold the same message as `chatId`, or held it until it was erased there: its forks, the
 * chat that it is a fork of, the forks of that one, and so on. The forks of each are looked for when it was
 * dealt with: one that is begun later copies what is left.
 */
export async function* copiesOf(
  log: ChatLog,
  chatId: string,
  messageId: string,
): AsyncGenerator<Copy> {
  const { logs } = log;
  const others = reachedFrom(chatId, async function* (known) {
    for await (const { key, head } of forksAt(log, known)) {
      if (await isCopied(logs, key, head, messageId)) yield key;
    }
    const head = (await logs.tail(known, 0))?.head;
    if (head && (await isCopied(logs, known, head, messageId))) yield* await originsOf(logs, head);
  });
  for await (const other of others) {
    const record = await logs.find(other, messageId);
    yield { chatId: other, isThere: record !== undefined && isMessage(record) };
  }
}

/** The chats with messages that were copied from this one, directly or through others. */
export async function forksOf(log: ChatLog, chatId: string): Promise<readonly string[]> {
  const forks = reachedFrom(chatId, async function* (known) {
    for await (const { key, head } of forksAt(log, known)) {
      if (lastCopied(head) !== undefined) yield key;
    }
  });
  return (await Array.fromAsync(forks)).sort();
}

/** Lists the chats that a chat leads to, and those that these lead to, but for itself. */
async function* reachedFrom(chatId: string, next: (known: string) => AsyncIterable<string>) {
  const related = new Set([chatId]);
  // A set is walked to its end, those that are added on the way included.
  for (const known of related) {
    if (known !== chatId) yield known;
    for await (const each of next(known)) related.add(each);
  }
}

/** Lists the forks of a chat, and of its forks that are gone. Waits for those that are being made, by any process. */
export async function* forksAt(log: ChatLog, chatId: string) {
  const { logs } = log;
  for await (const row of rows(logs, { label: forkLabel(chatId) })) {
    if (!(await originsOf(logs, row.head)).includes(chatId)) continue;
    if (row.head["unfinished"] === true) {
      await log.free(row.key);
      if (!(await log.alone(row.key, () => logs.tail(row.key, 0)))) continue;
    }
    yield row;
  }
}

/** Lists what a fork comes from, up to the first chat that is there: that one leads on. */
async function originsOf(logs: LogStore, head: Partial<ChatHead>): Promise<readonly string[]> {
  const origins: string[] = [];
  for (const from of forkOrigins(head)) {
    origins.push(from);
    const isThere = logs.tail(from, 0).then(
      (tail) => tail !== undefined,
      () => true, // though it cannot be read
    );
    if (await isThere) break;
  }
  return origins;
}

function lastCopied({ forked_from: from }: Partial<ChatHead>): string | undefined {
  return isJsonObject(from) && typeof from["message_id"] === "string" ? from.message_id : undefined;
}

/** A fork may hold another message of the same id among those that came after it was made. */
async function isCopied(
  logs: LogStore,
  fork: string,
  head: Partial<ChatHead>,
  messageId: string,
): Promise<boolean> {
  const lastId = lastCopied(head);
  const record = lastId === undefined ? undefined : await logs.find(fork, messageId);
  if (lastId === undefined || record === undefined) return false;
  const last = await logs.find(fork, lastId);
  return last === undefined || record.seq <= last.seq;
}

/** So many of the chats that a fork comes from are named in it. */
const maxEarlier = 8;

export function forkedFrom(
  chatId: string,
  messageId: string | undefined,
  head: ChatHead,
): ForkedFrom {
  const from: ForkedFrom =
    messageId === undefined ? { chat_id: chatId } : { chat_id: chatId, message_id: messageId };
  const earlier = forkOrigins(head).slice(0, maxEarlier);
  return earlier.length === 0 ? from : { ...from, earlier };
}
