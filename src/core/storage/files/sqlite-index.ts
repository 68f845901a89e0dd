import { Lru } from "../../lru.ts";
import { type ListPlace, listCursor, parseCursor } from "../batch.ts";
import type { ListOptions, ListPage, LogProjection, LogRow, SearchOptions } from "../log-store.ts";
import { endsOpen, queryPhrases } from "../search-words.ts";
import { canBegin, comparePlaces, labelsOf } from "./index-rules.ts";
import type { IndexEntry, IndexedBatch, IndexHit, LogIndex, OpenLogIndex } from "./log-index.ts";
import { IndexDatabase, parseStored } from "./sqlite-database.ts";
import { partOf, removedLogs, wordsOf } from "./sqlite-schema.ts";
import { IndexWriter, removeLabels } from "./sqlite-writer.ts";
import { WriteQueue } from "./write-queue.ts";

/** The index of a home, in one file for all collections. */
export interface SqliteIndex {
  readonly open: OpenLogIndex;
  /** The process before this one closed the index itself: no log is ahead of it. */
  readonly clean: boolean;
  /** It did, or every log was read to its end in this boot of the machine. */
  readonly isVerified: boolean;
  /** Writes out what is buffered, in every collection, and closes the file. */
  close(): void;
}

export interface SqliteIndexOptions {
  /**
   * Called when the index turned out to be damaged and was recreated: it is empty now, in every
   * collection. Every log has to be given to it again, those that are open too; what was asked of it
   * at that moment was answered with `THROUGHLINE_UNAVAILABLE`.
   */
  readonly onLost?: () => void;
  /** Which boot of the machine this is. `undefined`: not known. */
  readonly bootId?: string | undefined;
}

/**
 * Opens `index.db`, creating it if need be. Never fails for what is in the file: one that is damaged
 * or of another version is thrown away, and everything in it comes back from the logs. On a disk
 * that takes no file the index is kept in memory.
 *
 * The calls of its parts throw `THROUGHLINE_UNAVAILABLE` when the file was lost under them or the
 * disk is full, `add`, `drain`, `flush` and `markDamaged` do not: they lose nothing.
 */
export function openSqliteIndex(path: string, options: SqliteIndexOptions = {}): SqliteIndex {
  const parts = new Map<string, SqliteLogIndex>();
  const verified = new Set<string>();
  const database = new IndexDatabase(path, options.bootId, () => {
    for (const part of parts.values()) part.forgetQueue();
    options.onLost?.();
  });
  let isClosed = false;
  return {
    clean: database.clean,
    isVerified: database.isVerified,
    open(collection, projection) {
      const part = new SqliteLogIndex(database, collection, projection, () => {
        verified.add(collection);
        database.noteVerified(verified);
      });
      parts.set(collection, part);
      return part;
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      let isComplete = true;
      for (const part of parts.values()) isComplete = part.flush() && !part.isBehind && isComplete;
      const names = Array.from(parts, ([collection, part]) => [collection, part.names] as const);
      database.close(isComplete, new Map(names));
    },
  };
}

/** How many logs are searched one by one first. Each costs some 20 µs. */
const newestLogs = 16;

/** How many logs' rows are remembered. */
const knownRows = 1_024;

/** A page of a list. */
interface WantedRows {
  readonly after: ListPlace | undefined;
  readonly label: string | undefined;
  readonly count: number;
}

/** A row of a list, made when it is in the page. */
interface PlacedRow {
  readonly place: ListPlace;
  readonly row: () => LogRow;
}

/** The part of one collection. */
class SqliteLogIndex implements LogIndex {
  readonly #file: IndexDatabase;
  readonly #collection: string;
  readonly #projection: LogProjection;
  readonly #queue = new WriteQueue();
  /** Rows of logs in which ids were looked up: two look-ups in each append cost what is saved. */
  readonly #rowIds = new Lru<string, number>(knownRows);
  /** What is noted at the end, see `noteNames`. */
  names: string | undefined;
  isBehind = false;

  /** Every log of this collection was read to its end. */
  readonly noteVerified: () => void;

  constructor(
    file: IndexDatabase,
    collection: string,
    projection: LogProjection,
    noteVerified: () => void,
  ) {
    this.noteVerified = noteVerified;
    this.#file = file;
    this.#collection = collection;
    this.#projection = projection;
  }

  entry(key: string): IndexEntry | undefined {
    const queued = this.#queue.last(key);
    if (queued !== undefined) return { seq: queued.seq, end: queued.end, crc: queued.crc };
    return this.#file.run(() => {
      const row = this.#file.sql.logOf.get(this.#collection, key);
      if (row === undefined) return undefined;
      const { seq, end_offset: end, crc } = row;
      return { seq: Number(seq), end: Number(end), crc: String(crc) };
    });
  }

  add(batch: IndexedBatch): void {
    this.#queue.push(batch);
    while (this.#queue.isFull && this.drain(256));
  }

  isDamaged(key: string): boolean {
    const queued = this.#queue.last(key);
    if (queued !== undefined) return queued.damaged;
    return this.#file.run(() => this.#file.sql.logOf.get(this.#collection, key)?.["damaged"] === 1);
  }

  markDamaged(key: string, damaged: boolean): void {
    if (this.#queue.last(key) !== undefined) this.flush();
    this.#file.runQuietly(() => {
      this.#file.sql.setDamaged.run(damaged ? 1 : 0, this.#collection, key);
    });
  }

  find(key: string, id: string): { readonly seq: number; readonly start: number } | undefined {
    const queued = this.#queue.find(key, id);
    if (queued !== undefined) return queued;
    return this.#file.run(() => {
      const log = this.#rowId(key);
      const row = log === undefined ? undefined : this.#file.sql.find.get(log, id);
      if (row === undefined) return undefined;
      return { seq: Number(row["seq"]), start: Number(row["start"]) };
    });
  }

  seek(key: string, seq: number): number {
    const queued = this.#queue.seek(key, seq);
    if (queued !== undefined) return queued;
    return this.#file.run(() => {
      const row = this.#file.sql.seek.get(this.#collection, key, seq);
      return row === undefined ? 0 : Number(row["start"]);
    });
  }

  list({ limit, cursor, label }: ListOptions): ListPage {
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    return this.#file.run(() => {
      // One row more than asked for tells whether there is a next page.
      const wanted = { after, label, count: limit + 1 };
      const found = [...this.#writtenRows(wanted), ...this.#queuedRows(wanted)]
        .sort((a, b) => comparePlaces(a.place, b.place))
        .slice(0, wanted.count);
      const shown = found.slice(0, limit);
      const rows = shown.map(({ row }) => row());
      const last = found.length > limit ? shown.at(-1) : undefined;
      return last === undefined ? { rows } : { rows, cursor: listCursor(last.place) };
    });
  }

  search(query: string, { limit, key, prefix }: SearchOptions): readonly IndexHit[] {
    const phrases = queryPhrases(query);
    if (phrases.length === 0) return [];
    // Only tokens get in here, which hold no quote: nothing that a person wrote is syntax.
    const words = phrases.map((tokens) => `"${tokens.join(" ")}"`).join(" AND ");
    const match = endsOpen(query, prefix) ? `${words} *` : words;
    return this.#file.run(() => {
      this.#write(this.#queue.all());
      if (key !== undefined) return this.#searchLog(match, key, limit);
      return this.#searchNewest(match, limit) ?? this.#searchAll(match, limit);
    });
  }

  keys(): Iterable<string> {
    return this.#file.run(() => {
      this.#write(this.#queue.all());
      const row = this.#file.sql.keys.get(this.#collection);
      return JSON.parse(String(row?.["keys"])) as string[];
    });
  }

  remove(key: string, bytes: "now" | "later" = "now"): void {
    this.#queue.remove(key);
    this.#rowIds.delete(key);
    this.#file.runQuietly(() => {
      const row = this.#file.sql.logOf.get(this.#collection, key);
      if (row === undefined) return;
      this.#file.remove(partOf(key), () => this.#removeRows(key, row));
    });
    if (bytes === "now") while (this.erase());
  }

  erase(): boolean {
    return this.#file.erase();
  }

  waiting(): number {
    return this.#queue.length;
  }

  waitingBytes(): number {
    return this.#queue.bytes;
  }

  waitingLogs(): number {
    return this.#queue.logs;
  }

  drain(batches: number): boolean {
    const before = this.#queue.length;
    this.#file.runQuietly(() => this.#write(this.#queue.some(batches)));
    return this.#queue.length < before;
  }

  /** @returns whether nothing is left in the queue: a full disk takes nothing for now. */
  flush(): boolean {
    this.#file.runQuietly(() => this.#write(this.#queue.all()));
    return this.#queue.length === 0;
  }

  /** The file was lost: batches in the middle of logs that it no longer knows are of no use. */
  forgetQueue(): void {
    this.#queue.clear();
    this.#rowIds.clear();
  }

  get notedNames(): string | undefined {
    return this.#file.names.get(this.#collection);
  }

  noteNames(names: string | undefined, isBehind = false): void {
    this.names = names;
    this.isBehind = isBehind;
  }

  /** The row of a log, as long as the log is not removed and the file not lost. */
  #rowId(key: string): number | undefined {
    const known = this.#rowIds.get(key);
    if (known !== undefined) return known;
    const id = this.#file.sql.logOf.get(this.#collection, key)?.["id"];
    if (typeof id !== "number") return undefined;
    this.#rowIds.set(key, id);
    return id;
  }

  /** Rows in the file. That of a log with queued batches is out of date, and passed over. */
  #writtenRows({ after, label, count }: WantedRows): PlacedRow[] {
    const { sql } = this.#file;
    const which = label === undefined ? [] : [label.toWellFormed()];
    const place = after === undefined ? [] : [after.sortedAt, after.key];
    const [first, next] =
      label === undefined ? [sql.firstRows, sql.list] : [sql.firstRowsOfLabel, sql.listLabel];
    const statement = after === undefined ? first : next;
    const rows: PlacedRow[] = [];
    const most = count + this.#queue.logs;
    for (const row of statement.iterate(this.#collection, ...which, ...place, most)) {
      const key = String(row["key"]);
      if (this.#queue.last(key) !== undefined) continue;
      rows.push({ place: { sortedAt: String(row["sorted_at"]), key }, row: () => rowOf(row) });
      if (rows.length === count) break;
    }
    return rows;
  }

  /** Rows of logs with queued batches, in no order. Writing them out first would take too long. */
  #queuedRows({ after, label }: WantedRows): PlacedRow[] {
    const rows: PlacedRow[] = [];
    for (const { first, last } of this.#queue.ends()) {
      const { key, seq, head, damaged } = last;
      if (label !== undefined && !labelsOf(this.#projection, last).includes(label.toWellFormed())) {
        continue;
      }
      const place = { sortedAt: this.#projection.sortedAt(head).toWellFormed(), key };
      if (after !== undefined && comparePlaces(place, after) <= 0) continue;
      // As when they are written: an index that knows nothing of a log begins it at its beginning.
      if (!canBegin(first) && !damaged && this.#rowId(key) === undefined) continue;
      rows.push({ place, row: () => ({ key, seq, head: structuredClone(head), damaged }) });
    }
    return rows;
  }

  #searchLog(match: string, key: string, limit: number): readonly IndexHit[] {
    const log = this.#rowId(key);
    if (log === undefined) return [];
    return wordsOf(this.#file.sql, key)
      .search.all(match, log, log, limit)
      .map((row) => ({ key, seq: Number(row["seq"]) }));
  }

  /**
   * The answer if the newest logs have it all. A common word is in nearly every log, and sorting all
   * that hold it would take as long as there are messages.
   */
  #searchNewest(match: string, limit: number): readonly IndexHit[] | undefined {
    const hits: IndexHit[] = [];
    for (const { key } of this.#file.sql.firstRows.all(this.#collection, newestLogs)) {
      hits.push(...this.#searchLog(match, String(key), limit - hits.length));
      if (hits.length === limit) return hits;
    }
    return undefined;
  }

  #searchAll(match: string, limit: number): readonly IndexHit[] {
    return this.#file.sql
      .search()
      .all(match, this.#collection, limit)
      .map((row) => ({ key: String(row["key"]), seq: Number(row["seq"]) }));
  }

  /** Writes these queued batches, in one transaction. */
  #write(batches: readonly IndexedBatch[]): void {
    if (batches.length === 0) return;
    this.#file.transaction(() => {
      const writer = new IndexWriter(this.#file.sql, this.#collection, this.#projection);
      for (const batch of batches) writer.add(batch, batch.records);
      writer.finish();
    });
    this.#queue.shift(batches);
  }

  #removeRows(key: string, row: Record<string, unknown>): void {
    const { sql } = this.#file;
    const id = Number(row["id"]);
    const labels = { sortedAt: String(row["sorted_at"]), labels: String(row["labels"]) };
    removeLabels(sql, this.#collection, key, labels);
    sql.moveToRemoved.run(removedLogs, `${id} ${partOf(key)}`, id);
  }
}

function rowOf(row: Record<string, unknown>): LogRow {
  const { key, seq, damaged, head } = row;
  return {
    key: String(key),
    seq: Number(seq),
    head: parseStored(String(head)),
    damaged: damaged === 1,
  };
}
