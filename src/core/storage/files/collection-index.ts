import { Lru } from "../../lru.ts";
import { type ListPlace, listCursor, parseCursor } from "../batch.ts";
import type {
  ListOptions,
  ListPage,
  LogHead,
  LogProjection,
  LogRecord,
  LogRow,
  SearchOptions,
} from "../log-store.ts";
import { endsOpen, holdsEvery, queryPhrases, searchTokens } from "../search-words.ts";
import { Backlog, type WaitingLog } from "./backlog.ts";
import type { IndexQueue } from "./index-queue.ts";
import { canBegin, comparePlaces, contentOf, labelsOf } from "./index-rules.ts";
import type {
  IndexCoverage,
  IndexEntry,
  IndexedBatch,
  IndexedContent,
  IndexHit,
  IndexRow,
  LogIndex,
} from "./log-index.ts";
import type { IndexDatabase } from "./sqlite-database.ts";
import { parseStored } from "./sqlite-file.ts";

/** How many logs are searched one by one first. Each costs some 20 µs. */
const newestLogs = 16;

/** How many logs' rows are remembered. */
const knownRows = 1_024;

/** How many keys are read at a time. */
const keysAtOnce = 1_000;

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

/** What a search asks for. */
interface Wanted {
  /** As the full-text index has it. */
  readonly match: string;
  readonly phrases: readonly string[][];
  readonly isOpen: boolean;
}

/** The part of `index.db` of one collection: reads its file and what waits to be written to it. */
export class CollectionIndex implements LogIndex {
  readonly #file: IndexDatabase;
  readonly #queue: IndexQueue;
  readonly #collection: string;
  readonly #projection: LogProjection;
  readonly #backlog = new Backlog();
  /** Rows of logs in which ids were looked up: two look-ups in each append cost what is saved. */
  readonly #rowIds = new Lru<string, number>(knownRows);
  /** What is noted at the end, see `noteCompared`. */
  comparedAt: string | undefined;
  #isCovered = false;
  coverage: IndexCoverage;
  readonly noteVerified: () => void;

  constructor(
    file: IndexDatabase,
    queue: IndexQueue,
    collection: string,
    projection: LogProjection,
    { coverage, noteVerified }: Pick<LogIndex, "coverage" | "noteVerified">,
  ) {
    this.coverage = coverage;
    this.noteVerified = noteVerified;
    this.#file = file;
    this.#queue = queue;
    this.#collection = collection;
    this.#projection = projection;
  }

  entry(key: string): IndexEntry | undefined {
    const last = this.#backlog.last(key);
    if (last !== undefined) return { seq: last.seq, end: last.end, crc: last.crc };
    return this.#file.run(() => {
      const row = this.#rowOf(key);
      if (row === undefined) return undefined;
      const { seq, end_offset: end, crc } = row;
      return { seq: Number(seq), end: Number(end), crc: String(crc) };
    });
  }

  add(batch: IndexedBatch): void {
    // A log that is in the middle of being written when the index is lost is read from its beginning.
    if (!canBegin(batch) && !this.#isKnown(batch.key)) return;
    const head = JSON.parse(batch.headJson) as LogHead;
    this.#add({
      ...batch,
      collection: this.#collection,
      sortedAt: this.#projection.sortedAt(head).toWellFormed(),
      labels: labelsOf(this.#projection, head),
    });
  }

  contentOf(record: LogRecord): IndexedContent {
    return contentOf(this.#projection, record);
  }

  isDamaged(key: string): boolean {
    const last = this.#backlog.last(key);
    if (last !== undefined) return last.damaged;
    return this.#file.run(() => this.#rowOf(key)?.["damaged"] === 1);
  }

  markDamaged(key: string, damaged: boolean): void {
    const last = this.#backlog.last(key) ?? this.#lastWritten(key);
    if (last !== undefined) this.#add({ ...last, damaged, start: last.end, records: [] });
  }

  find(key: string, id: string): { readonly seq: number; readonly start: number } | undefined {
    const waiting = this.#backlog.find(key, id);
    return waiting ?? this.#file.run(() => this.#findWritten(key, id));
  }

  seek(key: string, seq: number): number {
    const waiting = this.#backlog.seek(key, seq);
    if (waiting !== undefined) return waiting;
    if (this.#backlog.isRemoved(key)) return 0;
    return this.#file.run(() => {
      const row = this.#file.sql.seek.get(this.#collection, key, seq);
      return row === undefined ? 0 : Number(row["start"]);
    });
  }

  list({ limit, cursor, label }: ListOptions): ListPage {
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    return this.#file.run(() => {
      // One row more than asked for tells whether there is a next page.
      const found = this.#placedRows({ after, label, count: limit + 1 });
      const shown = found.slice(0, limit);
      const rows = shown.map(({ row }) => row());
      const last = found.length > limit ? shown.at(-1) : undefined;
      return last === undefined ? { rows } : { rows, cursor: listCursor(last.place) };
    });
  }

  search(query: string, { limit, key, prefix }: SearchOptions): readonly IndexHit[] {
    const phrases = queryPhrases(query);
    if (phrases.length === 0) return [];
    const isOpen = endsOpen(query, prefix);
    // Only tokens get in here, which hold no quote: nothing that a person wrote is syntax.
    const words = phrases.map((tokens) => `"${tokens.join(" ")}"`).join(" AND ");
    const wanted = { match: isOpen ? `${words} *` : words, phrases, isOpen };
    return this.#file.run(() => {
      if (key !== undefined) return this.#searchLog(wanted, key, limit);
      return this.#searchNewest(wanted, limit) ?? this.#searchAll(wanted, limit);
    });
  }

  *keys(): Generator<string> {
    for (let after = ""; ; ) {
      const from = after;
      const rows = this.#file.run(() =>
        this.#file.sql.keys.all(this.#collection, from, keysAtOnce),
      );
      for (const row of rows) {
        after = String(row["key"]);
        if (this.#backlog.get(after) === undefined) yield after;
      }
      if (rows.length < keysAtOnce) break;
    }
    for (const [key, { batches }] of [...this.#backlog]) if (batches.length > 0) yield key;
  }

  remove(key: string): void {
    this.#rowIds.delete(key);
    this.#backlog.remove(key);
    this.#queue.add({ collection: this.#collection, key, removed: true }, 0, () =>
      this.#backlog.wroteRemoval(key),
    );
  }

  erase(): Promise<void> {
    return this.#queue.erase();
  }

  room(): Promise<void> | undefined {
    return this.#queue.room();
  }

  /** The file was lost: batches in the middle of logs that it no longer knows are of no use. */
  forgetAll(): void {
    this.#backlog.clear();
    this.#rowIds.clear();
    this.coverage = "unknown";
    this.#isCovered = false;
    this.comparedAt = undefined;
  }

  async noteCovered(isCovered: boolean): Promise<void> {
    this.#isCovered = isCovered;
    if (!isCovered) {
      this.#file.uncover(this.#collection);
      return this.#queue.cover(this.#collection, false);
    }
    if (this.#file.coveredSince(this.#collection) !== undefined) return; // as noted when it was opened
    // Without a journal nothing would hold what waits after a kill.
    if (!this.#file.isJournaled || !(await this.#queue.flush())) return;
    if (this.#isCovered && !this.#queue.isClosed) await this.#queue.cover(this.#collection, true);
  }

  noteCompared(changed: string): void {
    this.comparedAt = changed;
  }

  #add(row: IndexRow): void {
    this.#backlog.add(row);
    this.#queue.add(row, row.end - row.start, () => this.#backlog.wrote(row));
  }

  #isKnown(key: string): boolean {
    if (this.#backlog.last(key) !== undefined) return true;
    let isWritten = false;
    this.#file.runQuietly(() => {
      isWritten = this.#rowId(key) !== undefined;
    });
    return isWritten;
  }

  #findWritten(key: string, id: string) {
    const log = this.#rowId(key);
    const row = log === undefined ? undefined : this.#file.sql.find.get(log, id);
    if (row === undefined) return undefined;
    return { seq: Number(row["seq"]), start: Number(row["start"]) };
  }

  /** The row of a log in the file, if it counts. */
  #rowOf(key: string): Record<string, unknown> | undefined {
    if (this.#backlog.isRemoved(key)) return undefined;
    return this.#file.sql.logOf.get(this.#collection, key);
  }

  #lastWritten(key: string): IndexRow | undefined {
    if (this.#backlog.isRemoved(key)) return undefined;
    let found: IndexRow | undefined;
    this.#file.runQuietly(() => {
      const row = this.#file.sql.headOf.get(this.#collection, key);
      if (row === undefined) return;
      const { seq, end_offset: end, crc, head: headJson } = row;
      const head = parseStored<LogHead>(String(headJson));
      found = {
        collection: this.#collection,
        key,
        seq: Number(seq),
        end: Number(end),
        crc: String(crc),
        start: Number(end),
        damaged: false,
        sortedAt: this.#projection.sortedAt(head).toWellFormed(),
        labels: labelsOf(this.#projection, head),
        headJson: String(headJson),
        records: [],
      };
    });
    return found;
  }

  /** The number of a log's row, as long as the log is not removed and the file not lost. */
  #rowId(key: string): number | undefined {
    if (this.#backlog.isRemoved(key)) return undefined;
    const known = this.#rowIds.get(key);
    if (known !== undefined) return known;
    const id = this.#file.sql.logOf.get(this.#collection, key)?.["id"];
    if (typeof id !== "number") return undefined;
    this.#rowIds.set(key, id);
    return id;
  }

  #placedRows(wanted: WantedRows): PlacedRow[] {
    return [...this.#writtenRows(wanted), ...this.#waitingRows(wanted)]
      .sort((a, b) => comparePlaces(a.place, b.place))
      .slice(0, wanted.count);
  }

  /** Rows in the file. That of a log of which something waits is out of date, and passed over. */
  #writtenRows({ after, label, count }: WantedRows): PlacedRow[] {
    const { sql } = this.#file;
    const which = label === undefined ? [] : [label.toWellFormed()];
    const place = after === undefined ? [] : [after.sortedAt, after.key];
    const [first, next] =
      label === undefined ? [sql.firstRows, sql.list] : [sql.firstRowsOfLabel, sql.listLabel];
    const statement = after === undefined ? first : next;
    const rows: PlacedRow[] = [];
    const most = count + this.#backlog.size;
    for (const row of statement.iterate(this.#collection, ...which, ...place, most)) {
      const key = String(row["key"]);
      if (this.#backlog.get(key) !== undefined) continue;
      rows.push({ place: { sortedAt: String(row["sorted_at"]), key }, row: () => rowOf(row) });
      if (rows.length === count) break;
    }
    return rows;
  }

  /** Rows of logs with batches that wait, in no order. */
  #waitingRows({ after, label }: WantedRows): PlacedRow[] {
    const rows: PlacedRow[] = [];
    for (const [key, { batches }] of this.#backlog) {
      const last = batches.at(-1);
      if (last === undefined) continue;
      const { seq, headJson, damaged, sortedAt } = last;
      if (label !== undefined && !last.labels.includes(label.toWellFormed())) continue;
      const place = { sortedAt, key };
      if (after !== undefined && comparePlaces(place, after) <= 0) continue;
      rows.push({ place, row: () => ({ key, seq, head: parseStored(headJson), damaged }) });
    }
    return rows;
  }

  /** Newest first. */
  #searchLog(wanted: Wanted, key: string, limit: number): readonly IndexHit[] {
    const waiting = this.#backlog.get(key);
    const found = waiting === undefined ? [] : foundIn(waiting, wanted);
    const hidden = waiting === undefined ? new Set<number>() : this.#hiddenBy(key, waiting);
    const log = this.#rowId(key);
    const seqs = new Set(found);
    if (log !== undefined) {
      const most = limit + hidden.size;
      for (const row of this.#file.sql.words().searchLog.all(wanted.match, log, log, most)) {
        seqs.add(Number(row["seq"]));
      }
    }
    return [...seqs]
      .filter((seq) => !hidden.has(seq))
      .sort((a, b) => b - a)
      .slice(0, limit)
      .map((seq) => ({ key, seq }));
  }

  /** The records of a log that are hidden by what waits. */
  #hiddenBy(key: string, { batches }: WaitingLog): ReadonlySet<number> {
    const hidden = new Set<number>();
    // An id may be stored again: a record hides the newest one before it.
    const waiting = new Map<string, number>();
    for (const { id, seq, hides } of batches.flatMap(({ records }) => records)) {
      waiting.set(id, seq);
      if (hides === undefined) continue;
      const found = waiting.get(hides) ?? this.#findWritten(key, hides)?.seq;
      if (found !== undefined && found < seq) hidden.add(found);
    }
    return hidden;
  }

  /**
   * The answer if the newest logs have it all. A common word is in nearly every log, and sorting all
   * that hold it would take as long as there are messages.
   */
  #searchNewest(wanted: Wanted, limit: number): readonly IndexHit[] | undefined {
    const hits: IndexHit[] = [];
    const newest = { after: undefined, label: undefined, count: newestLogs };
    for (const { place } of this.#placedRows(newest)) {
      hits.push(...this.#searchLog(wanted, place.key, limit - hits.length));
      if (hits.length === limit) return hits;
    }
    return undefined;
  }

  #searchAll(wanted: Wanted, limit: number): readonly IndexHit[] {
    const { sql } = this.#file;
    const inFile: IndexHit[] = [];
    for (const row of sql.words().searchAll.iterate(wanted.match, this.#collection)) {
      const key = String(row["key"]);
      // Where the log stands in the order is out of date.
      if (this.#backlog.get(key) !== undefined) continue;
      inFile.push({ key, seq: Number(row["seq"]) });
      if (inFile.length === limit) break;
    }
    if (this.#backlog.size === 0) return inFile;
    const places = new Map<string, ListPlace>();
    const waiting: IndexHit[] = [];
    for (const { place } of this.#waitingRows({ after: undefined, label: undefined, count: 0 })) {
      const hits = this.#searchLog(wanted, place.key, limit);
      if (hits.length > 0) places.set(place.key, place);
      waiting.push(...hits);
    }
    if (waiting.length === 0) return inFile;
    const placeOf = (key: string): ListPlace => {
      const known = places.get(key);
      if (known !== undefined) return known;
      const sortedAt = String(sql.logOf.get(this.#collection, key)?.["sorted_at"]);
      const place = { sortedAt, key };
      places.set(key, place);
      return place;
    };
    return [...inFile, ...waiting]
      .sort((a, b) => comparePlaces(placeOf(a.key), placeOf(b.key)) || b.seq - a.seq)
      .slice(0, limit);
  }
}

/** The records that wait and hold what is wanted. */
function foundIn({ batches }: WaitingLog, { phrases, isOpen }: Wanted): number[] {
  const found: number[] = [];
  for (const { records } of batches) {
    for (const { text, seq } of records) {
      if (text === undefined || !mayHold(text, phrases)) continue;
      if (holdsEvery(searchTokens(text), phrases, isOpen)) found.push(seq);
    }
  }
  return found;
}

const notAscii = /[^\0-\x7f]/;

/** A look that costs little. Tokens of ASCII text stand in it as they are, but for case. */
function mayHold(text: string, phrases: readonly string[][]): boolean {
  if (notAscii.test(text)) return true;
  const lower = text.toLowerCase();
  return phrases.every(([first = ""]) => lower.includes(first));
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
