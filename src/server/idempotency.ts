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
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the message or its answer was redacted.
 */
export async function checkRepeatable(chats: Chats, chatId: string, id: string): Promise<void> {
  for (const each of [id, answerId(id)]) {
    if ((await chats.find(chatId, each)) === undefined) continue;
    const shown = await chats.message(chatId, each);
    if (shown["redacted"] !== true) continue;
    throw new ThroughlineError("this key is of a message that was redacted since", {
      code: "THROUGHLINE_CONFLICT",
    });
  }
}
