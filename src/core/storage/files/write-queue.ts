import { firstSeqOf, type IndexedBatch } from "./log-index.ts";
import { partOf, wordParts } from "./sqlite-schema.ts";

/**
 * A queue that holds this much is written out: a bound on memory, and on what a search waits for. A burst
 * that fits costs the appends nothing.
 */
const limits = { batches: 32_768, bytes: 16 * 1024 * 1024 } as const;

/** So much of a log is written out at a time: some 20 ms. A batch that is longer is written alone. */
const sliceBytes = 128 * 1024;

interface Part {
  /** Each log's in order. */
  readonly batches: IndexedBatch[];
  bytes: number;
}

interface QueuedLog {
  /** The part of the full-text index that has its words. */
  readonly part: number;
  /** Oldest first; at least one. */
  readonly batches: IndexedBatch[];
  /** The newest batch with each id. */
  readonly ids: Map<string, IndexedBatch>;
}

/**
 * Batches that were added and are not in the file yet: adding costs microseconds. They wait by the
 * part of the full-text index that their log belongs to, because what costs is the number of parts
 * that a transaction writes to.
 */
export class WriteQueue {
  readonly #parts: readonly Part[] = Array.from({ length: wordParts }, () => ({
    batches: [],
    bytes: 0,
  }));
  #length = 0;
  #bytes = 0;
  readonly #logs = new Map<string, QueuedLog>();

  get length(): number {
    return this.#length;
  }

  /** Of log. */
  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#length >= limits.batches || this.#bytes >= limits.bytes;
  }

  push(batch: IndexedBatch): void {
    let log = this.#logs.get(batch.key);
    if (log === undefined) {
      log = { part: partOf(batch.key), batches: [], ids: new Map() };
      this.#logs.set(batch.key, log);
    }
    this.#part(log).batches.push(batch);
    this.#count(log, batch, 1);
    log.batches.push(batch);
    for (const id of batch.ids) log.ids.set(id, batch);
  }

  /** The newest queued batch of a log. */
  last(key: string): IndexedBatch | undefined {
    return this.#logs.get(key)?.batches.at(-1);
  }

  /** How many logs have queued batches. */
  get logs(): number {
    return this.#logs.size;
  }

  /** Every log that has queued batches: the oldest of them, and the newest. */
  *ends(): Generator<{ readonly first: IndexedBatch; readonly last: IndexedBatch }> {
    for (const { batches } of this.#logs.values()) {
      const [first, last] = [batches[0], batches.at(-1)];
      if (first !== undefined && last !== undefined) yield { first, last };
    }
  }

  /** Where a queued record is. An id that is not queued costs one look into a map. */
  find(key: string, id: string): { readonly seq: number; readonly start: number } | undefined {
    const batch = this.#logs.get(key)?.ids.get(id);
    if (batch === undefined) return undefined;
    return { seq: firstSeqOf(batch) + batch.ids.lastIndexOf(id), start: batch.start };
  }

  /** The start of the newest queued batch that begins at this record or before it. */
  seek(key: string, seq: number): number | undefined {
    const batches = this.#logs.get(key)?.batches;
    return batches?.findLast((batch) => firstSeqOf(batch) <= seq)?.start;
  }

  /** Everything, each log's batches in order. They stay until `shift`. */
  all(): readonly IndexedBatch[] {
    return this.#parts.flatMap(({ batches }) => batches);
  }

  /**
   * The oldest batches of a part in which `count` of them wait, or as much text as is written at a time: at
   * most so many, and so much. They stay until `shift`.
   */
  some(count: number): readonly IndexedBatch[] {
    const part = this.#parts.find(
      ({ batches, bytes }) => batches.length >= count || bytes >= sliceBytes,
    );
    const some: IndexedBatch[] = [];
    let bytes = 0;
    for (const batch of part?.batches.slice(0, count) ?? []) {
      bytes += batch.end - batch.start;
      if (some.length > 0 && bytes > sliceBytes) break;
      some.push(batch);
    }
    return some;
  }

  /** Takes away what `all` or `some` just gave. */
  shift(batches: readonly IndexedBatch[]): void {
    for (const batch of batches) {
      const log = this.#logs.get(batch.key);
      if (log === undefined) continue;
      this.#part(log).batches.shift();
      this.#count(log, batch, -1);
      log.batches.shift();
      if (log.batches.length === 0) this.#logs.delete(batch.key);
      else forgetIds(log, batch);
    }
  }

  /** Takes away every batch of a log. */
  remove(key: string): void {
    const log = this.#logs.get(key);
    if (log === undefined) return;
    this.#logs.delete(key);
    const { batches } = this.#part(log);
    const others = batches.filter((batch) => batch.key !== key);
    batches.length = 0;
    for (const batch of others) batches.push(batch); // not spread: there may be very many
    for (const batch of log.batches) this.#count(log, batch, -1);
  }

  clear(): void {
    for (const part of this.#parts) {
      part.batches.length = 0;
      part.bytes = 0;
    }
    this.#length = 0;
    this.#bytes = 0;
    this.#logs.clear();
  }

  #part({ part }: QueuedLog): Part {
    const found = this.#parts[part];
    if (found === undefined) throw new RangeError("there is no such part");
    return found;
  }

  #count(log: QueuedLog, { start, end }: IndexedBatch, sign: 1 | -1): void {
    const bytes = sign * (end - start);
    this.#length += sign;
    this.#bytes += bytes;
    this.#part(log).bytes += bytes;
  }
}

/** An id that a later batch has again is that one's. */
function forgetIds({ ids }: QueuedLog, batch: IndexedBatch): void {
  for (const id of batch.ids) if (ids.get(id) === batch) ids.delete(id);
}
