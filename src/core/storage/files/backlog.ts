import { firstSeqOf, type IndexRow } from "./log-index.ts";

/** What waits of one log. */
export interface WaitingLog {
  /** The log was removed, and its row in the file does not count: so many removals wait. */
  removals: number;
  /** Oldest first, since the last removal. */
  readonly batches: IndexRow[];
  /** The newest batch with each id. */
  readonly ids: Map<string, IndexRow>;
}

/** What was added to the index of one collection and is not in the file yet, for those who read. */
export class Backlog {
  readonly #logs = new Map<string, WaitingLog>();

  /** How many logs something waits of. */
  get size(): number {
    return this.#logs.size;
  }

  get(key: string): WaitingLog | undefined {
    return this.#logs.get(key);
  }

  /** The newest batch that waits of a log. */
  last(key: string): IndexRow | undefined {
    return this.#logs.get(key)?.batches.at(-1);
  }

  /** Whether the row of this log in the file does not count. */
  isRemoved(key: string): boolean {
    return (this.#logs.get(key)?.removals ?? 0) > 0;
  }

  [Symbol.iterator](): MapIterator<[string, WaitingLog]> {
    return this.#logs[Symbol.iterator]();
  }

  add(row: IndexRow): void {
    const log = this.#logOf(row.key);
    log.batches.push(row);
    for (const { id } of row.records) log.ids.set(id, row);
  }

  remove(key: string): void {
    const log = this.#logOf(key);
    log.removals++;
    log.batches.length = 0;
    log.ids.clear();
  }

  /** This batch is in the file now. */
  wrote(row: IndexRow): void {
    const log = this.#logs.get(row.key);
    if (log?.batches[0] !== row) return; // its log was removed since
    log.batches.shift();
    for (const { id } of row.records) if (log.ids.get(id) === row) log.ids.delete(id);
    this.#forget(row.key, log);
  }

  /** A removal is in the file now. */
  wroteRemoval(key: string): void {
    const log = this.#logs.get(key);
    if (log === undefined) return;
    log.removals--;
    this.#forget(key, log);
  }

  clear(): void {
    this.#logs.clear();
  }

  /** Where a record is that waits. */
  find(key: string, id: string): { readonly seq: number; readonly start: number } | undefined {
    const row = this.#logs.get(key)?.ids.get(id);
    if (row === undefined) return undefined;
    const record = row.records.findLast((each) => each.id === id);
    return record === undefined ? undefined : { seq: record.seq, start: row.start };
  }

  /** The start of the newest batch that waits and begins at this record or before it. */
  seek(key: string, seq: number): number | undefined {
    const batches = this.#logs.get(key)?.batches;
    return batches?.findLast((row) => firstSeqOf(row) <= seq)?.start;
  }

  #logOf(key: string): WaitingLog {
    const known = this.#logs.get(key);
    if (known !== undefined) return known;
    const log: WaitingLog = { removals: 0, batches: [], ids: new Map() };
    this.#logs.set(key, log);
    return log;
  }

  #forget(key: string, { removals, batches }: WaitingLog): void {
    if (removals === 0 && batches.length === 0) this.#logs.delete(key);
  }
}
