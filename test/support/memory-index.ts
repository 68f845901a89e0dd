import { type ListPlace, listCursor, parseCursor } from "../../src/core/storage/batch.ts";
import {
  canBegin,
  comparePlaces,
  contentOf,
  labelsOf,
  needsPlace,
} from "../../src/core/storage/files/index-rules.ts";
import type {
  HomeIndex,
  IndexEntry,
  IndexedBatch,
  IndexedContent,
  IndexedRecord,
  IndexHit,
  LogIndex,
  OpenLogIndex,
} from "../../src/core/storage/files/log-index.ts";
import type {
  ListOptions,
  ListPage,
  LogHead,
  LogProjection,
  LogRecord,
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
  last: IndexedBatch;
  damaged: boolean;
  sortedAt: string;
  labels: readonly string[];
  readonly ids: Map<string, { readonly seq: number; readonly start: number }>;
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

/** The index of a home that opens its parts so, and knows nothing at the start. */
export function homeIndex(open: OpenLogIndex = openMemoryIndex()): HomeIndex {
  return {
    open,
    clean: false,
    mark: 0,
    behind: { batches: 0, bytes: 0 },
    coverageOf: () => "unknown",
    sync: () => Promise.resolve(),
    uncover: () => Promise.resolve(),
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

  add(batch: IndexedBatch): void {
    const known = this.#logs.get(batch.key);
    if (known === undefined && !canBegin(batch)) return;
    const log = known ?? newLog(batch);
    this.#logs.set(batch.key, log);
    const [first] = batch.records;
    for (const record of batch.records) addRecord(log, batch, record);
    if (first !== undefined && needsPlace(log.places.at(-1)?.start, batch)) {
      log.places.push({ seq: first.seq, start: batch.start });
    }
    log.last = batch;
    log.damaged = batch.damaged;
    const head = JSON.parse(batch.headJson) as LogHead;
    log.sortedAt = this.#projection.sortedAt(head).toWellFormed();
    log.labels = labelsOf(this.#projection, head);
  }

  isDamaged(key: string): boolean {
    return this.#logs.get(key)?.damaged ?? false;
  }

  markDamaged(key: string, damaged: boolean): void {
    const log = this.#logs.get(key);
    if (log !== undefined) log.damaged = damaged;
  }

  find(key: string, id: string): { readonly seq: number; readonly start: number } | undefined {
    return this.#logs.get(key)?.ids.get(id);
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

  search(query: string, { limit, key, prefix }: SearchOptions): readonly IndexHit[] {
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

  room(): undefined {
    // Nothing waits.
  }

  noteVerified(): void {
    // Nobody finds it.
  }

  async noteCovered(): Promise<void> {
    // Nobody finds it.
  }

  noteCompared(): void {
    // Nobody finds it.
  }

  readonly coverage = "unknown";

  contentOf(record: LogRecord): IndexedContent {
    return contentOf(this.#projection, record);
  }

  /** Every log, in the order of lists. */
  #newestFirst(): (ListPlace & { readonly log: IndexedLog })[] {
    return [...this.#logs]
      .map(([key, log]) => ({ key, log, sortedAt: log.sortedAt }))
      .sort(comparePlaces);
  }
}

function addRecord(
  log: IndexedLog,
  { start }: IndexedBatch,
  { id, seq, text, hides }: IndexedRecord,
): void {
  log.ids.set(id, { seq, start });
  if (text !== undefined) log.texts.set(seq, text);
  const hidden = hides === undefined ? undefined : log.ids.get(hides)?.seq;
  if (hidden !== undefined && hidden < seq) log.texts.delete(hidden);
}

function newLog(last: IndexedBatch): IndexedLog {
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
