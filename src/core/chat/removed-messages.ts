import { isErased } from "../storage/batch.ts";
import type { LogStore } from "../storage/log-store.ts";
import { markOf } from "./shown-messages.ts";

/**
 * Whether one of these messages was hidden or erased in its chat. What a chat never held, or forgot as a
 * whole, was not.
 */
export async function holdsRemoved(
  logs: Pick<LogStore, "find">,
  chatId: string | null,
  messageIds: Iterable<string>,
): Promise<boolean> {
  if (chatId === null) return false;
  for (const id of messageIds) {
    const record = await logs.find(chatId, id);
    if (record === undefined) continue;
    if (isErased(record)) return true;
    if ((await markOf(logs, chatId, { kind: "redaction", target: id })).isThere) return true;
  }
  return false;
}
