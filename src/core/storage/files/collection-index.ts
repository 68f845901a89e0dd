import { type ListPlace, listCursor, parseCursor } from "../batch.ts";
import type { ListOptions, ListPage, LogHead, LogProjection, LogRow } from "../log-store.ts";
import type { FileIndex } from "./index.ts";
import type { IndexCoverage } from "./index-file.ts";
import { idToken, parseStored } from "./index-schema.ts";
import { type IndexEntry, type IndexedBatch, type LogState, labelsOf } from "./index-writer.ts";

/** How many keys are read at a time. */
const keysAtOnce = 1_000;
/** So many ids are noted before those that the index has by now are let go of. */
const idsAtOnce = 32_768;
/** A log in memory counts as so many ids. */
const idsOfLog = 16;

/** A log that changed a short while ago. */
interface Recent {
  log: LogState;
  /** The index has all of it once it read the journal up to here. */
  position: number;
  /** The journal holds what was added to the log from this offset on. */
  readonly since: number;
  /** Numbers of records by their ids. `undefined`: they are not noted (see `remember`). */
  ids: Map<string, number> | undefined;
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
  /** What changed of late, and what changed before that, which the index has once it read up to `#earlierAt`. */
  #recent = new Map<string, Recent>();
  #earlier = new Map<string, Recent>();
  #earlierAt = 0;
  #idCount = 0;
  /** Logs whose rows in the file do not count any more: how many removals are under way. */
  readonly #removed = new Map<string, number>();
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
    this.coverage = file.coverageOf(collection, changed);
    this.file = file;
    this.collection = collection;
    this.projection = projection;
    file.open(collection, projection, this);
  }

  /** Where the log ends, as the index will have it once it read the journal. */
  entry(key: string): IndexEntry | undefined {
    const written = this.written(key);
    const coming = this.#coming(key);
    return coming !== undefined && coming.since <= (written?.end ?? 0) ? coming.log : written;
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
    const recent = this.#note(log, start);
    const noted = recent.ids ?? new Map<string, number>();
    recent.ids = noted;
    const first = log.seq - ids.length + 1;
    for (const [i, id] of ids.entries()) noted.set(id, first + i);
    this.#idCount += ids.length;
    if (this.#idCount < idsAtOnce || this.file.mark < this.#earlierAt) return;
    this.#earlier = this.#recent;
    this.#earlierAt = this.file.durable;
    this.#recent = new Map();
    this.#idCount = 0;
  }

  /** Notes what the journal of a dead process holds of a log, from the offset `since` on, but for the ids. */
  recovered(log: LogState, since: number): void {
    this.#note(log, since);
  }

  /** Whether ids of a log must be noted (`remember`) before they can be found. */
  lacksIds(key: string): boolean {
    const coming = this.#coming(key);
    return coming !== undefined && coming.ids === undefined;
  }

  /** Notes the ids of records that the index has yet to read. */
  remember(key: string, ids: readonly (readonly [id: string, seq: number])[]): void {
    const recent = this.#recentOf(key);
    if (recent === undefined) return;
    recent.ids = new Map(ids);
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
    if (this.#damaged.has(key) || this.#recentOf(key)?.log.damaged) return true;
    return this.file.file.run(() => this.#rowOf(key)?.["damaged"] === 1);
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
    const known = this.#recent.get(key)?.ids?.get(id) ?? this.#earlier.get(key)?.ids?.get(id);
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
      const found = this.#placedRows({ after, label, count: limit + 1 });
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
        if (this.#recentOf(after) === undefined && !this.#removed.has(after)) yield after;
      }
      if (rows.length < keysAtOnce) break;
    }
    yield* new Set([...this.#recent.keys(), ...this.#earlier.keys()]);
  }

  /** Forgets a log: reads no longer see it. Its bytes are in the file until `erase`. */
  remove(key: string): void {
    this.#recent.delete(key);
    this.#earlier.delete(key);
    this.#damaged.delete(key);
    this.#removed.set(key, (this.#removed.get(key) ?? 0) + 1);
    const done = () => {
      const left = (this.#removed.get(key) ?? 1) - 1;
      if (left === 0) this.#removed.delete(key);
      else this.#removed.set(key, left);
    };
    void this.file.remove(this.collection, key).then(done, done);
  }

  doubt(isLost: boolean): void {
    if (isLost) {
      this.#recent.clear();
      this.#earlier.clear();
      this.#idCount = 0;
    }
    this.coverage = "unknown";
    this.comparedAt = undefined;
    this.doubts++;
    this.onDoubt();
  }

  /** Notes where a log ends, which the journal holds. @param since where its last change begins. */
  #note(log: LogState, since: number): Recent {
    const { key } = log;
    // What a removed log had is of no use for one that begins.
    if (since === 0) this.#earlier.delete(key);
    const known = since === 0 ? undefined : this.#recent.get(key);
    const position = this.file.durable;
    if (known !== undefined) {
      known.log = stateOf(log);
      known.position = position;
      return known;
    }
    const begin = Math.min(since, this.#earlier.get(key)?.since ?? since);
    const made = { log: stateOf(log), position, since: begin, ids: undefined, listed: undefined };
    this.#recent.set(key, made);
    this.#idCount += idsOfLog;
    return made;
  }

  #recentOf(key: string): Recent | undefined {
    return this.#recent.get(key) ?? this.#earlier.get(key);
  }

  /** What the index has yet to read of a log. */
  #coming(key: string): Recent | undefined {
    const recent = this.#recentOf(key);
    return recent !== undefined && recent.position > this.file.mark ? recent : undefined;
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
  #placedRows(wanted: WantedRows): PlacedRow[] {
    const { mark } = this.file;
    const all = [...this.#earlier, ...this.#recent];
    const changed = new Map(all.filter(([, { position }]) => position > mark));
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
function comparePlaces(a: ListPlace, b: ListPlace): number {
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
