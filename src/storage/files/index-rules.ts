// What every index of logs decides alike.
import type { LogProjection, StoredRecord } from "../log-store.ts";
import type { IndexedBatch } from "./log-index.ts";

/** A place is kept at least every so many bytes of a log: what `seek` promises. */
const placeEveryBytes = 64 * 1024;

/** Whether the newest place is too far from the end of this batch, which then gets its own. */
export function needsPlace(place: number | undefined, batch: IndexedBatch): boolean {
  return place === undefined || batch.end - place > placeEveryBytes;
}

/**
 * Whether an index that knows nothing of a log may begin with this batch. After a loss the writer of
 * a log can go on without knowing of it: a row that began in the middle would look complete.
 */
export function canBegin(batch: IndexedBatch, first: StoredRecord | undefined): boolean {
  return batch.damaged || (first?.seq ?? 1) === 1;
}

/** The labels of a head, each once, in the form that a database gives back. */
export function labelsOf(projection: LogProjection, batch: IndexedBatch): readonly string[] {
  const labels = projection.labels(batch.head).map((label) => label.toWellFormed());
  return [...new Set(labels)].sort();
}
