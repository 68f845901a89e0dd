// Messages that were accepted and wait for their turn.
import type { LogStore } from "../storage/log-store.ts";
import { attachmentsOf } from "./attachments.ts";
import { type ControlRecord, isControl, type StoredMessage } from "./message.ts";
import { controlId } from "./record-ids.ts";
import type { Transaction } from "./transaction.ts";

/** The id of the record that keeps an accepted message until its turn starts. */
export const pendingId = (messageId: string) => controlId("pending_input", messageId);

/** The record that keeps an accepted message until its turn starts, unless it was erased. */
export async function waitingInput(
  logs: Pick<LogStore, "find">,
  chatId: string,
  messageId: string,
): Promise<ControlRecord | undefined> {
  const record = await logs.find(chatId, pendingId(messageId));
  return record !== undefined && isControl(record, "pending_input") ? record : undefined;
}

/** What a user message says beside its words, given or stored. */
export function besideWords(message: object) {
  const { name, synthetic, extra, exact, attachments } = message as Partial<StoredMessage>;
  const files = attachmentsOf({ attachments }).map((file) => ({ ...file }));
  return { name, synthetic, extra, exact, attachments: files.length === 0 ? undefined : files };
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
