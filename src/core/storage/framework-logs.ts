import { type LogProjection, type LogStore, projectionModule, rows } from "./log-store.ts";
import type { Storage } from "./storage.ts";

/** A collection of logs in which another framework keeps its conversations, each under an id of its own. */
export interface FrameworkLogs {
  readonly collection: string;
  readonly projection: LogProjection;
}

/**
 * Their heads say when a log was last written (`updated_at`) and what a list finds it by (`labels`, of which
 * one may be an `ownerLabel`).
 */
export const frameworkProjection: LogProjection = {
  module: projectionModule("frameworkProjection"),
  sortedAt: ({ updated_at: at }) => (typeof at === "string" ? at : ""),
  labels: ({ labels }) => (Array.isArray(labels) ? labels.map(String) : []),
  text: () => undefined,
  hides: () => undefined,
};

export const langGraphLogs: FrameworkLogs = {
  collection: "langgraph",
  projection: frameworkProjection,
};
export const claudeLogs: FrameworkLogs = {
  collection: "claude",
  projection: frameworkProjection,
};

/**
 * The collections of all adapters. They stand here so that forgetting, `doctor` and moving also reach what an
 * adapter wrote that this process has not loaded.
 */
export const frameworkLogs: readonly FrameworkLogs[] = [langGraphLogs, claudeLogs];

/** In `labels` of a head: the log belongs to this chat or session, although its key is another one. */
export function ownerLabel(chatId: string): string {
  return `chat:${chatId}`;
}

/** A log of a framework, by its place. */
interface FrameworkLog {
  readonly collection: string;
  readonly logs: LogStore;
  readonly key: string;
}

/**
 * What frameworks keep of a chat, a thread or a session: the logs with its id as their key, and those with its
 * `ownerLabel`. In bounded memory; a log that was yielded may be deleted at once.
 */
async function* frameworkLogsOf(
  storage: Pick<Storage, "logs">,
  chatId: string,
): AsyncGenerator<FrameworkLog> {
  for (const { collection, projection: listed } of frameworkLogs) {
    const logs = storage.logs(collection, listed);
    // Most homes have none of them, and deleting in a home costs a sync of its journal.
    if ((await logs.list({ limit: 1 })).rows.length === 0) continue;
    // One that cannot be read is there too.
    const tail = await logs.tail(chatId, 0).catch((error: unknown) => error);
    if (tail !== undefined) yield { collection, logs, key: chatId };
    for await (const { key } of rows(logs, { label: ownerLabel(chatId) })) {
      if (key !== chatId) yield { collection, logs, key };
    }
  }
}

/**
 * Removes what other frameworks keep of a chat: see `frameworkLogsOf`. It is gone when this resolves; repeat it
 * if it rejects.
 *
 * @returns how many records were removed from each collection that had any.
 */
export async function removeFrameworkLogs(
  storage: Pick<Storage, "logs">,
  chatId: string,
): Promise<readonly { readonly place: string; readonly count: number }[]> {
  const removed = new Map<string, number>();
  for await (const { collection, logs, key } of frameworkLogsOf(storage, chatId)) {
    const count = (await logs.tail(key, 0).catch(() => undefined))?.seq ?? 1;
    if (await logs.delete(key)) removed.set(collection, (removed.get(collection) ?? 0) + count);
  }
  return [...removed].map(([place, count]) => ({ place, count }));
}

/** Names what other frameworks keep of a chat: it may hold any message, and goes only as a whole. */
export async function namedFrameworkLogs(storage: Pick<Storage, "logs">, chatId: string) {
  const says = "may hold it; forget the chat, or delete it there";
  const found = await Array.fromAsync(frameworkLogsOf(storage, chatId));
  return found.map(({ collection, key }) => {
    return { unreachable: `${collection}: ${JSON.stringify(key)} ${says}` };
  });
}
