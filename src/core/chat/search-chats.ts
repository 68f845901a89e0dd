import { setImmediate as nextPass } from "node:timers/promises";
import { fitting, roomForRows } from "../answer-size.ts";
import { isThroughlineError } from "../errors.ts";
import type { LogStore, SearchHit, SearchOptions } from "../storage/log-store.ts";
import { chatProjection } from "./chat-head.ts";
import type { ChatLog } from "./chat-log.ts";
import { isMessage, type StoredMessage } from "./message.ts";
import { isReplaced, withMarksOf } from "./shown-messages.ts";

export interface MessageHit {
  readonly chat_id: string;
  readonly message: StoredMessage;
}

/** A storage answers at most so many hits at once. */
export const hitsAtOnce = 1_000;

/**
 * Bound of a search: so many chats are looked into one by one, after the first 1,000 hits of all.
 * Each costs one question to the storage.
 */
export const searchedChats = 2_000;

/** Asks for more and more hits up to the limit, and for no more once they are longer than one answer. */
export async function searchInSteps(logs: LogStore, query: string, options: SearchOptions) {
  for (let limit = 50; ; limit *= 4) {
    const count = Math.min(limit, options.limit);
    const found = await logs.search(query, { ...options, limit: count });
    const isAll = found.length < count;
    if (isAll || count === options.limit || fitting(found).more) return { found, isAll };
  }
}

interface Wanted {
  readonly limit: number;
  /** The last word is the beginning of a word. */
  readonly prefix?: boolean | undefined;
}

/**
 * The newest hits of one chat. A clear hides the oldest ones, so that it takes none of these; where answers that
 * were replaced leave too few, those are among the newest 1,000.
 */
export async function searchChat(
  log: ChatLog,
  query: string,
  { chatId, limit, prefix }: { readonly chatId: string } & Wanted,
): Promise<MessageHit[]> {
  let hits: MessageHit[] = [];
  for (const count of new Set([limit, hitsAtOnce])) {
    const options = { limit: count, key: chatId, prefix };
    const { found } = await searchInSteps(log.ports.logs, query, options);
    hits = await visible(log, found);
    if (found.length < count || hits.length >= limit) break;
  }
  return hits.slice(0, limit);
}

/**
 * Hits in the order of the list of chats, newest first within each, without those that a clear hid:
 * what is hidden counts for no limit. Where the first 1,000 hits of all chats are not enough, at
 * most `searchedChats` chats after those are looked into.
 */
export async function searchChats(
  log: ChatLog,
  query: string,
  wanted: Wanted,
): Promise<MessageHit[]> {
  const { limit, prefix } = wanted;
  let found: readonly SearchHit[] = [];
  for (const count of new Set([limit, hitsAtOnce])) {
    const asked = await searchInSteps(log.ports.logs, query, { limit: count, prefix });
    found = asked.found;
    const hits = await visible(log, found);
    if (asked.isAll || hits.length >= limit) return hits.slice(0, limit);
    if (found.length < count) break;
  }
  // The last of these chats may hold more than came: it is looked into again.
  const last = found.at(-1)?.key ?? "";
  const whole = found.filter(({ key }) => key !== last);
  const hits = await visible(log, whole);
  const known = new Set(whole.map(({ key }) => key));
  await addOneByOne(log, query, wanted, { hits, known, last });
  return hits;
}

interface Gathered {
  readonly hits: MessageHit[];
  /** Chats of which every hit is there. */
  readonly known: ReadonlySet<string>;
  /** The first chat of which that is not so. */
  readonly last: string;
}

async function addOneByOne(
  log: ChatLog,
  query: string,
  { limit, prefix }: Wanted,
  { hits, known, last }: Gathered,
): Promise<void> {
  const { logs } = log.ports;
  const { head } = await log.state(last);
  const from = head && chatProjection.sortedAt(head);
  const fits = roomForRows();
  hits.forEach(fits);
  let left = searchedChats;
  let cursor: string | undefined;
  do {
    const page = await logs.list({ limit: 1_000, cursor });
    for (const { key, head } of page.rows) {
      // What comes before in the list has been searched.
      const isBefore = from !== undefined && chatProjection.sortedAt(head) > from;
      if (isBefore || known.has(key)) continue;
      if (left-- === 0 || hits.length === limit) return;
      await nextPass();
      const rest = limit - hits.length;
      const more = await searchChat(log, query, { chatId: key, limit: rest, prefix });
      hits.push(...more);
      if (!more.every(fits)) return;
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Those that no clear hid, and that no other answer replaced. */
async function visible(log: ChatLog, found: readonly SearchHit[]): Promise<MessageHit[]> {
  const hits: MessageHit[] = [];
  for (const [chatId, ofChat] of Map.groupBy(found, ({ key }) => key)) {
    const clearSeq = await clearedUntil(log, chatId);
    hits.push(...(await shownHits(log, chatId, { clearSeq, found: ofChat })));
  }
  return hits;
}

/**
 * The hits of one chat that no clear hid, and that no other answer replaced: an index leaves out what is
 * hidden for good, and an answer that was replaced may be chosen again.
 */
export async function shownHits(
  { ports: { logs } }: ChatLog,
  chatId: string,
  { clearSeq = 0, found }: { clearSeq?: number | undefined; found: readonly SearchHit[] },
): Promise<MessageHit[]> {
  const messages = found.flatMap(({ record }) =>
    record.seq > clearSeq && isMessage(record) ? [record] : [],
  );
  const answers = messages.filter(({ role, turn }) => role === "assistant" && turn !== undefined);
  const marks = await withMarksOf(logs, chatId, answers);
  const hits: MessageHit[] = [];
  for (const message of messages) {
    if (!(await isReplaced(marks, chatId, message))) hits.push({ chat_id: chatId, message });
  }
  return hits;
}

/** Past every number for a chat that was forgotten during the search. */
async function clearedUntil(log: ChatLog, chatId: string): Promise<number> {
  try {
    const { head } = await log.existing(chatId);
    return head.clear_seq ?? 0;
  } catch (error) {
    if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) return Number.MAX_SAFE_INTEGER;
    throw error;
  }
}
