import { isThroughlineError } from "../errors.ts";
import type { JsonObject } from "../json.ts";

/**
 * One record as a caller appends it: any JSON object with an `id` that is unique within its log.
 * `seq` belongs to the store and is refused here.
 */
export type LogRecord = JsonObject & { readonly id: string };

/** One record as it was stored. `seq` counts from 1 within its log, without gaps. */
export type StoredRecord = LogRecord & { readonly seq: number };

/**
 * A small JSON object that stands for the whole log: what its reader needs before any record. It is
 * replaced by an append, together with the records or not at all. Kept in lists, so bounded.
 */
export type LogHead = JsonObject;

/** Names that a head must not use at its top level: on disk the commit line says them. */
export const reservedHeadNames = [
  "_type",
  "kind",
  "format",
  "key",
  "seq",
  "count",
  "bytes",
  "damaged",
  "prev",
  "crc",
] as const;

/** Bounds of the log store, in bytes of UTF-8 JSON and in records. */
export const logLimits = {
  keyBytes: 1024,
  idBytes: 256,
  recordBytes: 1024 * 1024,
  batchBytes: 8 * 1024 * 1024,
  batchRecords: 1_000,
  headBytes: 64 * 1024,
  /** A page ends early where it holds so much. */
  pageBytes: 4 * 1024 * 1024,
} as const;

export interface AppendOptions {
  /** Append only if the log ends at this `seq`; 0 means that the log does not exist yet. */
  readonly expectedSeq?: number;
  /** Replaces the head of the log, atomically with the records. Without it the head stays. */
  readonly head?: LogHead;
  /** Every id was made up for this append: a driver may store the records without looking for their ids. */
  readonly hasNewIds?: boolean | undefined;
}

/** Records and a head that were checked, and serialised once: see `prepareAppend`. */
export interface PreparedAppend {
  readonly records: readonly StoredRecord[];
  /** Each record as a line of JSON, beginning with its id and number. */
  readonly lines: string;
  /** The ids that the log may hold already. */
  readonly givenIds: readonly string[];
  readonly head: LogHead;
  readonly headJson: string;
}

export interface EraseOptions {
  /** Erase only if the log ends at this `seq`; 0 means that there is none. */
  readonly expectedSeq?: number;
  /** Replaces the head, for when it repeats words of an erased record. Also if nothing is erased. */
  readonly head?: LogHead;
  /** Called when bytes that could not be read went along, in the log or set aside from it: how many. */
  readonly onDamageRemoved?: ((bytes: number) => void) | undefined;
}

/** The end of a log: everything that a reader needs to go on, in one read. */
export interface LogTail {
  readonly seq: number;
  readonly head: LogHead;
  /** The newest records, oldest first. */
  readonly records: readonly StoredRecord[];
  /** Bytes of this log were found damaged. What is readable is served; the bytes are kept. */
  readonly damaged: boolean;
}

export interface PageOptions {
  /** Records with a smaller `seq`, newest page first. Without `before` and `after`: the newest. */
  readonly before?: number;
  /** Records with a greater `seq`, oldest page first. Not together with `before`. */
  readonly after?: number;
  /** 1 to 1,000 records. */
  readonly limit: number;
  /**
   * The caller only reads them: a driver that keeps records in memory may give the same, frozen ones to
   * others. Not for records that leave this program.
   */
  readonly isShared?: boolean | undefined;
}

/** One log in a list: never read from the log itself, always from the index. */
export interface LogRow {
  readonly key: string;
  readonly seq: number;
  readonly head: LogHead;
  readonly damaged: boolean;
}

export interface ListOptions {
  /** 1 to 1,000 rows. */
  readonly limit: number;
  /** Goes on where the page that answered this cursor ended. */
  readonly cursor?: string | undefined;
  /** Only logs whose projection carries this label. */
  readonly label?: string | undefined;
}

export interface ListPage {
  readonly rows: readonly LogRow[];
  /** Absent on the last page. */
  readonly cursor?: string;
}

export interface SearchOptions {
  /** 1 to 1,000 hits. */
  readonly limit: number;
  /** Search one log only. */
  readonly key?: string | undefined;
  /**
   * The last word of the query is the beginning of a word, unless white space ends it: for a query that
   * a person is typing.
   * @default false
   */
  readonly prefix?: boolean | undefined;
}

export interface SearchHit {
  readonly key: string;
  readonly record: StoredRecord;
}

/**
 * What a store's index keeps of a log. Pure functions of what is stored, so that the index can be
 * thrown away and rebuilt from the logs alone. Given to the store when it is opened.
 */
export interface LogProjection {
  /**
   * The URL of a module, and behind `#` the name under which it exports this projection: a driver may index in
   * another thread then.
   */
  readonly module?: string | undefined;
  /** Lists are sorted by this instant (ISO 8601), newest first; equal instants by the UTF-8 of their keys. */
  sortedAt(head: LogHead): string;
  /** Labels that a list can filter on. */
  labels(head: LogHead): readonly string[];
  /** The text of this record that search finds; nothing for a record that is not searchable. */
  text(record: LogRecord): string | undefined;
  /** The id of an earlier record whose text must no longer be found, if this record hides one. */
  hides(record: LogRecord): string | undefined;
}

/** A log that is in use, with all that is on its way to it. An append need not read it. */
export interface OpenLog {
  /** Its last record. */
  readonly last: { readonly seq: number };
  /** Shared by all: must not be changed. */
  readonly head: LogHead;
  readonly damaged: boolean;
  /** Something of it is not stored yet. */
  readonly isAhead: boolean;
  /** What is on its way was not stored. */
  readonly failed: boolean;
  /** Resolves when what is on its way now is stored, or the log has failed. */
  caughtUp(): Promise<void>;
  /** False: it holds no record with this id. */
  mayHold(id: string): boolean;
}

/** Append-only lists of JSON records, one list per key: the shape under chats and runs. */
export interface LogStore {
  /**
   * Adds records to the end of a log, all or none, creating the log on first use.
   *
   * Resolves once they survive what the storage's `durability` names: the end of this process, or a
   * power cut. Calls for one key are stored in call order. The records are copied before the call
   * returns: changing them afterwards changes nothing. Records whose ids the log already holds with
   * the same content are not stored again, whatever `expectedSeq` says: a repeated call answers as
   * the first one did.
   *
   * @returns the `seq` of the last of these records: 1 for the first in a log, then without gaps.
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the log does not end at `expectedSeq`.
   * @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: an id is there with other content.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: see `logLimits`.
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: nothing was stored; try again.
   * @throws ThroughlineError `THROUGHLINE_OUTCOME_UNKNOWN`: repeat the call; the ids settle it.
   */
  append(key: string, records: readonly LogRecord[], options?: AppendOptions): Promise<number>;

  /** The log if it is open and no other work on it is under way. Optional, as `commit` is: it saves reading. */
  opened?(key: string): OpenLog | undefined;

  /**
   * Appends to an open log what was made on top of its last record, at once: the next append can be made before this
   * is stored. Checks no record again.
   *
   * @returns `undefined`: that cannot be done at once, so it must be appended.
   */
  commit?(key: string, made: PreparedAppend): Promise<void> | undefined;

  /**
   * The head and the newest `limit` records (0 to 1,000), oldest first, no more than a page holds. Takes the
   * same time however long the log is.
   *
   * @returns `undefined` for a log that was never written or was deleted.
   */
  tail(key: string, limit: number): Promise<LogTail | undefined>;

  /**
   * One page of records, oldest first; empty past either end and for a log that does not exist. It ends
   * before `limit` where it holds `logLimits.pageBytes`, by no more than one batch more: ask from there
   * for the next.
   */
  page(key: string, options: PageOptions): Promise<readonly StoredRecord[]>;

  /**
   * Every record after `after` (default 0: all), oldest first, in bounded memory. Yields what was
   * stored when the iteration began; later appends are not seen.
   */
  read(key: string, options?: { readonly after?: number }): AsyncIterable<StoredRecord>;

  /** The record with this id, or `undefined`. */
  find(key: string, id: string): Promise<StoredRecord | undefined>;

  /**
   * Those of these records that the log holds, by their ids. Records that were appended together are
   * read together, so that many cost little more than one. All of them are in memory at once.
   */
  findAll(key: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredRecord>>;

  /**
   * Really removes the content of these records: their bytes are gone from the store and from its
   * index when the promise resolves. Each leaves `{ id, seq, _type: "metadata", kind: "erased" }`,
   * so that numbers and ids stay true. Ids that the log does not hold are passed over. Earlier heads
   * go with them; bytes of this log that are damaged or in quarantine, which may hold the same text,
   * are removed too. Where nothing is erased and the head stays as it is, nothing is removed.
   *
   * @returns how many records were erased by this call.
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the log does not end at `expectedSeq`; nothing
   *   has changed. An erasure adds no record: an append that expects the same end, decided before it,
   *   is stored after it, and so is the head that it brings.
   */
  erase(key: string, ids: readonly string[], options?: EraseOptions): Promise<number>;

  /**
   * Forgets a log: records, head, index rows and quarantined bytes are gone when the promise
   * resolves. An append that began earlier does not bring it back. Other logs are untouched.
   *
   * @returns whether there was something to forget.
   */
  delete(key: string): Promise<boolean>;

  /** One page of logs, sorted by the projection. Opens no log. */
  list(options: ListOptions): Promise<ListPage>;

  /**
   * Records whose text holds every word of the query: the logs in the order of `list`, and the records
   * of each newest first. Words match without regard to case and accents; Chinese, Japanese and Korean
   * text matches by any run of characters.
   */
  search(query: string, options: SearchOptions): Promise<readonly SearchHit[]>;
}

/** Lists every log of a store, or every one with a label, in bounded memory. A log that was yielded may be deleted. */
export async function* rows(
  logs: Pick<LogStore, "list">,
  { label }: Pick<ListOptions, "label"> = {},
): AsyncGenerator<LogRow, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await logs.list({ limit: 500, label, cursor });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Most times that `update` runs: others came first each time. */
const mostTries = 100;

/**
 * Runs a change again, from its reading on, while another writer came first. A change reads, decides and writes
 * on condition of what it read: of a log with `expectedSeq`, of a document with `expectedRevision`.
 *
 * @param isBehind says whether reading again helps after this error, and may wait. Without it: after `THROUGHLINE_CONFLICT`.
 * @throws what the change rejected with: the hundredth time, or where reading again does not help.
 */
export async function update<T>(
  change: () => Promise<T>,
  isBehind: (error: unknown, tries: number) => boolean | Promise<boolean> = (error) =>
    isThroughlineError(error, "THROUGHLINE_CONFLICT"),
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await change();
    } catch (error) {
      if (tries === mostTries || !(await isBehind(error, tries))) throw error;
    }
  }
}

/** The URL of one of our projections. They are beside the sources; in a folder of its own in what is published. */
export function projectionModule(name: string): string {
  const isSource = import.meta.url.endsWith(".ts");
  const path = isSource ? "../projections.ts" : "../workers/projections.js";
  return new URL(`${path}#${name}`, import.meta.url).href;
}

/** The kind that an erased record reads back as. */
export const erasedKind = "erased";

/** Of logs that are read by their keys alone: neither listed nor searched. */
export const unlisted: LogProjection = {
  module: projectionModule("unlisted"),
  sortedAt: () => "",
  labels: () => [],
  text: () => undefined,
  hides: () => undefined,
};
