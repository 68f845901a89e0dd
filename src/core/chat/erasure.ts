import type { ChatHead } from "./chat-head.ts";
import { type ChatPorts, notFound } from "./chat-log.ts";
import { isControl, isMessage, type StoredMessage } from "./message.ts";
import { endWaits, markOf, pendingId, waitingInput } from "./shown-messages.ts";
import type { HeadChange, Transaction } from "./transaction.ts";

/** What our records about one message are. */
const marks = ["redaction", "replacement", "erasure"] as const;

/**
 * Takes what is to be erased out of a chat's head: a message, or one that waits for its turn.
 *
 * @returns the ids of the records that have to go.
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no such record, or it is one of ours about a
 *   message. Without it, what it hides would be shown again.
 */
export async function eraseFrom(
  transaction: Transaction,
  messageId: string,
  ports: Pick<ChatPorts, "logs" | "cluster">,
): Promise<readonly string[]> {
  const { logs } = ports;
  const { chatId } = transaction;
  const record = await logs.find(chatId, messageId);
  const isMark = record !== undefined && marks.some((kind) => isControl(record, kind));
  const known = record ?? (await logs.find(chatId, pendingId(messageId)));
  if (isMark || known === undefined) throw notFound(chatId, "message");
  const isFound = record !== undefined && isMessage(record);
  const summaries = isFound ? await eraseMessage(transaction, record, ports) : [];
  const waits = transaction.head.pending?.filter((id) => id !== messageId);
  if (waits !== undefined) transaction.set({ pending: waits.length > 0 ? waits : undefined });
  endOpenTurn(transaction, messageId);
  const waited = await waitingInput(logs, chatId, messageId);
  return waited === undefined ? [messageId, ...summaries] : [messageId, waited.id, ...summaries];
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
  { logs, cluster }: Pick<ChatPorts, "logs" | "cluster">,
): Promise<readonly string[]> {
  const { chatId, head } = transaction;
  const { id, isThere } = await markOf(logs, chatId, { kind: "erasure", target: message.id });
  const isCounted = cluster.isShared && isThere;
  const summaries: string[] = [];
  let before = 0;
  for await (const record of logs.read(chatId)) {
    if (record.seq < message.seq && isMessage(record)) before++;
    if (isControl(record, "compaction") && Number(record["up_to_seq"]) >= message.seq) {
      summaries.push(record.id);
    }
  }
  const isTitle = head.title_of === message.id;
  if (isTitle) transaction.set({ title: "", title_of: undefined });
  if (!isCounted) transaction.set(withoutOne(head, before));
  if (cluster.isShared && (isTitle || !isCounted)) {
    transaction.control("erasure", { target: message.id }, isCounted ? transaction.newId() : id);
  }
  return summaries;
}

/** Hides a message. One that waits for its turn is not answered any more. Doing it twice is doing it once. */
export async function redactFrom(
  transaction: Transaction,
  messageId: string,
  logs: ChatPorts["logs"],
): Promise<void> {
  const mark = { kind: "redaction", target: messageId } as const;
  const { id, isThere } = await markOf(logs, transaction.chatId, mark);
  if (isThere) return;
  await endWaits(logs, transaction, [messageId]);
  transaction.control("redaction", { target: messageId }, id);
  if (transaction.head.title_of === messageId) transaction.set({ title: "", title_of: undefined });
  endOpenTurn(transaction, messageId);
}

/** Nothing is left that could be answered; a turn that runs ends without it. */
function endOpenTurn(transaction: Transaction, messageId: string): void {
  if (transaction.head.open_turn?.id === messageId) transaction.set({ open_turn: undefined });
}

/** Each of these counts messages from the start of the file: those past this one move down. */
function withoutOne(head: ChatHead, before: number): HeadChange {
  const less = (count: number) => (before < count ? count - 1 : count);
  const { message_count, last_consolidated, cleared_count: cleared } = head;
  return {
    message_count: less(message_count),
    last_consolidated: less(last_consolidated),
    cleared_count: cleared === undefined ? undefined : less(cleared),
  };
}
