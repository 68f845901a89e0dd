import type { ChatHead } from "./chat-head.ts";
import { type ChatPorts, notFound } from "./chat-log.ts";
import type { Draft, HeadChange } from "./draft.ts";
import { isControl, isMessage, type StoredMessage } from "./message.ts";
import { endWaits, markOf, pendingId, waitingInput } from "./shown-messages.ts";

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
  draft: Draft,
  messageId: string,
  ports: Pick<ChatPorts, "logs" | "cluster">,
): Promise<readonly string[]> {
  const { logs } = ports;
  const { chatId } = draft;
  const record = await logs.find(chatId, messageId);
  const isMark = record !== undefined && marks.some((kind) => isControl(record, kind));
  const known = record ?? (await logs.find(chatId, pendingId(messageId)));
  if (isMark || known === undefined) throw notFound(chatId, "message");
  const isFound = record !== undefined && isMessage(record);
  const summaries = isFound ? await eraseMessage(draft, record, ports) : [];
  const waits = draft.head.pending?.filter((id) => id !== messageId);
  if (waits !== undefined) draft.set({ pending: waits.length > 0 ? waits : undefined });
  endOpenTurn(draft, messageId);
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
  draft: Draft,
  message: StoredMessage,
  { logs, cluster }: Pick<ChatPorts, "logs" | "cluster">,
): Promise<readonly string[]> {
  const { chatId, head } = draft;
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
  if (isTitle) draft.set({ title: "", title_of: undefined });
  if (!isCounted) draft.set(withoutOne(head, before));
  if (cluster.isShared && (isTitle || !isCounted)) {
    draft.control("erasure", { target: message.id }, isCounted ? draft.newId() : id);
  }
  return summaries;
}

/** Hides a message. One that waits for its turn is not answered any more. Doing it twice is doing it once. */
export async function redactFrom(
  draft: Draft,
  messageId: string,
  logs: ChatPorts["logs"],
): Promise<void> {
  const mark = { kind: "redaction", target: messageId } as const;
  const { id, isThere } = await markOf(logs, draft.chatId, mark);
  if (isThere) return;
  await endWaits(logs, draft, [messageId]);
  draft.control("redaction", { target: messageId }, id);
  if (draft.head.title_of === messageId) draft.set({ title: "", title_of: undefined });
  endOpenTurn(draft, messageId);
}

/** Nothing is left that could be answered; a turn that runs ends without it. */
function endOpenTurn(draft: Draft, messageId: string): void {
  if (draft.head.open_turn?.id === messageId) draft.set({ open_turn: undefined });
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
