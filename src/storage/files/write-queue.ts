import type { StoredRecord } from "../log-store.ts";
import type { IndexedBatch } from "./log-index.ts";
import { partOf, wordParts } from "./sqlite-schema.ts";

/** A queue that holds this much is written out: a bound on memory, and on what a read waits for. */
const limits = { batches: 2_048, bytes: 8 * 1024 * 1024 } as const;

/** A batch in the queue. Its records are read once, when they are needed. */
export class QueuedBatch {
  readonly batch: IndexedBatch;
  #records: readonly StoredRecord[] | undefined;

  constructor(batch: IndexedBatch) {
    this.batch = batch;
  }

  get records(): readonly StoredRecord[] {
    this.#records ??= this.batch.records;
    return this.#records;
  }
}

interface QueuedLog {
  /** How many batches of this log are in the queue. */
  count: number;
  last: IndexedBatch;
  /** Batches whose ids are not in `ids` yet, oldest first. */
  unread: QueuedBatch[];
  readonly ids: Map<string, { readonly seq: number; readonly start: number }>;
}

/**
 * Batches that were added and are not in the file yet: adding costs microseconds. They wait by the
 * part of the full-text index that their log belongs to, because what costs is the number of parts
 * that a transaction writes to.
 */
export class WriteQueue {
  readonly #parts: QueuedBatch[][] = Array.from({ length: wordParts }, () => []);
  #length = 0;
  #bytes = 0;
  readonly #logs = new Map<string, QueuedLog>();

  get length(): number {
    return this.#length;
  }

  get isFull(): boolean {
    return this.#length >= limits.batches || this.#bytes >= limits.bytes;
  }

  push(batch: IndexedBatch): void {
    const queued = new QueuedBatch(batch);
    this.#parts[partOf(batch.key)]?.push(queued);
    this.#length++;
    this.#bytes += batch.end - batch.start;
    const log = this.#logs.get(batch.key);
    if (log === undefined) {
      this.#logs.set(batch.key, { count: 1, last: batch, unread: [queued], ids: new Map() });
      return;
    }
    log.count++;
    log.last = batch;
    log.unread.push(queued);
  }

  /** The newest queued batch of a log. */
  last(key: string): IndexedBatch | undefined {
    return this.#logs.get(key)?.last;
  }

  /** Where a queued record is. An id that is not queued costs one look into a map. */
  find(key: string, id: string): { readonly seq: number; readonly start: number } | undefined {
    const log = this.#logs.get(key);
    if (log === undefined) return undefined;
    for (const { batch, records } of log.unread) {
      for (const record of records) log.ids.set(record.id, { seq: record.seq, start: batch.start });
    }
    log.unread = [];
    return log.ids.get(id);
  }

  /** Everything, each log's batches in order. They stay until `shift`. */
  all(): readonly QueuedBatch[] {
    return this.#parts.flat();
  }

  /** The oldest `count` batches of a part in which so many wait. They stay until `shift`. */
  some(count: number): readonly QueuedBatch[] {
    const part = this.#parts.find((batches) => batches.length >= count);
    return part?.slice(0, count) ?? [];
  }

  /** Takes away what `all` or `some` just gave. */
  shift(batches: readonly QueuedBatch[]): void {
    for (const queued of batches) {
      const { batch } = queued;
      this.#parts[partOf(batch.key)]?.shift();
      this.#length--;
      this.#bytes -= batch.end - batch.start;
      const log = this.#logs.get(batch.key);
      if (log === undefined) continue;
      log.count--;
      if (log.count === 0) this.#logs.delete(batch.key);
      else if (log.unread[0] === queued) log.unread.shift();
      else for (const record of queued.records) forgetId(log, record);
    }
  }

  /** Takes away every batch of a log. */
  drop(key: string): void {
    if (!this.#logs.delete(key)) return;
    const part = partOf(key);
    const kept: QueuedBatch[] = [];
    for (const queued of this.#parts[part] ?? []) {
      if (queued.batch.key !== key) kept.push(queued);
      else {
        this.#length--;
        this.#bytes -= queued.batch.end - queued.batch.start;
      }
    }
    this.#parts[part] = kept;
  }

  clear(): void {
    for (const part of this.#parts) part.length = 0;
    this.#length = 0;
    this.#bytes = 0;
    this.#logs.clear();
  }
}

function forgetId(log: QueuedLog, { id, seq }: StoredRecord): void {
  if (log.ids.get(id)?.seq === seq) log.ids.delete(id);
}
