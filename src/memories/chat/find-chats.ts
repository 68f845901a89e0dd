import type { LogRow, SearchHit } from "../../storage/log-store.ts";
import { endsOpen, holdsEvery, queryPhrases, searchTokens } from "../../storage/search-words.ts";
import { type ChatHead, chatProjection, readHead } from "./chat-head.ts";
import type { ChatLog } from "./chat-log.ts";
import { type ChatRow, chatRow } from "./chat-row.ts";
import type { StoredMessage } from "./message.ts";
import { hitsAtOnce, searchedChats, shownHits } from "./search-chats.ts";

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

/** The chats that hold every word in a message, or in their title and id, in the order of the list. */
export async function findChats(
  log: ChatLog,
  query: string,
  options: FindChatsOptions,
): Promise<FoundChat[]> {
  const { limit = 50, prefix = false } = options;
  const phrases = queryPhrases(query);
  const isOpen = endsOpen(query, prefix);
  const hits = await ChatHits.search(log, query, prefix);
  if (phrases.length === 0) return [];
  const found: FoundChat[] = [];
  const seen = new Set<string>();
  function look(key: string, { head, damaged }: Looked, hitsOfChat: readonly SearchHit[]): void {
    seen.add(key);
    const row = chatRow(key, head, damaged);
    if ((options.unanswered && !row.unanswered) || (options.damaged && !damaged)) return;
    const shown = shownHits(head.clear_seq, hitsOfChat);
    const match_count = Math.min(shown.length, countedHits);
    const [newest] = shown;
    if (newest !== undefined) found.push({ ...row, match: newest.message, match_count });
    else if (holdsEvery(searchTokens(`${head.title} ${key}`), phrases, isOpen)) {
      found.push({ ...row, match_count });
    }
  }
  for await (const row of rowsOf(log, options)) {
    if (found.length === limit) return found;
    // A chat that moved to the top since the page before comes twice.
    const { key, head, damaged } = row;
    if (!seen.has(key)) look(key, { head: readHead(head), damaged }, await hits.of(row));
    if (seen.size === namedChats) break;
  }
  for (const [key, ofChat] of hits.known) {
    if (found.length === limit) break;
    if (seen.has(key)) continue;
    const { head, damaged } = await log.state(key);
    if (head !== undefined) look(key, { head, damaged }, ofChat);
  }
  return found;
}

/** Every row of the list that may be wanted. */
async function* rowsOf(
  { ports: { logs } }: ChatLog,
  { unanswered = false, damaged = false }: FindChatsOptions,
): AsyncGenerator<LogRow, void> {
  const label = unanswered ? { label: "unanswered" } : {};
  let cursor: string | undefined;
  do {
    const page = await logs.list({ limit: 1_000, ...label, ...(cursor && { cursor }) });
    for (const row of page.rows) if (row.damaged || !damaged) yield row;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/**
 * The hits of each chat. The first 1,000 of all are asked for at once; where those are not all, at most
 * `searchedChats` chats after them are asked for one by one.
 */
class ChatHits {
  readonly known: ReadonlyMap<string, readonly SearchHit[]>;
  readonly #search: (key: string) => Promise<readonly SearchHit[]>;
  /** Where chats begin of which not every hit is known. */
  readonly #from: string | undefined;
  /** The last chat of the first hits may have more. */
  readonly #last: string | undefined;
  #left = searchedChats;

  static async search(log: ChatLog, query: string, prefix: boolean): Promise<ChatHits> {
    const { logs } = log.ports;
    const found = await logs.search(query, { limit: hitsAtOnce, prefix });
    const last = found.length < hitsAtOnce ? undefined : found.at(-1)?.key;
    const head = last === undefined ? undefined : (await log.state(last)).head;
    return new ChatHits(found, last, head && chatProjection.sortedAt(head), (key) =>
      logs.search(query, { limit: countedHits, key, prefix }),
    );
  }

  private constructor(
    found: readonly SearchHit[],
    last: string | undefined,
    from: string | undefined,
    search: (key: string) => Promise<readonly SearchHit[]>,
  ) {
    this.known = Map.groupBy(found, ({ key }) => key);
    this.#last = last;
    this.#from = from;
    this.#search = search;
  }

  /** The newest of a chat: all, or `countedHits` of them. */
  async of({ key, head }: LogRow): Promise<readonly SearchHit[]> {
    const known = this.known.get(key) ?? [];
    if (this.#last === undefined || (known.length > 0 && key !== this.#last)) return known;
    const isBefore = this.#from !== undefined && chatProjection.sortedAt(head) > this.#from;
    if (isBefore || this.#left <= 0) return known;
    this.#left--;
    return this.#search(key);
  }
}
