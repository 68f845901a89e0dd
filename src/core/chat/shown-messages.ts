import { isJsonObject } from "../json.ts";
import { isErased } from "../storage/batch.ts";
import type { LogStore, StoredRecord } from "../storage/log-store.ts";
import { attachmentsOf } from "./attachments.ts";
import { titleOf } from "./chat-head.ts";
import {
  controlId,
  hiddenBy,
  hidingKinds,
  isControlId,
  type MarkKind,
  replacementIn,
} from "./control-ids.ts";
import { type ControlRecord, isControl, isMessage, type StoredMessage } from "./message.ts";
import type { Records } from "./render-rows.ts";
import type { ChatState, Transaction } from "./transaction.ts";
import { retryAnswerId } from "./turn-ids.ts";

/** The id of the record that keeps an accepted message until its turn starts. */
export const pendingId = (messageId: string) => controlId("pending_input", messageId);
/** The id of the first record that puts another answer in the place of a message. */
export const replacementId = (messageId: string) => controlId("replacement", messageId);

/** The record that keeps an accepted message until its turn starts; never a message that has its id. */
export async function waitingInput(
  logs: Pick<LogStore, "find">,
  chatId: string,
  messageId: string,
): Promise<ControlRecord | undefined> {
  const record = await logs.find(chatId, pendingId(messageId));
  return record !== undefined && isControl(record, "pending_input") ? record : undefined;
}

/**
 * The record of a kind that names a message, and where there is none, the id that it is to have. What
 * else has that id, such as a message, says nothing of this one and is passed over. An answer may be
 * replaced and chosen again many times: each has a record, of which the last counts, and `id` is that
 * of the next one.
 */
export async function markOf(
  logs: Pick<LogStore, "find">,
  chatId: string,
  mark: { readonly kind: MarkKind; readonly target: string },
): Promise<{ readonly id: string; readonly isThere: boolean }> {
  const { kind, target } = mark;
  let isThere = false;
  for (let n = 1; ; n++) {
    const id = controlId(kind, target, n);
    const record = await logs.find(chatId, id);
    if (record === undefined) return { id, isThere };
    if (!isControl(record, kind) || record["target"] !== target) continue;
    if (kind !== "replacement") return { id, isThere: true };
    isThere = replacementIn(record)?.isReplaced === true;
  }
}

/** Whether the application took this message back: then nothing shows it. */
export async function isTakenBack(
  logs: Pick<LogStore, "find">,
  chatId: string,
  messageId: string,
): Promise<boolean> {
  return (await markOf(logs, chatId, { kind: "removal", target: messageId })).isThere;
}

/**
 * Messages as people see them: what was replaced by another answer is hidden, and what was taken back is
 * left out.
 */
export async function shownMessages(
  logs: Pick<LogStore, "find">,
  chatId: string,
  messages: readonly StoredMessage[],
): Promise<StoredMessage[]> {
  const shown: StoredMessage[] = [];
  for (const message of messages) {
    if (await isTakenBack(logs, chatId, message.id)) continue;
    const replaced = await isReplaced(logs, chatId, message);
    shown.push(replaced ? { ...message, hidden: true, replaced } : message);
  }
  return shown;
}

/**
 * The mark where an erased message stood; `undefined` for any other record. Who said it and when is gone
 * with it.
 */
export function erasedMark(record: StoredRecord): StoredMessage | undefined {
  const { id, seq } = record;
  if (!isErased(record) || isControlId(id)) return undefined;
  return { id, seq, role: "system", timestamp: "", content: "", redacted: true };
}

/** Reads at once what may hide these messages. @returns the logs as `shownMessages` asks them. */
export async function withMarksOf(
  logs: Pick<LogStore, "find" | "findAll">,
  chatId: string,
  messages: readonly StoredMessage[],
): Promise<Pick<LogStore, "find">> {
  const ids = messages.flatMap(({ id }) => hidingKinds.map((kind) => controlId(kind, id)));
  if (ids.length === 0) return logs;
  const found = await logs.findAll(chatId, ids);
  const asked = new Set(ids);
  return { find: async (key, id) => (asked.has(id) ? found.get(id) : logs.find(key, id)) };
}

/** The first thing that a person said or sent after this record, that is shown and is more than space. */
export async function firstWords(
  logs: Pick<LogStore, "find" | "read">,
  chatId: string,
  after: number,
): Promise<StoredMessage | undefined> {
  for await (const record of logs.read(chatId, { after })) {
    if (!isMessage(record) || record.role !== "user" || record.hidden) continue;
    if (record.synthetic !== undefined) continue;
    const [shown] = await shownMessages(logs, chatId, [record]);
    if (shown !== undefined && titleOf(shown) !== "") return shown;
  }
  return undefined;
}

/** Records at the end of a log that are looked through for what people said. */
const lastRecords = 1_000;

/** The ids of what people said last in a chat, and of what waits, as far as the log can be read. */
export async function lastSaid(
  logs: Pick<LogStore, "read">,
  chatId: string,
  { seq, head }: ChatState,
): Promise<readonly string[]> {
  const ids: string[] = [];
  try {
    for await (const record of logs.read(chatId, { after: Math.max(0, seq - lastRecords) })) {
      if (isMessage(record) && record.role === "user") ids.push(record.id);
    }
  } catch {
    // Damage must not keep a chat from being forgotten.
  }
  return ids.concat(head?.pending ?? []);
}

/** Only an answer can be replaced, and what led to it; that of an unfinished retry replaces nothing. */
export async function isReplaced(
  logs: Pick<LogStore, "find">,
  chatId: string,
  message: StoredMessage,
): Promise<boolean> {
  const { id, role } = message;
  if (role !== "assistant" && role !== "tool") return false;
  const answer = retryAnswerId(message);
  if (answer !== undefined && !isStanding(await logs.find(chatId, answer))) return true;
  return (await markOf(logs, chatId, { kind: "replacement", target: id })).isThere;
}

/** Whether a retry has this answer: one that came after its period had ended replaced nothing. */
function isStanding(answer: StoredRecord | undefined): boolean {
  return answer !== undefined && answer["hidden"] !== true;
}

/** The ids of messages that are not shown as they are stored. */
export interface Marks {
  readonly replaced: ReadonlySet<string>;
  readonly takenBack: ReadonlySet<string>;
}

/**
 * The ids that the replacements and removals in a log name; replaced is also what an
 * unfinished retry left. Bounded by their number.
 */
export async function marksIn(records: Records): Promise<Marks> {
  const takenBack = new Set<string>();
  const replaced = new Set<string>();
  const retried = new Map<string, string[]>();
  const standing = new Set<string>();
  for await (const record of records) {
    const answer = isMessage(record) ? retryAnswerId(record) : undefined;
    if (answer !== undefined) {
      if (!retried.has(answer)) retried.set(answer, []);
      retried.get(answer)?.push(record.id);
    }
    if (retried.has(record.id) && isStanding(record)) standing.add(record.id);
    const replacement = replacementIn(record);
    if (replacement?.isReplaced) replaced.add(replacement.target);
    else if (replacement !== undefined) replaced.delete(replacement.target);
    const target = hiddenBy(record);
    if (target !== undefined) takenBack.add(target);
  }
  for (const [answer, steps] of retried) {
    if (!standing.has(answer)) for (const id of steps) replaced.add(id);
  }
  return { replaced, takenBack };
}

/** The same records, with what was replaced hidden, and without the messages that were taken back. */
export async function* withMarks(
  records: Records,
  { replaced, takenBack }: Marks,
): AsyncGenerator<StoredRecord> {
  for await (const record of records) {
    if (!isMessage(record)) yield record;
    else if (!takenBack.has(record.id)) {
      yield replaced.has(record.id) ? { ...record, hidden: true } : record;
    }
  }
}

/**
 * Whether one of these messages was erased in its chat. What a chat never held, or forgot as a whole, was
 * not; and what the application took back no person wanted gone.
 */
export async function holdsRemoved(
  logs: Pick<LogStore, "find">,
  chatId: string | null,
  messageIds: Iterable<string>,
): Promise<boolean> {
  if (chatId === null) return false;
  for (const id of messageIds) {
    const record = await logs.find(chatId, id);
    if (record !== undefined && isErased(record)) return true;
  }
  return false;
}

/** What a user message says beside its words, given or stored. */
export function besideWords(message: object) {
  const { name, synthetic, extra, exact, attachments } = message as Record<string, unknown>;
  const files = attachmentsOf({ attachments }).map((file) => ({ ...file }));
  return {
    name: typeof name === "string" ? name : undefined,
    synthetic: typeof synthetic === "string" ? synthetic : undefined,
    extra: isJsonObject(extra) ? extra : undefined,
    exact: isJsonObject(exact) ? exact : undefined,
    attachments: files.length === 0 ? undefined : files,
  };
}

/**
 * Ends the wait of messages for their turns, as part of a larger change: each becomes a message like any
 * other, since it was said, and is never answered. Those that do not wait are passed over.
 */
export async function endWaits(
  logs: LogStore,
  transaction: Transaction,
  ids: readonly string[],
): Promise<void> {
  const { pending = [] } = transaction.head;
  const ended = pending.filter((id) => ids.includes(id));
  if (ended.length === 0) return;
  for (const id of ended) {
    const waited = await waitingInput(logs, transaction.chatId, id);
    if (typeof waited?.["content"] !== "string") continue; // erased: nothing is left to be shown
    const { content, timestamp } = waited;
    const said = { id, role: "user", content, timestamp, turn: id, dismissed: true };
    transaction.message({ ...said, ...besideWords(waited) });
  }
  const rest = pending.filter((id) => !ended.includes(id));
  transaction.set({ pending: rest.length === 0 ? undefined : rest });
}
