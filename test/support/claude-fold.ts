// Stands in for `foldSessionSummary` of the Claude Agent SDK, which is not installed here.
import type {
  SessionKey,
  SessionStoreEntry,
  SessionSummaryEntry,
} from "../../src/adapters/claude-agent-sdk/session-store.ts";

/** Counts the entries, and keeps the type of the first and of the last one. */
export function foldSessionSummary(
  previous: SessionSummaryEntry | undefined,
  { sessionId }: SessionKey,
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
): SessionSummaryEntry {
  const { count = 0, first = entries[0]?.type } = previous?.data ?? {};
  const data = { count: Number(count) + entries.length, first, last: entries.at(-1)?.type };
  return { sessionId, mtime: options?.mtime ?? 0, data };
}
