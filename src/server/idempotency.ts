import { createHash } from "node:crypto";
import { invalid, ThroughlineError } from "../errors.ts";
import type { Chats } from "../memories/chat/chats.ts";
import { answerId } from "../runtime/turn-records.ts";

/**
 * The id of the message that a key stands for, so that the log itself remembers the key: the same
 * key is the same message, also after a restart.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: not 1 to 255 printable ASCII characters.
 */
export function messageIdFor(key: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw invalid("Idempotency-Key must be 1 to 255 printable ASCII characters");
  }
  return `i_${createHash("sha256").update(key).digest("hex").slice(0, 32)}`;
}

/** The same for a retry: shorter, because it becomes part of an id. */
export function retryIdFor(key: string): string {
  return messageIdFor(key).replace("i_", "r_");
}

/**
 * Answering a repeated key repeats what was said: not what was hidden since.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the message or its answer was redacted, or the chat
 *   was cleared since.
 */
export async function checkRepeatable(chats: Chats, chatId: string, id: string): Promise<void> {
  const { head } = await chats.log.state(chatId);
  for (const each of [id, answerId(id)]) {
    const said = await chats.find(chatId, each);
    if (said === undefined) continue;
    if (said.seq <= (head?.clear_seq ?? 0)) throw hidden("cleared");
    const shown = await chats.message(chatId, each);
    if (shown["redacted"] === true) throw hidden("redacted");
  }
}

function hidden(how: string): ThroughlineError {
  return new ThroughlineError(`this key is of a message that was ${how} since`, {
    code: "THROUGHLINE_CONFLICT",
  });
}
