import type { ChatHead } from "./chat-head.ts";
import type { ChatPorts } from "./chat-log.ts";
import type { Draft } from "./draft.ts";
import { isControl, isMessage, type StoredMessage } from "./message.ts";

/** The id of the record that says that a message is erased, where several processes write. */
const erasureId = (messageId: string) => `erasure:${messageId}`;

/**
 * Takes a message that is to be erased out of a chat's head: what counts it, and what repeats its words.
 *
 * An erasure moves no end of a log. Where several processes write, a change that one of them decided
 * before it would be stored after it, with the head of before. A record that comes first stands in the
 * way of that; and, after a crash, of counting the message twice.
 *
 * @returns the ids of the summaries that have to go with it.
 */
export async function eraseFrom(
  draft: Draft,
  message: StoredMessage,
  { logs, fleet }: Pick<ChatPorts, "logs" | "fleet">,
): Promise<readonly string[]> {
  const { chatId, head } = draft;
  const id = erasureId(message.id);
  const isCounted = fleet !== undefined && (await logs.find(chatId, id)) !== undefined;
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
  if (fleet !== undefined && (isTitle || !isCounted)) {
    draft.control("erasure", { target: message.id }, isCounted ? draft.newId() : id);
  }
  return summaries;
}

/** Each of these counts messages from the start of the file: those past this one move down. */
function withoutOne(head: ChatHead, before: number): Partial<ChatHead> {
  const less = (count: number) => (before < count ? count - 1 : count);
  const { message_count, last_consolidated, cleared_count: cleared } = head;
  return {
    message_count: less(message_count),
    last_consolidated: less(last_consolidated),
    ...(cleared === undefined ? {} : { cleared_count: less(cleared) }),
  };
}
