import { comparePlaces, type ListPlace, listCursor, parseCursor } from "../batch.ts";
import type {
  ListOptions,
  ListPage,
  LogHead,
  LogProjection,
  LogRow,
  SearchOptions,
} from "../log-store.ts";
import { endsOpen, queryPhrases } from "../search-words.ts";
import type { LogEnd } from "./commit.ts";
import { logName } from "./file-name.ts";
import type { FileIndex } from "./index.ts";
import { idToken, parseStored, pastAll } from "./index-schema.ts";
import { type IndexEntry, type IndexedBatch, type LogState, labelsOf } from "./index-writer.ts";

/** How many keys are read at a time. */
const keysAtOnce = 100;
/** How many logs are searched one by one first. Each costs some 20 µs. */
const newestLogs = 16;

type Ids = Iterable<readonly [id: string, seq: number]>;

/** A log of which the index has yet to read something in the journal. */
interface LogAhead {
  readonly log: LogState;
  /** The index has all of it once it read the journal up to here. */
  readonly position: number;
  /** The journal holds what was added to the log from this offset on. */
  readonly since: number;
  /** Numbers of records by their ids, in their order. */
  readonly ids: Map<string, number>;
  /** Reads those that were stored before them. */
  readIds: (() => Ids) | undefined;
  /** Ids up to this record are of no use any more once the index read up to the position. */
  readonly passed: { readonly position: number; readonly seq: number };
}

/**
 * What the index has of a collection when a home is opened.
 *
 * - `"all"`: every log. The last process noted so at its end, and no name in the directory changed since.
 * - `"names"`: the same, but names changed: it is enough to compare them.
 * - `"covered"`: every log, but for what the journal holds. What other programs changed is not known.
 * - `"unknown"`: each log must be compared with it.
 */
type IndexCoverage = "all" | "names" | "covered" | "unknown";

/** @param changed when the directory of the collection last changed. */
export function coverageOf(
  { covered, clean }: FileIndex,
  collection: string,
  changed: string | undefined,
): IndexCoverage {
  const noted = covered.get(collection);
  if (noted === undefined) return "unknown";
  if (noted === null || !clean) return "covered";
  return noted === changed ? "all" : "names";
}

interface PlacedRow {
  readonly place: ListPlace;
  readonly row: LogRow;
}

/** A record that search found: which log, and which number. The store reads the record itself. */
export interface IndexHit {
  readonly key: string;
  readonly seq: number;
}

/**
 * The part of `index.db` of one collection, by which nothing needs a scan: lists, search, ids and places. Reads
 * its file, and over it what the journal holds. Derived: losing it loses nothing, and the logs win when the two
 * disagree. What is stored is seen at once.
 */
export class CollectionIndex {
  readonly file: FileIndex;
  readonly collection: string;
  readonly projection: LogProjection;
  /** In the order of their positions. */
  readonly #ahead = new Map<string, LogAhead>();
  /** The mark, and the mark when all was heard that the thread said before it came there. */
  #seenMark: number;
  #heardMark: number;
  /** Logs in which damage was met. */
  readonly #damaged = new Set<string>();
  /** When the directory last changed by what this process did, noted at the end: the index has every log. */
  comparedAt: string | undefined;
  coverage: IndexCoverage;

  /** How often its logs had to be compared with it again: a log that was compared before that must be once more. */
  doubts = 0;
  /** Called when its logs must be compared with it. */
  onDoubt: () => void = () => undefined;

  /** @param changed when the directory of the collection last changed. */
  constructor(file: FileIndex, collection: string, projection: LogProjection, changed?: string) {
    this.coverage = coverageOf(file, collection, changed);
    this.file = file;
    this.collection = collection;
    this.projection = projection;
    this.#seenMark = this.#heardMark = file.mark;
    file.open(this);
  }

  /** Where the log ends, as the index will have it once it read the journal. */
  entry(key: string): IndexEntry | undefined {
    const ahead = this.#logsAhead().get(key);
    const row = this.file.run(() => this.#rowOf(key));
    const end = Number(row?.["end_offset"] ?? 0);
    if (ahead !== undefined && ahead.since <= end) return ahead.log;
    return row && { seq: Number(row["seq"]), end, crc: String(row["crc"]) };
  }

  /**
   * Notes that a batch is in the journal and in its log.
   *
   * @param ids of its records, of which the last one has the number `stored.seq`.
   */
  stored(
    { key, damaged, stored }: Pick<LogState, "key" | "damaged"> & { readonly stored: LogEnd },
    ids: readonly string[],
    start: number,
  ): void {
    const noted = this.#note({ key, damaged, ...stored }, start).ids;
    const first = stored.seq - ids.length + 1;
    for (const [i, id] of ids.entries()) noted.set(id, first + i);
  }

  /** Notes what the journal of a dead process holds of a log, from the offset `since` on. */
  recovered(log: LogState, since: number, readIds: () => Ids): void {
    this.#note(log, since).readIds = readIds;
  }

  /**
   * Takes up batches that were read from the log, and the damage that was found.
   *
   * @param from the offset from which the log was read.
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the index is in use and did not take it, or was begun again.
   */
  add(
    { key, damaged }: Pick<LogState, "key" | "damaged">,
    batches: readonly IndexedBatch[],
    from: number,
  ): Promise<void> {
    const { collection } = this;
    return this.file.add({ collection, key, damaged, batches, from });
  }

  /** Whether damage of this log is known from before. */
  isDamaged(key: string): boolean {
    if (this.#damaged.has(key) || this.#logsAhead().get(key)?.log.damaged) return true;
    return this.file.run(() => this.#rowOf(key)?.["damaged"] === 1);
  }

  markDamaged(key: string): void {
    if (this.#damaged.has(key)) return;
    this.#damaged.add(key);
    const { collection } = this;
    // Where it could not be written, another process meets it again.
    void this.file.ask({ do: "damaged", collection, key }).catch(() => undefined);
  }

  /** Numbers of the records that have this id, newest first: damage may have taken some. */
  find(key: string, id: string): readonly number[] {
    const known = idsOf(this.#logsAhead().get(key))?.get(id);
    if (known !== undefined) return [known];
    return this.file.run(() => this.#numbers(key, `"${idToken(id)}"`, 1_000));
  }

  /**
   * A place at or before the batch that holds `seq`: the greatest known batch start whose first
   * record is at most `seq`. At least one place is kept for every 64 KiB of log that is in the file.
   */
  seek(key: string, seq: number): number {
    return this.file.run(() => {
      const row = this.file.sql.seek.get(this.collection, logName(this.collection, key), seq);
      return row === undefined ? 0 : Number(row["start"]);
    });
  }

  list({ limit, cursor, label: asked }: ListOptions): ListPage {
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const label = asked?.toWellFormed();
    const ahead = this.#logsAhead();
    // One row more than asked for tells whether there is a next page.
    const written = this.file.run(() => this.#writtenRows(ahead, after, label, limit + 1));
    const found = [...written, ...this.#rowsAhead(ahead, after, label)];
    found.sort((a, b) => comparePlaces(a.place, b.place));
    const shown = found.slice(0, limit);
    const rows = shown.map(({ row }) => row);
    const last = found.length > limit ? shown.at(-1) : undefined;
    return last === undefined ? { rows } : { rows, cursor: listCursor(last.place) };
  }

  /** Searches what the file of the index has: the logs in the order of lists, and of each the newest first. */
  search(query: string, { limit, key, prefix }: SearchOptions): readonly IndexHit[] {
    const phrases = queryPhrases(query);
    if (phrases.length === 0) return [];
    // Only tokens get in here, which hold no quote: nothing that a person wrote is syntax.
    const words = phrases.map((tokens) => `"${tokens.join(" ")}"`).join(" AND ");
    const match = endsOpen(query, prefix) ? `${words} *` : words;
    return this.file.run(() => {
      if (key !== undefined) return this.#searchLog(key, match, limit);
      return this.#searchNewest(match, limit) ?? this.#searchAll(match, limit);
    });
  }

  /** Every key that the index knows, in no order. */
  *keys(): Generator<string> {
    // First: what the index reads in the meantime is in its file then.
    const ahead = new Set(this.#logsAhead().keys());
    yield* ahead;
    for (let after = ""; ; ) {
      const from = after;
      const rows = this.file.run(() => this.file.sql.keys.all(this.collection, from, keysAtOnce));
      for (const { key } of rows) if (!ahead.has(String(key))) yield String(key);
      if (rows.length < keysAtOnce) return;
      after = String(rows.at(-1)?.["path"]);
    }
  }

  /** Forgets a log. Its bytes are in the file until `erase`. */
  async remove(key: string): Promise<void> {
    this.#ahead.delete(key);
    this.#damaged.delete(key);
    await this.file.remove(this.collection, key);
  }

  doubt(): void {
    this.coverage = "unknown";
    this.comparedAt = undefined;
    this.doubts++;
    this.#seenMark = this.#heardMark = this.file.mark;
    this.onDoubt();
  }

  /** What the index has yet to read. What it has read by now is let go of. */
  #logsAhead(): ReadonlyMap<string, LogAhead> {
    this.#hear();
    for (const [key, { position }] of this.#ahead) {
      if (position > this.#heardMark) break;
      this.#ahead.delete(key);
    }
    return this.#ahead;
  }

  /** What the thread says of a doubt comes with the next pass of the event loop, its mark at once. */
  #hear(): void {
    const { mark } = this.file;
    if (mark === this.#seenMark) return;
    this.#seenMark = mark;
    const heard = () => {
      this.#heardMark = Math.max(this.#heardMark, mark);
    };
    setImmediate(() => setImmediate(heard));
  }

  /** Notes where a log ends, which the journal holds. @param since where its last change begins. */
  #note(log: LogState, since: number): LogAhead {
    const { key, seq } = log;
    const { durable: position } = this.file;
    // What a removed log had is of no use for one that begins.
    const before = since === 0 ? undefined : this.#logsAhead().get(key);
    const ids = before?.ids ?? new Map<string, number>();
    let passed = before?.passed ?? { position, seq };
    let readIds = before?.readIds;
    if (passed.position <= this.#heardMark) {
      for (const [id, each] of ids) {
        if (each > passed.seq) break;
        ids.delete(id);
      }
      passed = { position, seq };
      readIds = undefined;
    }
    const ahead: LogAhead = {
      log,
      position,
      since: before?.since ?? since,
      ids,
      readIds,
      passed,
    };
    this.#ahead.delete(key);
    this.#ahead.set(key, ahead);
    return ahead;
  }

  /** The row of a log in the file. */
  #rowOf(key: string): Record<string, unknown> | undefined {
    return this.file.sql.logOf.get(this.collection, logName(this.collection, key));
  }

  /** The records of a log with these words, newest first. */
  #numbers(key: string, match: string, limit: number): number[] {
    const log = this.#rowOf(key)?.["id"];
    if (typeof log !== "number") return [];
    const rows = this.file.sql.searchLog.all(match, log, log, limit);
    return rows.map((row) => Number(row["seq"]));
  }

  #searchLog(key: string, match: string, limit: number): IndexHit[] {
    return this.#numbers(key, match, limit).map((seq) => ({ key, seq }));
  }

  /**
   * The answer if the newest logs have it all. A common word is in nearly every log, and sorting all
   * that hold it would take as long as there are messages.
   */
  #searchNewest(match: string, limit: number): IndexHit[] | undefined {
    const hits: IndexHit[] = [];
    const { list } = this.file.sql;
    for (const row of list.iterate(this.collection, pastAll, "", newestLogs)) {
      hits.push(...this.#searchLog(String(row["key"]), match, limit - hits.length));
      if (hits.length === limit) return hits;
    }
    return undefined;
  }

  #searchAll(match: string, limit: number): IndexHit[] {
    const rows = this.file.sql.searchAll.all(match, this.collection, limit);
    return rows.map(({ key, seq }) => ({ key: String(key), seq: Number(seq) }));
  }

  /** The first rows in the file. That of a log that changed since is out of date, and passed over. */
  #writtenRows(
    ahead: ReadonlyMap<string, LogAhead>,
    after: ListPlace | undefined,
    label: string | undefined,
    count: number,
  ): PlacedRow[] {
    const { list, listLabel } = this.file.sql;
    const place = [after?.sortedAt ?? pastAll, after?.key ?? "", count + ahead.size] as const;
    const found =
      label === undefined
        ? list.iterate(this.collection, ...place)
        : listLabel.iterate(this.collection, label, ...place);
    const rows: PlacedRow[] = [];
    for (const row of found) {
      const key = String(row["key"]);
      if (ahead.has(key)) continue;
      const seq = Number(row["seq"]);
      const head = parseStored<LogHead>(String(row["head"]));
      const damaged = row["damaged"] === 1 || this.#damaged.has(key);
      const sortedAt = String(row["sorted_at"]);
      rows.push({ place: { sortedAt, key }, row: { key, seq, head, damaged } });
      if (rows.length === count) break;
    }
    return rows;
  }

  /** Rows of logs that changed, in no order. */
  #rowsAhead(
    ahead: ReadonlyMap<string, LogAhead>,
    after: ListPlace | undefined,
    label: string | undefined,
  ): PlacedRow[] {
    const rows: PlacedRow[] = [];
    for (const [key, { log }] of ahead) {
      const head = JSON.parse(log.headJson) as LogHead;
      if (label !== undefined && !labelsOf(this.projection, head).includes(label)) continue;
      const place = { sortedAt: this.projection.sortedAt(head).toWellFormed(), key };
      if (after !== undefined && comparePlaces(place, after) <= 0) continue;
      const damaged = log.damaged || this.#damaged.has(key);
      rows.push({ place, row: { key, seq: log.seq, head, damaged } });
    }
    return rows;
  }
}

/** The ids of what the index has yet to read. */
function idsOf(ahead: LogAhead | undefined): ReadonlyMap<string, number> | undefined {
  if (ahead?.readIds === undefined) return ahead?.ids;
  const later = [...ahead.ids];
  ahead.ids.clear();
  for (const [id, seq] of [...ahead.readIds(), ...later]) ahead.ids.set(id, seq);
  ahead.readIds = undefined;
  return ahead.ids;
}
