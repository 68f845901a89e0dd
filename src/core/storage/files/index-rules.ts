// What every index of logs decides alike.
import type { ListPlace } from "../batch.ts";
import type { LogHead, LogProjection, LogRecord } from "../log-store.ts";
import { firstSeqOf, type IndexedContent, type IndexRow } from "./log-index.ts";

/** A place is kept at least every so many bytes of a log: what `seek` promises. */
const placeEveryBytes = 64 * 1024;

/** Whether the newest place is too far from the end of this batch, which then gets its own. */
export function needsPlace(place: number | undefined, { end }: { readonly end: number }): boolean {
  return place === undefined || end - place > placeEveryBytes;
}

/**
 * Whether an index that knows nothing of a log may begin with this batch. After a loss the writer of
 * a log can go on without knowing of it: a row that began in the middle would look complete.
 */
export function canBegin(batch: Pick<IndexRow, "damaged" | "records" | "seq">): boolean {
  return batch.damaged || batch.records.length === 0 || firstSeqOf(batch) === 1;
}

/** The order of lists: newest first; equal instants by key. By bytes of UTF-8, as SQLite has it. */
export function comparePlaces(a: ListPlace, b: ListPlace): number {
  return compareBytes(b.sortedAt, a.sortedAt) || compareBytes(a.key, b.key);
}

function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Halves of pairs stand for characters past all that are one unit, some of which have greater units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** What an index keeps of a record, but for its number. */
export function contentOf(projection: LogProjection, record: LogRecord): IndexedContent {
  return { id: record.id, text: projection.text(record), hides: projection.hides(record) };
}

/** The labels of a head, each once, in the form that a database gives back. */
export function labelsOf(projection: LogProjection, head: LogHead): readonly string[] {
  const labels = projection.labels(head).map((label) => label.toWellFormed());
  return [...new Set(labels)].sort();
}
