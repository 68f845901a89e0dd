import type { LogHead, StoredRecord } from "../log-store.ts";
import type { LogFile } from "./log-file.ts";
import type { IndexedBatch } from "./log-index.ts";

/**
 * A batch right after it was written, for the index, which may get to it long after somebody waited: as
 * few objects as can be, because thousands of them may wait.
 */
export class WrittenBatch implements IndexedBatch {
  readonly key: string;
  readonly seq: number;
  readonly start: number;
  readonly end: number;
  readonly crc: string;
  readonly head: LogHead;
  readonly damaged: boolean;
  readonly ids: readonly string[];
  readonly #lines: string;

  /** @param log ends with this batch. */
  constructor(log: LogFile, start: number, ids: readonly string[], lines: string) {
    this.key = log.key;
    this.seq = log.seq;
    this.start = start;
    this.end = log.end;
    this.crc = log.crc;
    this.head = log.head;
    this.damaged = log.damaged;
    this.ids = ids;
    this.#lines = lines;
  }

  get records(): readonly StoredRecord[] {
    const lines = this.#lines.split("\n", this.ids.length);
    return lines.map((line) => JSON.parse(line) as StoredRecord);
  }
}
