import { setImmediate as nextPass } from "node:timers/promises";
import { type Found, roomForRows, withMore } from "../answer-size.ts";
import { checkCount } from "../storage/key.ts";
import { type LogRow, rows, type SearchHit } from "../storage/log-store.ts";
import { endsOpen, holdsEvery, queryPhrases, searchTokens } from "../storage/search-words.ts";
import { type ChatHead, type ChatRow, chatRow, readHead } from "./chat-head.ts";
import type { ChatLog } from "./chat-log.ts";
import type { StoredMessage } from "./message.ts";
import { searchSteps, shownHits } from "./search-chats.ts";

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

/** More hits of one chat are not counted. */
const countedHits = 100;
/** The titles and ids of this many chats are read. A page of 1,000 takes some milliseconds. */
const namedChats = 10_000;
/** Others get their turn after this many rows of the list. */
const rowsAtOnce = 100;

/**
 * Finds the chats that hold every word in one of the newest 1,000 hits, or in their title and id, in the order of the
 * list. They end with the first that does not fit into one answer.
 */
export async function findChats(
  log: ChatLog,
  query: string,
  options: FindChatsOptions,
): Promise<Found<FoundChat>> {
  const { limit = 50, prefix = false } = options;
  checkCount(limit, "limit", 1, 1_000);
  let found: FoundChat[] = [];
  let more = false;
  for await (const step of searchSteps(log.logs, query, { limit, prefix })) {
    const hits = Map.groupBy(step.found, ({ key }) => key);
    more = step.isCut;
    // The last of these chats may have more hits.
    if (!step.isLast && hits.size <= limit) continue;
    found = await chatsWith(log, query, { ...options, limit, prefix, hits });
    if (found.length >= limit) break;
  }
  return withMore(found, more);
}

interface ChatsWanted extends FindChatsOptions {
  readonly limit: number;
  readonly prefix: boolean;
  /** The hits by chat. */
  readonly hits: ReadonlyMap<string, readonly SearchHit[]>;
}

async function chatsWith(
  log: ChatLog,
  query: string,
  { hits, limit, prefix, ...only }: ChatsWanted,
): Promise<FoundChat[]> {
  const phrases = queryPhrases(query);
  if (phrases.length === 0) return [];
  const isOpen = endsOpen(query, prefix);
  const isNamed = (key: string, title: unknown) =>
    holdsEvery(searchTokens(`${title} ${key}`), phrases, isOpen);
  const found: FoundChat[] = [];
  const fits = roomForRows();
  let isFull = false;
  const look = async (key: string, head: ChatHead, damaged: boolean) => {
    const row = chatRow(key, head, damaged);
    if ((only.unanswered && !row.unanswered) || (only.damaged && !damaged)) return;
    const ofChat = hits.get(key) ?? [];
    const shown = await shownHits(log, key, { clearSeq: head.clear_seq, found: ofChat });
    const match_count = Math.min(shown.length, countedHits);
    const [newest] = shown;
    if (newest !== undefined) found.push({ ...row, match: newest.message, match_count });
    else if (isNamed(key, row.title)) found.push({ ...row, match_count });
    else return;
    isFull = !fits(found.at(-1)) || found.length === limit;
  };
  const seen = new Set<string>();
  for await (const { key, head, damaged } of rowsOf(log, only)) {
    if (isFull) return found;
    // A chat that moved to the top since the page before comes twice.
    if (seen.has(key)) continue;
    seen.add(key);
    if (hits.has(key) || isNamed(key, head["title"])) await look(key, readHead(head), damaged);
    if (seen.size === namedChats) break;
  }
  // Past those chats only what was said is found.
  for (const key of hits.keys()) {
    if (isFull) return found;
    if (seen.has(key)) continue;
    const { head, damaged } = await log.state(key);
    if (head !== undefined) await look(key, head, damaged);
  }
  return found;
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
