import { type ListPlace, listCursor, parseCursor } from "../batch.ts";
import type { ListOptions, ListPage, LogHead, LogProjection, LogRow } from "../log-store.ts";
import type { FileIndex } from "./index.ts";
import type { IndexCoverage } from "./index-file.ts";
import { idToken, parseStored } from "./index-schema.ts";
import { type IndexEntry, type IndexedBatch, type LogState, labelsOf } from "./index-writer.ts";

/** How many keys are read at a time. */
const keysAtOnce = 1_000;
/** Newest ids of a log kept in memory: this many to twice as many. */
const idsInMemory = 4_096;
/** Most ids of all logs kept in memory, beside those that the index lacks. */
const idsOfAll = 65_536;
/** A log in memory counts as so many ids: there are some 4,000 logs at most. */
const idsOfLog = 16;

/** A log that changed a short while ago. */
interface Recent {
  log: LogState;
  /** The index has all of it once it read the journal up to here. */
  position: number;
  /** The journal holds what was added to the log from this offset on. */
  readonly since: number;
  /** Numbers of records by their ids. */
  ids: Map<string, number>;
  older: Map<string, number>;
  /** The index has `older` once it read the journal up to here. */
  olderAt: number;
  /** Offset in the log from which on all ids are in memory, or in the index. */
  idsFrom: number;
  /** How lists have it, as of `headJson`. */
  listed:
    | { readonly headJson: string; readonly sortedAt: string; readonly labels: readonly string[] }
    | undefined;
}

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

/**
 * The part of `index.db` of one collection, by which nothing needs a scan: lists, search, ids and places. Reads
 * its file, and over it what the journal holds. Derived: losing it loses nothing, and the logs win when the two
 * disagree. What is stored is seen at once.
 */
export class CollectionIndex {
  readonly file: FileIndex;
  readonly collection: string;
  readonly projection: LogProjection;
  /** In the order in which they changed. */
  readonly #recent = new Map<string, Recent>();
  /** How many ids are in memory, at least so many, and logs. */
  #idCount = 0;
  /** Logs whose rows in the file do not count any more: how many removals are under way. */
  readonly #removed = new Map<string, number>();
  readonly #damaged = new Set<string>();
  /** What is noted at the end, see `noteCompared`. */
  comparedAt: string | undefined;
  coverage: IndexCoverage;

  /** Called when its logs must be compared with it. */
  onDoubt: () => void = () => undefined;

  /** @param changed when the directory of the collection last changed. */
  constructor(file: FileIndex, collection: string, projection: LogProjection, changed?: string) {
    this.coverage = file.coverageOf(collection, changed);
    this.file = file;
    this.collection = collection;
    this.projection = projection;
    file.open(collection, projection, this);
  }

  /** Where the log ends, as the index will have it once it read the journal. */
  entry(key: string): IndexEntry | undefined {
    const written = this.written(key);
    const recent = this.#recent.get(key);
    const comes =
      recent !== undefined &&
      recent.position > this.file.mark &&
      recent.since <= (written?.end ?? 0);
    return comes ? recent.log : written;
  }

  /** Where the log ends in the file of the index. */
  written(key: string): IndexEntry | undefined {
    const row = this.file.file.run(() => this.#rowOf(key));
    if (row === undefined) return undefined;
    const { seq, end_offset: end, crc } = row;
    return { seq: Number(seq), end: Number(end), crc: String(crc) };
  }

  /**
   * Notes that a batch is in the journal and in its log.
   *
   * @param ids of its records, of which the last one has the number `log.seq`.
   */
  stored(log: LogState, ids: readonly string[], start: number): void {
    const recent = this.#recentOf(log, start);
    if (recent.ids.size >= idsInMemory) {
      if (this.file.mark >= recent.olderAt) recent.older = recent.ids;
      else for (const [id, seq] of recent.ids) recent.older.set(id, seq);
      recent.olderAt = recent.position;
      recent.ids = new Map();
    }
    recent.log = stateOf(log);
    recent.position = this.file.durable;
    const first = log.seq - ids.length + 1;
    for (const [i, id] of ids.entries()) recent.ids.set(id, first + i);
    this.#idCount += ids.length;
    if (this.#idCount > idsOfAll) this.#letGo();
  }

  /** Notes what the journal of a dead process holds of a log, from the offset `since` on. */
  recovered(log: LogState, since: number): void {
    const recent = this.#recentOf(log, since);
    recent.idsFrom = log.end;
    recent.position = this.file.durable;
  }

  /** From which offset on the ids of a log must be noted (`remember`) before they can be found. */
  lacks(key: string): number | undefined {
    const recent = this.#recent.get(key);
    const end = this.written(key)?.end ?? 0;
    return recent !== undefined && end < recent.idsFrom ? end : undefined;
  }

  /** Notes ids of records, all that the log has from the offset `from` on. */
  remember(key: string, ids: readonly (readonly [id: string, seq: number])[], from: number): void {
    const recent = this.#recent.get(key);
    if (recent === undefined) return;
    recent.older = new Map([...ids, ...recent.older]);
    recent.olderAt = recent.position;
    recent.idsFrom = from;
    this.#idCount += ids.length;
  }

  /**
   * Takes up batches that were read from the log, and the damage that was found.
   *
   * @param from the offset from which the log was read.
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the index is in use and did not take it, or was begun again.
   */
  add(log: LogState, batches: readonly IndexedBatch[], from: number): Promise<void> {
    const { collection } = this;
    return this.file.ask({ do: "add", collection, log: stateOf(log), batches, from });
  }

  /** Whether damage of this log is known from before. */
  isDamaged(key: string): boolean {
    if (this.#damaged.has(key)) return true;
    const last = this.#recent.get(key)?.log;
    if (last?.damaged) return true;
    return this.file.file.run(() => this.#rowOf(key)?.["damaged"] === 1);
  }

  markDamaged(key: string): void {
    if (this.#damaged.has(key)) return;
    this.#damaged.add(key);
    const done = () => this.#damaged.delete(key);
    // Where it could not be written, it is met again.
    void this.file
      .ask({ do: "damaged", collection: this.collection, key })
      .then(done, () => undefined);
  }

  /** Numbers of the records that have this id, newest first: damage may have taken some. */
  find(key: string, id: string): readonly number[] {
    const recent = this.#recent.get(key);
    const known = recent?.ids.get(id) ?? recent?.older.get(id);
    if (known !== undefined) return [known];
    return this.file.file.run(() => {
      const log = this.rowId(key);
      return log === undefined ? [] : this.numbers(log, `"${idToken(id)}"`, 1_000);
    });
  }

  /**
   * A place at or before the batch that holds `seq`: the greatest known batch start whose first
   * record is at most `seq`. At least one place is kept for every 64 KiB of log that is in the file.
   */
  seek(key: string, seq: number): number {
    if (this.#removed.has(key)) return 0;
    return this.file.file.run(() => {
      const row = this.file.sql.seek.get(this.collection, key, seq);
      return row === undefined ? 0 : Number(row["start"]);
    });
  }

  list({ limit, cursor, label }: ListOptions): ListPage {
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    return this.file.file.run(() => {
      // One row more than asked for tells whether there is a next page.
      const found = this.placedRows({ after, label, count: limit + 1 });
      const shown = found.slice(0, limit);
      const rows = shown.map(({ row }) => row());
      const last = found.length > limit ? shown.at(-1) : undefined;
      return last === undefined ? { rows } : { rows, cursor: listCursor(last.place) };
    });
  }

  /** Every key that the index knows, in no order. */
  *keys(): Generator<string> {
    for (let after = ""; ; ) {
      const from = after;
      const rows = this.file.file.run(() =>
        this.file.sql.keys.all(this.collection, from, keysAtOnce),
      );
      for (const row of rows) {
        after = String(row["key"]);
        if (!this.#recent.has(after) && !this.#removed.has(after)) yield after;
      }
      if (rows.length < keysAtOnce) break;
    }
    yield* [...this.#recent.keys()];
  }

  /** Forgets a log: reads no longer see it. Its bytes are in the file until `erase`. */
  remove(key: string): void {
    this.#recent.delete(key);
    this.#damaged.delete(key);
    this.#removed.set(key, (this.#removed.get(key) ?? 0) + 1);
    const done = () => {
      const left = (this.#removed.get(key) ?? 1) - 1;
      if (left === 0) this.#removed.delete(key);
      else this.#removed.set(key, left);
    };
    void this.file.remove(this.collection, key).then(done, done);
  }

  /**
   * Resolves when nothing is left in the index file of the words, ids and heads of logs that were removed, deleted or not.
   * That takes time in proportion to the index; several calls at once cost it once. A crash in between
   * is made good when the index is opened.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: bytes may be left; call it again.
   */
  erase(): Promise<void> {
    return this.file.erase();
  }

  makeRoom(bytes: number): Promise<boolean> {
    return this.file.makeRoom(bytes);
  }

  /** Resolves when all is in the file that is in the journal. @throws ThroughlineError `THROUGHLINE_UNAVAILABLE` */
  caughtUp(): Promise<void> {
    return this.file.ask({ do: "nothing" });
  }

  get isFar(): boolean {
    return this.file.isFar;
  }

  room(): Promise<void> | undefined {
    return this.file.room();
  }

  /**
   * From now on the index has every log of this collection, but for what the journal holds; or that is not so.
   * Durable when this resolves.
   */
  noteCovered(isCovered: boolean): Promise<void> {
    return this.file.cover(this.collection, isCovered);
  }

  /**
   * Called last: the index has every log that this process knows.
   *
   * @param changed when the directory last changed by what this process did.
   */
  noteCompared(changed: string): void {
    this.comparedAt = changed;
  }

  skip(): void {
    for (const recent of this.#recent.values()) recent.position = 0;
  }

  forgetAll(): void {
    this.#recent.clear();
    this.#idCount = 0;
    this.doubt();
  }

  doubt(): void {
    this.coverage = "unknown";
    this.comparedAt = undefined;
    this.onDoubt();
  }

  #recentOf(log: LogState, since: number): Recent {
    const { key } = log;
    const known = this.#recent.get(key);
    // What a removed log had is of no use for one that begins.
    if (known !== undefined && since > 0) return known;
    const none = { ids: new Map(), older: new Map(), olderAt: 0, listed: undefined };
    const recent: Recent = { log: stateOf(log), position: 0, since, idsFrom: since, ...none };
    this.#recent.set(key, recent);
    this.#idCount += idsOfLog;
    return recent;
  }

  /** Lets go of what the file of the index has. */
  #letGo(): void {
    this.#idCount = 0;
    for (const [key, { position, ids, older }] of this.#recent) {
      if (position <= this.file.mark) this.#recent.delete(key);
      else this.#idCount += idsOfLog + ids.size + older.size;
    }
    // Where the index is far behind, this is not done again and again.
    this.#idCount = Math.min(this.#idCount, idsOfAll) / 2;
  }

  isRemoved(key: string): boolean {
    return this.#removed.has(key);
  }

  /** The row of a log in the file, if it counts. */
  #rowOf(key: string): Record<string, unknown> | undefined {
    if (this.#removed.has(key)) return undefined;
    return this.file.sql.logOf.get(this.collection, key);
  }

  /** The number of a log's row in the file. */
  rowId(key: string): number | undefined {
    const id = this.#rowOf(key)?.["id"];
    return typeof id === "number" ? id : undefined;
  }

  /** The records of a log with these words, newest first. */
  numbers(log: number, match: string, limit: number): number[] {
    const rows = this.file.sql.searchLog.all(match, log, log, limit);
    return rows.map((row) => Number(row["seq"]));
  }

  /** The first rows of a list. */
  placedRows(wanted: WantedRows): PlacedRow[] {
    const { mark } = this.file;
    const changed = new Map<string, Recent>();
    for (const [key, each] of this.#recent) if (each.position > mark) changed.set(key, each);
    return [...this.#writtenRows(wanted, changed), ...this.#changedRows(wanted, changed)]
      .sort((a, b) => comparePlaces(a.place, b.place))
      .slice(0, wanted.count);
  }

  /** Rows in the file. That of a log that changed since is out of date, and passed over. */
  #writtenRows({ after, label, count }: WantedRows, changed: ReadonlyMap<string, Recent>) {
    const { sql } = this.file;
    const which = label === undefined ? [] : [label.toWellFormed()];
    const place = after === undefined ? [] : [after.sortedAt, after.key];
    const [first, next] =
      label === undefined ? [sql.firstRows, sql.list] : [sql.firstRowsOfLabel, sql.listLabel];
    const statement = after === undefined ? first : next;
    const rows: PlacedRow[] = [];
    const most = count + changed.size + this.#removed.size;
    for (const row of statement.iterate(this.collection, ...which, ...place, most)) {
      const key = String(row["key"]);
      if (changed.has(key) || this.#removed.has(key)) continue;
      const damaged = row["damaged"] === 1 || this.#damaged.has(key);
      rows.push({
        place: { sortedAt: String(row["sorted_at"]), key },
        row: () => ({
          key,
          seq: Number(row["seq"]),
          head: parseStored(String(row["head"])),
          damaged,
        }),
      });
      if (rows.length === count) break;
    }
    return rows;
  }

  /** Rows of logs that changed, in no order. */
  #changedRows({ after, label }: WantedRows, changed: ReadonlyMap<string, Recent>): PlacedRow[] {
    const rows: PlacedRow[] = [];
    for (const [key, recent] of changed) {
      const { seq, headJson, damaged } = recent.log;
      if (recent.listed?.headJson !== headJson) {
        const head = JSON.parse(headJson) as LogHead;
        const sortedAt = this.projection.sortedAt(head).toWellFormed();
        recent.listed = { headJson, sortedAt, labels: labelsOf(this.projection, head) };
      }
      const { sortedAt, labels } = recent.listed;
      if (label !== undefined && !labels.includes(label.toWellFormed())) continue;
      const place = { sortedAt, key };
      if (after !== undefined && comparePlaces(place, after) <= 0) continue;
      const isDamaged = damaged || this.#damaged.has(key);
      rows.push({
        place,
        row: () => ({ key, seq, head: parseStored(headJson), damaged: isDamaged }),
      });
    }
    return rows;
  }
}

/** Copies what is known of a log. What is given may be the open log itself, which would be kept whole. */
function stateOf({ key, seq, end, crc, headJson, damaged }: LogState): LogState {
  return { key, seq, end, crc, headJson, damaged };
}

/** The order of lists: newest first; equal instants by key. By bytes of UTF-8, as SQLite has it. */
export function comparePlaces(a: ListPlace, b: ListPlace): number {
  return compareBytes(b.sortedAt, a.sortedAt) || compareBytes(a.key, b.key);
}

function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Halves of pairs stand for characters past all that are one unit, some of which have greater units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
