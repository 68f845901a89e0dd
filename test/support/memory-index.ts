import { type ListPlace, listCursor, parseCursor } from "../../src/core/storage/batch.ts";
import { batchAt, recordsOf } from "../../src/core/storage/files/batch-reader.ts";
import { comparePlaces } from "../../src/core/storage/files/collection-index.ts";
import { headOf } from "../../src/core/storage/files/commit.ts";
import { labelsOf } from "../../src/core/storage/files/index-writer.ts";
import type {
  HomeIndex,
  IndexCoverage,
  IndexEntry,
  IndexedBatch,
  IndexHit,
  LogIndex,
  LogState,
  OpenLogIndex,
} from "../../src/core/storage/files/log-index.ts";
import type {
  ListOptions,
  ListPage,
  LogHead,
  LogProjection,
  LogRow,
  SearchOptions,
} from "../../src/core/storage/log-store.ts";
import {
  endsOpen,
  holdsEvery,
  queryPhrases,
  searchTokens,
} from "../../src/core/storage/search-words.ts";

interface IndexedLog {
  last: LogState;
  damaged: boolean;
  sortedAt: string;
  labels: readonly string[];
  /** Numbers of records, newest first. */
  readonly ids: Map<string, readonly number[]>;
  /** In the order of the log. */
  readonly places: { readonly seq: number; readonly start: number }[];
  /** The text of each record that search finds, in the order of the log. */
  readonly texts: Map<number, string>;
}

/**
 * An index in maps, for a disk that is simulated: the same answers as `index.db`, by scanning. It is
 * empty at every start.
 */
export function openMemoryIndex(): OpenLogIndex {
  return (_, projection) => new MemoryLogIndex(projection);
}

/** The index of a home that knows nothing at the start. */
export function homeIndex(): HomeIndex {
  return {
    clean: false,
    nth: 0,
    mark: 0,
    behind: { bytes: 0 },
    coverageOf: () => "unknown",
    began: () => undefined,
    published: () => undefined,
    sync: () => Promise.resolve(),
    skip: () => Promise.resolve(),
    makeRoom: () => Promise.resolve(false),
  };
}

class MemoryLogIndex implements LogIndex {
  readonly #projection: LogProjection;
  readonly #logs = new Map<string, IndexedLog>();

  constructor(projection: LogProjection) {
    this.#projection = projection;
  }

  entry(key: string): IndexEntry | undefined {
    const last = this.#logs.get(key)?.last;
    return last === undefined ? undefined : { seq: last.seq, end: last.end, crc: last.crc };
  }

  written(key: string): IndexEntry | undefined {
    return this.entry(key);
  }

  /** Where the logs are not compared, that they are there; else they are read. */
  recovered(log: LogState): void {
    if (this.coverage !== "unknown") this.#logs.set(log.key, newLog(log));
  }

  lacks(): undefined {
    // It has all that it was given.
  }

  remember(): void {
    // See `lacks`.
  }

  stored(log: LogState, _: readonly string[], start: number, bytes: Buffer): void {
    const batch = batchAt(bytes, start);
    const isNext = start === (this.#logs.get(log.key)?.last.end ?? 0);
    if (batch !== undefined && isNext) this.#take(log.key, batch);
  }

  async add(log: LogState, batches: readonly IndexedBatch[]): Promise<boolean> {
    for (const batch of batches) this.#take(log.key, batch);
    if (!log.damaged) return true;
    const { key, seq, end, crc, headJson, damaged } = log;
    if (end === 0) this.#logs.set(key, newLog({ key, seq, end, crc, headJson, damaged }));
    this.markDamaged(key);
    return true;
  }

  readonly refused: ReadonlySet<string> = new Set();

  #take(key: string, batch: IndexedBatch): void {
    const { seq, crc, count } = batch.commit;
    const known = this.#logs.get(key);
    if (batch.start < (known?.last.end ?? 0)) return;
    const { headJson, damaged } = headOf(batch.line);
    const last = { key, seq, end: batch.end, crc, headJson, damaged };
    const log = known ?? newLog(last);
    this.#logs.set(key, log);
    for (const record of recordsOf(batch)) {
      const { id, seq: number } = record;
      const hides = this.#projection.hides(record);
      const [hidden] = hides === undefined ? [] : (log.ids.get(hides) ?? []);
      log.ids.set(id, [number, ...(log.ids.get(id) ?? [])]);
      const text = this.#projection.text(record);
      if (text !== undefined) log.texts.set(number, text);
      if (hidden !== undefined && hidden < number) log.texts.delete(hidden);
    }
    const place = log.places.at(-1)?.start;
    const isFar = place === undefined || batch.end - place > 64 * 1024;
    if (count > 0 && isFar) log.places.push({ seq: seq - count + 1, start: batch.start });
    log.last = last;
    log.damaged ||= damaged;
    const head = JSON.parse(headJson) as LogHead;
    log.sortedAt = this.#projection.sortedAt(head).toWellFormed();
    log.labels = labelsOf(this.#projection, head);
  }

  isDamaged(key: string): boolean {
    return this.#logs.get(key)?.damaged ?? false;
  }

  markDamaged(key: string): void {
    const log = this.#logs.get(key);
    if (log !== undefined) log.damaged = true;
  }

  find(key: string, id: string): readonly number[] {
    return this.#logs.get(key)?.ids.get(id) ?? [];
  }

  seek(key: string, seq: number): number {
    return this.#logs.get(key)?.places.findLast((place) => place.seq <= seq)?.start ?? 0;
  }

  list({ limit, cursor, label }: ListOptions): ListPage {
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const found = this.#newestFirst()
      .filter(({ log }) => label === undefined || log.labels.includes(label.toWellFormed()))
      .filter((row) => after === undefined || comparePlaces(row, after) > 0);
    const rows = found.slice(0, limit);
    const last = found.length > limit ? rows.at(-1) : undefined;
    const page = { rows: rows.map(rowOf) };
    return last === undefined ? page : { ...page, cursor: listCursor(last) };
  }

  async search(query: string, { limit, key, prefix }: SearchOptions): Promise<IndexHit[]> {
    const phrases = queryPhrases(query);
    if (phrases.length === 0) return [];
    const isOpen = endsOpen(query, prefix);
    const hits: IndexHit[] = [];
    for (const row of this.#newestFirst()) {
      if (key !== undefined && row.key !== key) continue;
      for (const [seq, text] of [...row.log.texts].reverse()) {
        if (hits.length === limit) break;
        if (holdsEvery(searchTokens(text), phrases, isOpen)) hits.push({ key: row.key, seq });
      }
    }
    return hits;
  }

  keys(): Iterable<string> {
    return [...this.#logs.keys()];
  }

  remove(key: string): void {
    this.#logs.delete(key);
  }

  async erase(): Promise<void> {
    // Nothing was written anywhere.
  }

  async makeRoom(): Promise<boolean> {
    return false;
  }

  async caughtUp(): Promise<void> {
    // Nothing waits.
  }

  readonly isFar = false;

  room(): undefined {
    // Nothing waits.
  }

  async noteCovered(): Promise<void> {
    // Nobody finds it.
  }

  noteCompared(): void {
    // Nobody finds it.
  }

  readonly coverage: IndexCoverage = "unknown";

  /** Every log, in the order of lists. */
  #newestFirst(): (ListPlace & { readonly log: IndexedLog })[] {
    return [...this.#logs]
      .map(([key, log]) => ({ key, log, sortedAt: log.sortedAt }))
      .sort(comparePlaces);
  }
}

function newLog(last: LogState): IndexedLog {
  const empty = { ids: new Map(), places: [], texts: new Map() };
  return { last, damaged: false, sortedAt: "", labels: [], ...empty };
}

function rowOf({ key, log }: { readonly key: string; readonly log: IndexedLog }): LogRow {
  return {
    key,
    seq: log.last.seq,
    head: JSON.parse(log.last.headJson) as LogHead,
    damaged: log.damaged,
  };
}
