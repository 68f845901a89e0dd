import type { StoredRecord } from "../../storage/log-store.ts";
import type { ChatHead } from "./chat-head.ts";
import { isControl, isMessage, type StoredMessage } from "./message.ts";

/** What else has to go when a message is erased: what counts it, repeats its words, or sums them up. */
export async function withoutMessage(
  records: AsyncIterable<StoredRecord>,
  head: ChatHead,
  message: StoredMessage,
): Promise<{ readonly head: ChatHead; readonly summaries: readonly string[] }> {
  const { title_of, ...rest } = head;
  const summaries: string[] = [];
  let before = 0;
  for await (const record of records) {
    if (record.seq < message.seq && isMessage(record)) before++;
    if (isControl(record, "compaction") && Number(record["up_to_seq"]) >= message.seq) {
      summaries.push(record.id);
    }
  }
  // Each of these counts messages from the start of the file: those past this one move down.
  const less = (count: number) => (before < count ? count - 1 : count);
  const cleared = head.cleared_count;
  return {
    summaries,
    head: {
      ...(title_of === message.id ? { ...rest, title: "" } : head),
      message_count: less(head.message_count),
      last_consolidated: less(head.last_consolidated),
      ...(cleared === undefined ? {} : { cleared_count: less(cleared) }),
    },
  };
}
