import { isJsonObject } from "../json.ts";
import { partIds } from "../storage/kept-value.ts";
import type { LogStore } from "../storage/log-store.ts";
import { attachedIn } from "./attachments.ts";
import type { ChatHead } from "./chat-head.ts";
import { type ChatLog, type Erasure, notFound } from "./chat-log.ts";
import { Marks, shownRecords } from "./marks.ts";
import { isControl, isMessage, type StoredMessage } from "./message.ts";
import { withoutSessionIds } from "./period.ts";
import { controlId, markKinds } from "./record-ids.ts";
import type { Transaction } from "./transaction.ts";
import { endWaits, pendingId, waitingInput } from "./waiting.ts";

/**
 * Takes what is to be erased out of a chat's head: a message, or one that waits for its turn.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no such record, or it is one of ours about a
 *   message. Without it, what it hides would be shown again.
 */
export async function eraseFrom(
  transaction: Transaction,
  messageId: string,
  log: ChatLog,
): Promise<Erasure> {
  const { logs } = log;
  const { chatId } = transaction;
  const record = await logs.find(chatId, messageId);
  const isMark = record !== undefined && markKinds.some((kind) => isControl(record, kind));
  const known = record ?? (await logs.find(chatId, pendingId(messageId)));
  if (isMark || known === undefined) throw notFound(chatId, "message");
  const isFound = record !== undefined && isMessage(record);
  const summaries = isFound ? await eraseMessage(transaction, record, log) : [];
  const waits = transaction.head.pending?.filter((id) => id !== messageId);
  if (waits !== undefined) transaction.set({ pending: waits.length > 0 ? waits : undefined });
  forgetByProviders(transaction, messageId);
  const waited = await waitingInput(logs, chatId, messageId);
  const exact = [isFound ? record.exact : undefined, waited?.["exact"]];
  const parts = exact.flatMap((fields) => (isJsonObject(fields) ? partIds(fields) : []));
  const waiting = waited === undefined ? [] : [waited.id];
  const ids = [messageId, ...parts, ...summaries, ...waiting];
  return { ids, files: await attachedOnlyIn(logs, chatId, ids) };
}

/** The files that some records of a chat refer to, and no other record of it. */
async function attachedOnlyIn(
  logs: Pick<LogStore, "findAll" | "read">,
  chatId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  const records = await logs.findAll(chatId, ids);
  const hashes = new Set([...records.values()].flatMap(attachedIn));
  if (hashes.size === 0) return [];
  for await (const record of logs.read(chatId)) {
    if (records.has(record.id)) continue;
    for (const hash of attachedIn(record)) hashes.delete(hash);
  }
  return [...hashes];
}

/**
 * Takes a message that is to be erased out of a chat's head: what counts it, and what repeats its words.
 *
 * An erasure moves no end of a log. Where several processes write, a change that another one decided
 * before it would be stored after it, with the head of before. A record that comes first stands in the
 * way of that; and, after a crash, of counting the message twice. One process alone needs no record,
 * and a full disk would not take it.
 *
 * @returns the ids of the summaries that have to go with it.
 */
async function eraseMessage(
  transaction: Transaction,
  message: StoredMessage,
  { logs, cluster }: ChatLog,
): Promise<readonly string[]> {
  const { chatId, head } = transaction;
  const own = await Marks.about(logs, chatId, [message], ["removal", "erasure"]);
  const isBegun = cluster.isShared && own.has("erasure", message.id);
  const isCounted = own.has("removal", message.id) || isBegun;
  const summaries: string[] = [];
  let before = 0;
  for await (const record of await shownRecords(logs, chatId)) {
    if (record.seq < message.seq && isMessage(record)) before++;
    if (isControl(record, "compaction") && Number(record["up_to_seq"]) >= message.seq) {
      summaries.push(record.id);
    }
  }
  if (head.summary && summaries.includes(head.summary.id)) transaction.set({ summary: undefined });
  const isTitle = head.title_of === message.id;
  if (isTitle) transaction.set({ title: "", title_of: undefined });
  if (!isCounted) transaction.set(withoutOne(head, before));
  if (cluster.isShared && (isTitle || !isCounted)) {
    const id = isCounted ? transaction.newId() : controlId("erasure", message.id);
    transaction.control("erasure", { target: message.id }, id);
  }
  return summaries;
}

/**
 * Hides messages that the application takes back, and no longer counts them.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: one of them is no message of the chat, or was cleared.
 */
export async function takeBackFrom(
  transaction: Transaction,
  ids: ReadonlySet<string>,
  logs: LogStore,
): Promise<void> {
  const { chatId } = transaction;
  const { clear_seq: clearSeq = 0, pending = [] } = transaction.head;
  const consolidated = await consolidatedUntil(transaction, logs);
  const records = await logs.findAll(chatId, [...ids]);
  const marks = await Marks.about(
    logs,
    chatId,
    [...ids].map((id) => ({ id })),
    ["removal"],
  );
  for (const target of ids) {
    const record = records.get(target);
    const isThere = record !== undefined && isMessage(record) && record.seq > clearSeq;
    if (!isThere && !pending.includes(target)) throw notFound(chatId, "message");
    const { message_count: count, title_of: titleOf } = transaction.head;
    if (marks.has("removal", target)) continue;
    await endWaits(logs, transaction, [target]);
    transaction.control("removal", { target }, controlId("removal", target));
    if (titleOf === target) transaction.set({ title: "", title_of: undefined });
    forgetByProviders(transaction, target);
    if (isThere) withoutSummaryOf(transaction, record.seq);
    // One that waited was not counted before, and is stored as a message now.
    transaction.set({ message_count: isThere ? count - 1 : count });
    if (!isThere || record.seq > consolidated) continue;
    transaction.set({ last_consolidated: transaction.head.last_consolidated - 1 });
  }
}

/** The number of the last message that was summarised elsewhere; of those that a clear hid, 0. */
async function consolidatedUntil({ chatId, head }: Transaction, logs: LogStore): Promise<number> {
  const { clear_seq: after = 0, cleared_count: cleared = 0 } = head;
  let left = head.last_consolidated - cleared;
  if (left <= 0) return 0;
  for await (const record of await shownRecords(logs, chatId, after)) {
    if (isMessage(record) && --left === 0) return record.seq;
  }
  return Number.MAX_SAFE_INTEGER;
}

/**
 * Ends a turn that runs on a message without an answer. No provider resumes a session of its own, which may
 * remember the message: each is sent the history again.
 */
function forgetByProviders(transaction: Transaction, messageId: string): void {
  const { open_turn: open, session: period } = transaction.head;
  if (open?.id === messageId) transaction.set({ open_turn: undefined });
  if (period !== null) transaction.set({ session: withoutSessionIds(period) });
  transaction.set({ reported: undefined }); // what providers counted had it in it
}

/** Removes the summary if it may tell of this record, which gets hidden: models get the messages themselves again. */
export function withoutSummaryOf(transaction: Transaction, seq: number): void {
  const { summary } = transaction.head;
  if (summary !== undefined && seq <= summary.up_to_seq) transaction.set({ summary: undefined });
}

/** Each of these counts messages from the start of the file: those past this one move down. */
function withoutOne(head: ChatHead, before: number): Partial<ChatHead> {
  const less = (count: number) => (before < count ? count - 1 : count);
  const { message_count, last_consolidated, cleared_count: cleared } = head;
  return {
    message_count: less(message_count),
    last_consolidated: less(last_consolidated),
    cleared_count: cleared === undefined ? undefined : less(cleared),
  };
}
