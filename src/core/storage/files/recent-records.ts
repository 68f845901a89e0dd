import { freezeDeep } from "../../json.ts";
import type { StoredRecord } from "../log-store.ts";

/**
 * Most JSON of the records of one log, and of all logs together, that is kept decoded. One log: as much as a model of
 * an unknown window gets.
 */
export const recentBytes = { log: 896 * 1024, all: 32 * 1024 * 1024 } as const;

/** The records that one append stored. */
export interface RecentBatch {
  /** Where it begins in the file of its log. */
  readonly start: number;
  /** Number of the last record, with it. */
  readonly seq: number;
  /** Of its records as JSON. */
  readonly bytes: number;
  readonly records: readonly StoredRecord[];
}

/** Number of the first record of a batch; of the next one, where it has none. */
export function firstOf({ seq, records }: RecentBatch): number {
  return seq - records.length + 1;
}

/** The newest batches of an open log, the oldest first, without a gap between them and its end. */
interface Recent {
  readonly batches: RecentBatch[];
  bytes: number;
}

/**
 * The newest records of the logs that were read last: in memory, so that the next turn of a chat reads
 * nothing from the disk. They are frozen, since readers share them.
 */
export class RecentRecords {
  /** By the open file of a log. The least recently used first. */
  readonly #logs = new Map<object, Recent>();
  #bytes = 0;

  /** The batches of a log. Counts as use. */
  of(log: object): readonly RecentBatch[] {
    const recent = this.#logs.get(log) ?? { batches: [], bytes: 0 };
    this.#logs.delete(log);
    this.#logs.set(log, recent);
    return recent.batches;
  }

  /** Adds the batch right before the first one, if there is room. @returns whether it did. */
  prepend(log: object, batch: RecentBatch): boolean {
    const recent = this.#logs.get(log);
    if (recent === undefined || recent.bytes + batch.bytes > recentBytes.log) return false;
    recent.batches.unshift(freezeDeep(batch));
    this.#grow(recent, batch.bytes);
    return true;
  }

  /** Adds a batch that was stored, if the log is read at all. @param lines its records as JSON. */
  append(log: object, start: number, lines: string): void {
    const recent = this.#logs.get(log);
    if (recent === undefined) return;
    const records = lines
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as StoredRecord);
    const seq = records.at(-1)?.seq ?? 0;
    recent.batches.push(freezeDeep({ start, seq, bytes: lines.length, records }));
    let grown = lines.length;
    while (recent.bytes + grown > recentBytes.log) grown -= recent.batches.shift()?.bytes ?? grown;
    this.#grow(recent, grown);
  }

  drop(log: object): void {
    this.#bytes -= this.#logs.get(log)?.bytes ?? 0;
    this.#logs.delete(log);
  }

  #grow(recent: Recent, bytes: number): void {
    recent.bytes += bytes;
    this.#bytes += bytes;
    for (const log of this.#logs.keys()) {
      if (this.#bytes <= recentBytes.all) return;
      this.drop(log);
    }
  }
}
