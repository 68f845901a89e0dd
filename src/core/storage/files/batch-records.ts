// Records by their numbers or places, read in whole batches and each batch once.
import type { StoredRecord } from "../log-store.ts";
import { recordsOf } from "./batch-reader.ts";
import type { LogFile } from "./log-file.ts";

/** So many records are read from the end of a log: the index may not know yet where they begin. */
const newest = 100;

/** Those of these records that the log holds, newest first. Reads what they share once. @param seek finds their batches. */
export async function foundIn(
  log: LogFile,
  seqs: readonly number[],
  seek: (seq: number) => number,
): Promise<StoredRecord[]> {
  if (seqs.length === 0) return [];
  // Held from the moment that the places in it are looked up: erasing makes a new file.
  log.hold();
  try {
    const first = Math.min(...seqs);
    if (first > log.seq - newest) {
      const tail = await log.newest(log.seq - first + 1);
      return tail.filter(({ seq }) => seqs.includes(seq)).reverse();
    }
    const records: StoredRecord[] = [];
    for (const [start, sharing] of Map.groupBy(seqs, seek)) {
      records.push(...(await recordsFrom(log, start, new Set(sharing))));
    }
    return records.sort((a, b) => b.seq - a.seq);
  } finally {
    await log.release();
  }
}

/** These records of a log, none of them before `start`, which is a batch start. */
async function recordsFrom(
  log: LogFile,
  start: number,
  seqs: ReadonlySet<number>,
): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  const last = Math.max(...seqs);
  for await (const batch of log.batches(start)) {
    const { seq, count } = batch.commit;
    const holdsOne = [...seqs].some((each) => each > seq - count && each <= seq);
    if (holdsOne) records.push(...recordsOf(batch).filter((record) => seqs.has(record.seq)));
    if (seq >= last) break;
  }
  return records;
}
