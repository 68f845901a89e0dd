import type { LogStore } from "../storage/log-store.ts";
import type { Draft } from "./draft.ts";
import { waitingInput } from "./shown-messages.ts";

/**
 * Ends the wait of messages for their turns, as part of a larger change: each becomes a message like any
 * other, since it was said, and is never answered. Those that do not wait are passed over.
 */
export async function endWaits(
  logs: LogStore,
  draft: Draft,
  ids: readonly string[],
): Promise<void> {
  const { pending = [] } = draft.head;
  const ended = pending.filter((id) => ids.includes(id));
  if (ended.length === 0) return;
  for (const id of ended) {
    const waited = await waitingInput(logs, draft.chatId, id);
    if (typeof waited?.["content"] !== "string") continue; // erased: nothing is left to be shown
    const { content, timestamp, synthetic } = waited;
    draft.message({
      ...{ id, role: "user", content, timestamp, turn: id, dismissed: true },
      ...(synthetic === undefined ? {} : { synthetic }),
    });
  }
  const rest = pending.filter((id) => !ended.includes(id));
  draft.set({ pending: rest.length === 0 ? undefined : rest });
}
