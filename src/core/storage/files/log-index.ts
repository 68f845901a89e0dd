import type {
  ListOptions,
  ListPage,
  LogProjection,
  LogRecord,
  SearchOptions,
} from "../log-store.ts";
import type { IndexBehind } from "../storage.ts";

/** Where a log ended when the index last took it up. */
export interface IndexEntry {
  readonly seq: number;
  /** Byte offset of the end of the last commit line. */
  readonly end: number;
  /** CRC of the last commit line, 8 hex digits: tells an older copy of the file from the file. */
  readonly crc: string;
}

/** What the index keeps of one record. */
export interface IndexedRecord extends IndexedContent {
  readonly seq: number;
}

export interface IndexedContent {
  readonly id: string;
  /** What search finds it by. */
  readonly text?: string | undefined;
  /** The id of an earlier record that search no longer finds. */
  readonly hides?: string | undefined;
}

/** One committed batch, as the index gets it. Batches of one log arrive in order. */
export interface IndexedBatch extends IndexEntry {
  readonly key: string;
  /** JSON of the head, an object. */
  readonly headJson: string;
  readonly damaged: boolean;
  /** Byte offset of the batch's first record. */
  readonly start: number;
  /** In their order. */
  readonly records: readonly IndexedRecord[];
}

/** A batch as it is written to the index, whichever collection it is of. */
export interface IndexRow extends IndexEntry {
  readonly collection: string;
  readonly key: string;
  readonly start: number;
  readonly damaged: boolean;
  readonly sortedAt: string;
  readonly labels: readonly string[];
  readonly headJson: string;
  readonly records: readonly IndexedRecord[];
}

/** What is written to the index: a batch, or that a log is removed. */
export type IndexChange =
  | IndexRow
  | { readonly collection: string; readonly key: string; readonly removed: true };

/** The number of its first record; of a batch without any, the one that it would have. */
export function firstSeqOf({ seq, records }: Pick<IndexRow, "seq" | "records">): number {
  return records[0]?.seq ?? seq + 1;
}

/** A record that search found: which log, and which number. The store reads the record itself. */
export interface IndexHit {
  readonly key: string;
  readonly seq: number;
}

/**
 * What the index has of a collection when a home is opened.
 *
 * - `"all"`: every log. The last process noted so at its end, and no name in the directory changed since.
 * - `"names"`: the same, but names changed: it is enough to compare them.
 * - `"covered"`: every log, but for what the journal holds. What other programs changed is not known.
 * - `"unknown"`: each log must be compared with it.
 */
export type IndexCoverage = "all" | "names" | "covered" | "unknown";

/**
 * What the file driver keeps beside the logs of one collection so that nothing needs a scan: lists,
 * search, ids and places. Derived: losing it loses nothing, and the logs win when the two disagree.
 * What was added is written later, in another thread; reads see it at once.
 */
export interface LogIndex {
  readonly coverage: IndexCoverage;
  entry(key: string): IndexEntry | undefined;
  /** Adds a batch that is already durable in its log. */
  add(batch: IndexedBatch): void;
  /** What it keeps of a record, but for its number. */
  contentOf(record: LogRecord): IndexedContent;
  /** Whether damage of this log is known from before. */
  isDamaged(key: string): boolean;
  /** Changes only the row's flag: damage was found, or a damaged log was made whole. */
  markDamaged(key: string, damaged: boolean): void;
  /** The `seq` of the record with this id, and the offset of the batch that holds it. */
  find(key: string, id: string): { readonly seq: number; readonly start: number } | undefined;
  /**
   * A place at or before the batch that holds `seq`: the greatest known batch start whose first
   * record is at most `seq`. At least one place is kept for every 64 KiB of log.
   */
  seek(key: string, seq: number): number;
  list(options: ListOptions): ListPage;
  search(query: string, options: SearchOptions): readonly IndexHit[];
  /** Every key that the index knows, in no order. */
  keys(): Iterable<string>;
  /** Forgets a log: reads no longer see it. Its bytes are in the file until `erase`. */
  remove(key: string): void;
  /**
   * Resolves when nothing is left in the index file of the words, ids and heads of logs that were removed, deleted or not.
   * That takes time in proportion to the index; several calls at once cost it once. A crash in between
   * is made good when the index is opened.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: bytes may be left; call it again.
   */
  erase(): Promise<void>;
  /** Resolves when less waits to be written: a bound on memory. `undefined`: little waits. */
  room(): Promise<void> | undefined;
  /** Every log of this collection was read to its end. */
  noteVerified(): void;
  /**
   * From now on the index has every log of this collection, but for what the journal holds; or that is not so.
   * Durable when this resolves.
   */
  noteCovered(isCovered: boolean): Promise<void>;
  /**
   * Called last: the index has every log that this process knows.
   *
   * @param changed when the directory last changed by what this process did.
   */
  noteCompared(changed: string): void;
}

/** Opens the index of one collection. */
export type OpenLogIndex = (collection: string, projection: LogProjection) => LogIndex;

/** The index of all collections. */
export interface HomeIndex {
  readonly open: OpenLogIndex;
  coverageOf(collection: string): IndexCoverage;
  /** The last process closed it itself. */
  readonly clean: boolean;
  /** All that the journal of the last process holds before this position is in the index. */
  readonly mark: number;
  readonly behind: IndexBehind;
  /** Makes all durable that was added before. @throws ThroughlineError `THROUGHLINE_UNAVAILABLE` */
  sync(): Promise<void>;
  /** The index of this collection was not given all of its logs. */
  uncover(collection: string): Promise<void>;
}
