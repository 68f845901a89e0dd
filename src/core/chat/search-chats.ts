import { setImmediate as nextPass } from "node:timers/promises";
import { type Found, fitting, roomForRows, withMore } from "../answer-size.ts";
import { checkSearch } from "../storage/batch.ts";
import { checkCount } from "../storage/key.ts";
import { type LogRow, rows, type SearchHit, type SearchOptions } from "../storage/log-store.ts";
import { endsOpen, holdsEvery, queryPhrases, searchTokens } from "../storage/search-words.ts";
import { type ChatRow, chatRow, readHead } from "./chat-head.ts";
import { type ChatLog, checkChatId } from "./chat-log.ts";
import { Marks } from "./marks.ts";
import { isMessage, type StoredMessage } from "./message.ts";

export interface MessageHit {
  readonly chat_id: string;
  readonly message: StoredMessage;
}

/** A chat that a search found: by what was said in it, by its title or by its id. */
export interface FoundChat extends ChatRow {
  /** The newest message that holds every word; absent where only the title and the id do. */
  readonly match?: StoredMessage;
  /** How many messages hold every word, up to 100. */
  readonly match_count: number;
}

export interface FindChatsOptions {
  /** @default 50 */
  readonly limit?: number | undefined;
  /** The last word is the beginning of a word: for a query that is being typed. @default false */
  readonly prefix?: boolean | undefined;
  /** Only chats in which a message has no answer. @default false */
  readonly unanswered?: boolean | undefined;
  /** Only chats of which stored bytes were found damaged. @default false */
  readonly damaged?: boolean | undefined;
}

export interface FindMessagesOptions extends Pick<FindChatsOptions, "limit" | "prefix"> {
  /** Only in this chat. */
  readonly chatId?: string | undefined;
}

/** A search looks at this many hits, the newest ones. A storage answers no more at once. */
const mostHits = 1_000;
/** More hits of one chat are not counted. */
const countedHits = 100;
/** The titles and ids of this many chats are read. A page of 1,000 takes some milliseconds. */
const namedChats = 10_000;
/** Others get their turn after this many rows of the list. */
const rowsAtOnce = 100;

/**
 * Finds messages in the order of the list of chats, newest first within each, among the newest 1,000 hits. What a
 * clear hid counts for no limit.
 */
export async function searchChats(
  log: ChatLog,
  query: string,
  { limit = 50, chatId, prefix }: FindMessagesOptions,
): Promise<Found<MessageHit>> {
  if (chatId !== undefined) checkChatId(chatId);
  checkCount(limit, "limit", 1, mostHits);
  const all = (hits: ShownHits) => [...hits.values()].flat();
  const where = { limit, key: chatId, prefix };
  const { hits, more } = await newestHits(log, query, where, (some) => all(some).length >= limit);
  return withMore(all(hits).slice(0, limit), more);
}

/**
 * Finds the chats that hold every word in one of the newest 1,000 hits, or in their title and id, in the order of the
 * list. They end with the first that does not fit into one answer.
 */
export async function findChats(
  log: ChatLog,
  query: string,
  options: FindChatsOptions,
): Promise<Found<FoundChat>> {
  const { limit = 50, prefix = false, unanswered = false, damaged = false } = options;
  checkSearch(query, { limit, prefix });
  const phrases = queryPhrases(query);
  if (phrases.length === 0) return [];
  // The last of these chats may have more hits, and a filter may leave any of them out.
  const isEnough = ({ size }: ShownHits) => size > limit && !unanswered && !damaged;
  const { hits, more } = await newestHits(log, query, { limit, prefix }, isEnough);
  const isOpen = endsOpen(query, prefix);
  const found: FoundChat[] = [];
  const fits = roomForRows();
  const isNamed = ({ key, head }: LogRow) =>
    holdsEvery(searchTokens(`${head["title"]} ${key}`), phrases, isOpen);
  /** @returns whether there is room for another one. */
  const add = (row: ChatRow): boolean => {
    const ofChat = hits.get(row.chat_id) ?? [];
    const match_count = Math.min(ofChat.length, countedHits);
    const match = ofChat[0]?.message;
    found.push(match === undefined ? { ...row, match_count } : { ...row, match, match_count });
    return fits(found.at(-1)) && found.length < limit;
  };
  const seen = new Set<string>();
  for await (const row of rowsOf(log, { unanswered, damaged })) {
    const { key } = row;
    // A chat that moved to the top since the page before comes twice.
    if (seen.has(key)) continue;
    seen.add(key);
    const isFound = hits.has(key) || isNamed(row);
    if (isFound && !add(chatRow(key, readHead(row.head), row.damaged)))
      return withMore(found, more);
    if (seen.size === namedChats) break;
  }
  // Past those chats only what was said is found.
  for (const key of hits.keys()) {
    if (seen.has(key)) continue;
    const { head, damaged: isDamaged } = await log.state(key);
    const row = head && chatRow(key, head, isDamaged);
    if (row === undefined || (unanswered && !row.unanswered) || (damaged && !isDamaged)) continue;
    if (!add(row)) break;
  }
  return withMore(found, more);
}

/** Every row of the list that may be wanted. */
async function* rowsOf(
  { logs }: ChatLog,
  { unanswered = false, damaged = false }: FindChatsOptions,
): AsyncGenerator<LogRow, void> {
  const label = unanswered ? "unanswered" : undefined;
  let read = 0;
  for await (const row of rows(logs, { label })) {
    if (read++ % rowsAtOnce === 0) await nextPass();
    if (row.damaged || !damaged) yield row;
  }
}

/** Lists the chats of which stored bytes were found damaged: looks through the rows of all. */
export async function damagedChats(
  log: ChatLog,
  { limit, unanswered }: { readonly limit: number; readonly unanswered: boolean },
): Promise<readonly ChatRow[]> {
  checkCount(limit, "limit", 1, 1_000);
  const found: ChatRow[] = [];
  for await (const { key, head } of rowsOf(log, { damaged: true, unanswered })) {
    found.push(chatRow(key, readHead(head), true));
    if (found.length === limit) break;
  }
  return found;
}

/** By chat, newest first. */
type ShownHits = ReadonlyMap<string, readonly MessageHit[]>;

/**
 * Asks for more and more hits, the newest first, until these are enough, all, the newest 1,000, or longer than one
 * answer. `more`: others may follow that are not asked for.
 */
async function newestHits(
  log: ChatLog,
  query: string,
  { limit, ...where }: SearchOptions,
  isEnough: (hits: ShownHits) => boolean,
): Promise<{ readonly hits: ShownHits; readonly more: boolean }> {
  for (let wanted = Math.min(limit, 50); ; wanted *= 4) {
    const count = Math.min(wanted, mostHits);
    const found = await log.logs.search(query, { ...where, limit: count });
    const isAll = found.length < count;
    const more = !isAll && (count === mostHits || fitting(found).more === true);
    const hits = new Map<string, readonly MessageHit[]>();
    for (const [chatId, ofChat] of Map.groupBy(found, ({ key }) => key)) {
      const shown = await shownHits(log, chatId, ofChat);
      if (shown.length > 0) hits.set(chatId, shown);
    }
    if (isAll || more || isEnough(hits)) return { hits, more };
  }
}

/**
 * The hits of one chat that no clear hid, and that no other answer replaced: an index leaves out what is
 * hidden for good, and an answer that was replaced may be chosen again. None: the chat was forgotten since.
 */
async function shownHits(
  log: ChatLog,
  chatId: string,
  found: readonly SearchHit[],
): Promise<readonly MessageHit[]> {
  const { head } = await log.state(chatId);
  const after = head === undefined ? Number.POSITIVE_INFINITY : (head.clear_seq ?? 0);
  const messages = found.flatMap(({ record }) =>
    record.seq > after && isMessage(record) ? [record] : [],
  );
  const answers = messages.filter(({ role, turn }) => role === "assistant" && turn !== undefined);
  const marks = await Marks.about(log.logs, chatId, answers, ["replacement"]);
  const shown = messages.filter((message) => !marks.isReplaced(message));
  return shown.map((message) => ({ chat_id: chatId, message }));
}
