import type { LogProjection } from "./log-store.ts";
import type { Storage } from "./storage.ts";

/** A collection of logs in which another framework keeps its conversations, each under an id of its own. */
export interface FrameworkLogs {
  readonly collection: string;
  readonly projection: LogProjection;
}

/** Their heads say when a log was last written (`updated_at`) and what a list finds it by (`labels`). */
const projection: LogProjection = {
  sortedAt: ({ updated_at: at }) => (typeof at === "string" ? at : ""),
  labels: ({ labels }) => (Array.isArray(labels) ? labels.map(String) : []),
  text: () => undefined,
  hides: () => undefined,
};

export const langGraphLogs: FrameworkLogs = { collection: "langgraph", projection };
export const claudeLogs: FrameworkLogs = { collection: "claude", projection };

/**
 * The collections of all adapters. They stand here so that forgetting, `doctor` and moving also reach what an
 * adapter wrote that this process has not loaded.
 */
export const frameworkLogs: readonly FrameworkLogs[] = [langGraphLogs, claudeLogs];

/**
 * Removes what other frameworks keep under the id of a chat. It is gone when this resolves; repeat it if it
 * rejects.
 *
 * @returns how many records were removed from each collection that had any.
 */
export async function removeFrameworkLogs(
  storage: Pick<Storage, "logs">,
  chatId: string,
): Promise<readonly { readonly place: string; readonly count: number }[]> {
  const removed: { place: string; count: number }[] = [];
  for (const { collection, projection: listed } of frameworkLogs) {
    const logs = storage.logs(collection, listed);
    // Most homes have none of them, and deleting in a home costs a sync of its journal.
    if ((await logs.list({ limit: 1 })).rows.length === 0) continue;
    const count = (await logs.tail(chatId, 0).catch(() => undefined))?.seq ?? 1;
    if (await logs.delete(chatId)) removed.push({ place: collection, count });
  }
  return removed;
}
