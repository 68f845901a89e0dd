// Records by their numbers or places, read in whole batches and each batch once.
import type { StoredRecord } from "../log-store.ts";
import { recordsOf } from "./batch-reader.ts";
import type { LogFile } from "./log-file.ts";

/** These records of a log, none of them before `start`, which is a batch start. */
export async function recordsFrom(
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

/** Reads records by their places, and a batch once, however many of its records are asked for. */
export class ReadBatches {
  #start = -1;
  #records = new Map<number, StoredRecord>();

  async record(
    log: LogFile,
    place: { readonly seq: number; readonly start: number },
  ): Promise<StoredRecord | undefined> {
    if (place.start !== this.#start) {
      this.#start = place.start;
      this.#records = new Map();
      for await (const batch of log.batches(place.start)) {
        for (const record of recordsOf(batch)) this.#records.set(record.seq, record);
        break;
      }
    }
    return this.#records.get(place.seq);
  }
}
