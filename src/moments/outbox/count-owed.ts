import { isoTime } from "../../core/clock.ts";
import type { OwedError } from "./outcome.ts";
import type { OwedItem } from "./owed-list.ts";
import type { OutboxStatistics } from "./uploader-ports.ts";

/** @param lastError of the last attempt, if it failed; else that of something that is parked. */
export function countOwed(
  items: Iterable<OwedItem>,
  lastError: OwedError | null,
): OutboxStatistics {
  const counts = { pending: 0, parked: 0, bytes: 0 };
  let oldest = Number.POSITIVE_INFINITY;
  let errorOfParked: OwedError | null = null;
  for (const { kind, state, bytes, firstAt, error } of items) {
    if (kind === "sending" && state === "saving") continue; // it goes up just now, and is not owed
    if (state === "parked") errorOfParked = error;
    counts[state === "parked" ? "parked" : "pending"]++;
    counts.bytes += bytes;
    if (state !== "unread") oldest = Math.min(oldest, firstAt);
  }
  const oldest_at = Number.isFinite(oldest) ? isoTime(oldest * 1_000) : null;
  return { ...counts, oldest_at, last_error: lastError ?? errorOfParked };
}
