import { setImmediate as nextPass } from "node:timers/promises";
import { roomForRows } from "../answer-size.ts";
import { checkCount } from "../storage/key.ts";
import type { LogHead, LogRow, SearchHit } from "../storage/log-store.ts";
import { endsOpen, holdsEvery, queryPhrases, searchTokens } from "../storage/search-words.ts";
import { type ChatHead, type ChatRow, chatProjection, chatRow, readHead } from "./chat-head.ts";
import type { ChatLog } from "./chat-log.ts";
import type { StoredMessage } from "./message.ts";
import { hitsAtOnce, searchedChats, searchInSteps, shownHits } from "./search-chats.ts";

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

interface Looked {
  readonly head: ChatHead;
  readonly damaged: boolean;
}

/** More hits of one chat are not counted. */
const countedHits = 100;
/** The titles and ids of so many chats are read. A page of 1,000 takes some milliseconds. */
const namedChats = 10_000;
/** So many chats are looked into one by one before more hits are asked for at once. */
const fewChats = 64;
/** Others get their turn after so many rows of the list. */
const rowsAtOnce = 100;

/**
 * The chats that hold every word in a message, or in their title and id, in the order of the list. They end with
 * the first that does not fit into one answer.
 */
export async function findChats(
  log: ChatLog,
  query: string,
  options: FindChatsOptions,
): Promise<FoundChat[]> {
  const { limit = 50, prefix = false } = options;
  const phrases = queryPhrases(query);
  const isOpen = endsOpen(query, prefix);
  const hits = new ChatHits(log, query, prefix);
  await hits.ask(limit);
  if (phrases.length === 0) return [];
  const isNamed = (key: string, title: unknown) =>
    holdsEvery(searchTokens(`${title} ${key}`), phrases, isOpen);
  const found: FoundChat[] = [];
  const fits = roomForRows();
  let isFull = false;
  const seen = new Set<string>();
  async function look(key: string, { head, damaged }: Looked, ofChat: readonly SearchHit[]) {
    const row = chatRow(key, head, damaged);
    if ((options.unanswered && !row.unanswered) || (options.damaged && !damaged)) return;
    const shown = await shownHits(log, key, { clearSeq: head.clear_seq, found: ofChat });
    const match_count = Math.min(shown.length, countedHits);
    const [newest] = shown;
    if (newest !== undefined) found.push({ ...row, match: newest.message, match_count });
    else if (isNamed(key, row.title)) found.push({ ...row, match_count });
    else return;
    isFull = !fits(found.at(-1)) || found.length === limit;
  }
  for await (const row of rowsOf(log, options)) {
    if (isFull) return found;
    // A chat that moved to the top since the page before comes twice.
    const { key, head, damaged } = row;
    if (seen.has(key)) continue;
    seen.add(key);
    const ofChat = await hits.of(key, head);
    if (ofChat.length > 0 || isNamed(key, head["title"])) {
      await look(key, { head: readHead(head), damaged }, ofChat);
    }
    if (seen.size === namedChats) break;
  }
  // Past those chats only what was said is found.
  const addRest = async () => {
    for (const key of hits.known.keys()) {
      if (isFull) return;
      if (seen.has(key)) continue;
      seen.add(key);
      const { head, damaged } = await log.state(key);
      if (head !== undefined) await look(key, { head, damaged }, await hits.of(key, head));
    }
  };
  await addRest();
  if (!isFull && seen.size >= namedChats && (await hits.widen())) await addRest();
  return found;
}

/** Every row of the list that may be wanted. */
async function* rowsOf(
  { ports: { logs } }: ChatLog,
  { unanswered = false, damaged = false }: FindChatsOptions,
): AsyncGenerator<LogRow, void> {
  const label = unanswered ? "unanswered" : undefined;
  let cursor: string | undefined;
  do {
    const page = await logs.list({ limit: 1_000, label, cursor });
    for (const [index, row] of page.rows.entries()) {
      if (index % rowsAtOnce === 0) await nextPass();
      if (row.damaged || !damaged) yield row;
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/**
 * The hits of each chat. The first ones of all are asked for at once; where those are not all, the chats
 * after them are asked for one by one: some, and when those are not enough, many after the first 1,000
 * hits. To read a hit in each of many chats costs most.
 */
class ChatHits {
  known: ReadonlyMap<string, readonly SearchHit[]> = new Map();
  readonly #log: ChatLog;
  readonly #query: string;
  readonly #prefix: boolean;
  /** Where chats begin of which not every hit is known. */
  #from: string | undefined;
  /** The last chat of the first hits, which may have more. `undefined`: every hit is known. */
  #last: string | undefined;
  #left = fewChats;
  #isWide = false;

  constructor(log: ChatLog, query: string, prefix: boolean) {
    this.#log = log;
    this.#query = query;
    this.#prefix = prefix;
  }

  /** Asks for the first hits of all chats. */
  async ask(limit: number): Promise<void> {
    const { found, isAll } = await this.#search({ limit });
    this.known = Map.groupBy(found, ({ key }) => key);
    this.#last = isAll ? undefined : found.at(-1)?.key;
    const head = this.#last === undefined ? undefined : (await this.#log.state(this.#last)).head;
    this.#from = head && chatProjection.sortedAt(head);
  }

  /** The newest of a chat: all, or `countedHits` of them. */
  async of(key: string, head: LogHead): Promise<readonly SearchHit[]> {
    const known = this.known.get(key) ?? [];
    if (this.#last === undefined || (known.length > 0 && key !== this.#last)) return known;
    const isBefore = this.#from !== undefined && chatProjection.sortedAt(head) > this.#from;
    if (isBefore || this.#left < 0) return known;
    if (this.#left-- > 0) {
      await nextPass();
      return (await this.#search({ limit: countedHits, key })).found;
    }
    return (await this.widen()) ? this.of(key, head) : known;
  }

  /** Asks for as many at once as there can be. @returns whether that was not done yet. */
  async widen(): Promise<boolean> {
    if (this.#isWide || this.#last === undefined) return false;
    this.#isWide = true;
    this.#left = searchedChats;
    await this.ask(hitsAtOnce);
    return true;
  }

  #search(options: { readonly limit: number; readonly key?: string }) {
    const { logs } = this.#log.ports;
    return searchInSteps(logs, this.#query, { ...options, prefix: this.#prefix });
  }
}

/** Those chats of a list of which stored bytes were found damaged: looks through the rows of all. */
export async function damagedChats(
  list: (cursor?: string) => Promise<{ chats: readonly ChatRow[]; cursor?: string }>,
  limit: number,
): Promise<readonly ChatRow[]> {
  checkCount(limit, "limit", 1, 1_000);
  const found: ChatRow[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor);
    found.push(...page.chats.filter(({ damaged }) => damaged));
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < limit);
  return found.slice(0, limit);
}
