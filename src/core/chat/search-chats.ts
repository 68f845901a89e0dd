import { type Found, fitting, withMore } from "../answer-size.ts";
import { checkCount } from "../storage/key.ts";
import type { LogStore, SearchHit, SearchOptions } from "../storage/log-store.ts";
import type { ChatLog } from "./chat-log.ts";
import { Marks } from "./marks.ts";
import { isMessage, type StoredMessage } from "./message.ts";

export interface MessageHit {
  readonly chat_id: string;
  readonly message: StoredMessage;
}

interface SearchWanted {
  readonly limit: number;
  /** Only in this chat. */
  readonly chatId?: string | undefined;
  /** The last word is the beginning of a word. */
  readonly prefix?: boolean | undefined;
}

/** A search looks at this many hits, the newest ones. A storage answers no more at once. */
const mostHits = 1_000;

/**
 * Asks for more and more hits, the newest first, until these are all, the newest 1,000, or longer than one answer.
 * Yields what came so far, each time, and whether others may follow that are not asked for.
 */
export async function* searchSteps(
  logs: LogStore,
  query: string,
  { limit, ...where }: SearchOptions,
) {
  for (let wanted = Math.min(limit, 50); ; wanted *= 4) {
    const count = Math.min(wanted, mostHits);
    const found = await logs.search(query, { ...where, limit: count });
    const isAll = found.length < count;
    const isCut = !isAll && (count === mostHits || fitting(found).more === true);
    yield { found, isCut, isLast: isAll || isCut };
    if (isAll || isCut) return;
  }
}

/**
 * Finds messages in the order of the list of chats, newest first within each, among the newest 1,000 hits. What a
 * clear hid counts for no limit.
 */
export async function searchChats(
  log: ChatLog,
  query: string,
  { limit, chatId, prefix }: SearchWanted,
): Promise<Found<MessageHit>> {
  checkCount(limit, "limit", 1, mostHits);
  let hits: readonly MessageHit[] = [];
  let more = false;
  const options = { limit, key: chatId, prefix };
  for await (const { found, isCut } of searchSteps(log.logs, query, options)) {
    hits = await visible(log, found);
    more = isCut;
    if (hits.length >= limit) break;
  }
  return withMore(hits.slice(0, limit), more);
}

/** Those that no clear hid, and that no other answer replaced. */
async function visible(log: ChatLog, found: readonly SearchHit[]): Promise<MessageHit[]> {
  const hits: MessageHit[] = [];
  for (const [chatId, ofChat] of Map.groupBy(found, ({ key }) => key)) {
    const { head } = await log.state(chatId);
    if (head === undefined) continue; // it was forgotten during the search
    hits.push(...(await shownHits(log, chatId, { clearSeq: head.clear_seq, found: ofChat })));
  }
  return hits;
}

/**
 * The hits of one chat that no clear hid, and that no other answer replaced: an index leaves out what is
 * hidden for good, and an answer that was replaced may be chosen again.
 */
export async function shownHits(
  { logs }: ChatLog,
  chatId: string,
  { clearSeq = 0, found }: { clearSeq?: number | undefined; found: readonly SearchHit[] },
): Promise<MessageHit[]> {
  const messages = found.flatMap(({ record }) =>
    record.seq > clearSeq && isMessage(record) ? [record] : [],
  );
  const answers = messages.filter(({ role, turn }) => role === "assistant" && turn !== undefined);
  const marks = await Marks.about(logs, chatId, answers, ["replacement"]);
  const shown = messages.filter((message) => !marks.isReplaced(message));
  return shown.map((message) => ({ chat_id: chatId, message }));
}
