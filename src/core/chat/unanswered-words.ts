import type { LogStore } from "../storage/log-store.ts";
import { isMessage } from "./message.ts";
import type { Transaction } from "./transaction.ts";

/** At most so many records before the end of a chat are looked at. */
const unansweredRecords = 50;

/**
 * Where a period that begins by itself starts: before what the companion said on its own after the
 * last turn. The person's next message answers that, so the model must see it.
 *
 * @returns the number of the record before; `undefined`: the companion said nothing on its own.
 */
export async function seqBeforeUnanswered(
  logs: Pick<LogStore, "page">,
  { chatId, head }: Transaction,
): Promise<number | undefined> {
  const { session: period, clear_seq: clearSeq = 0, provider_start: starts = {} } = head;
  const from = Math.max(period?.start_seq ?? 0, clearSeq, ...Object.values(starts));
  const page = await logs.page(chatId, { limit: unansweredRecords, isShared: true });
  const unanswered: number[] = [];
  for (const record of page.toReversed()) {
    if (record.seq <= from) break;
    if (!isMessage(record)) continue;
    const { role, turn, seq } = record;
    if (role !== "assistant" || turn !== undefined) {
      // Without the name of a turn, as in an import, the first words after a message are its answer.
      if (turn === undefined) unanswered.pop();
      break;
    }
    unanswered.push(seq);
  }
  const first = unanswered.at(-1);
  return first === undefined ? undefined : first - 1;
}
