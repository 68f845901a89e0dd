// Records by their numbers or places, read in whole batches and each batch once.
import { ThroughlineError } from "../../errors.ts";
import { isErased, type PreparedRecord, sameRecord } from "../batch.ts";
import type { StoredRecord } from "../log-store.ts";
import { recordsOf } from "./batch-reader.ts";
import type { LogFile } from "./log-file.ts";

/** Those of these records that the log holds, newest first. Reads what they share once. @param seek finds their batches. */
export async function foundIn(
  log: LogFile,
  hits: readonly { readonly seq: number }[],
  seek: (seq: number) => number,
): Promise<StoredRecord[]> {
  // Held from the moment that the places in it are looked up: erasing makes a new file.
  const places = Map.groupBy(hits, ({ seq }) => seek(seq));
  log.hold();
  try {
    const records: StoredRecord[] = [];
    for (const [start, sharing] of places) {
      records.push(...(await recordsFrom(log, start, new Set(sharing.map(({ seq }) => seq)))));
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

/**
 * Whether the log still holds this record. One that damage took may be stored again under its id.
 *
 * @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: it holds another one with this id.
 */
export async function isStored(
  log: LogFile,
  record: PreparedRecord,
  known: { readonly seq: number; readonly start: number },
  batches: ReadBatches,
): Promise<boolean> {
  const stored = await batches.record(log, known);
  if (stored === undefined) return false;
  if (isErased(stored)) return true;
  const { seq: _, ...content } = stored;
  if (sameRecord(JSON.stringify(content), record.json)) return true;
  throw new ThroughlineError(`${log.key} has a record with this id and other content`, {
    code: "THROUGHLINE_ID_CONFLICT",
  });
}
