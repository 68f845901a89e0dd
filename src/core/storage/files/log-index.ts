import type { ListOptions, ListPage, LogProjection, SearchOptions } from "../log-store.ts";
import type { IndexBehind } from "../storage.ts";
import type { Batch } from "./batch-reader.ts";

/** Where a log ends, as the index knows it. */
export interface IndexEntry {
  readonly seq: number;
  /** Byte offset of the end of the last commit line. */
  readonly end: number;
  /** CRC of the last commit line, 8 hex digits: tells an older copy of the file from the file. */
  readonly crc: string;
}

/** A log as its last commit line has it. */
export interface LogState extends IndexEntry {
  readonly key: string;
  /** JSON of the head, an object. */
  readonly headJson: string;
  readonly damaged: boolean;
}

/** A batch in the bytes of its log. */
export type IndexedBatch = Omit<Batch, "kind">;

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
 * What the file driver keeps beside the logs of one collection so that nothing needs a scan: lists, search,
 * ids and places. Derived: losing it loses nothing, and the logs win when the two disagree. It reads the
 * journal by itself and is written later, in another thread; reads see what is stored at once.
 */
export interface LogIndex {
  readonly coverage: IndexCoverage;
  /** Where the log ends, as the index will have it once it read the journal. */
  entry(key: string): IndexEntry | undefined;
  /** Where the log ends in the file of the index. */
  written(key: string): IndexEntry | undefined;
  /**
   * Notes that a batch is in the journal and in its log.
   *
   * @param ids of its records, of which the last one has the number `log.seq`.
   */
  stored(log: LogState, ids: readonly string[], start: number, batch: Buffer): void;
  /** Notes what the journal of a dead process holds of a log, from the offset `since` on. */
  recovered(log: LogState, since: number): void;
  /** From which offset on the ids of a log must be noted (`remember`) before they can be found. */
  lacks(key: string): number | undefined;
  /** Notes ids of records, all that the log has from the offset `from` on. */
  remember(key: string, ids: readonly (readonly [id: string, seq: number])[], from: number): void;
  /**
   * Takes up batches that were read from the log, and the damage that was found. Resolves when they are in the
   * file of the index, or with `false`: a full disk refused them, or the index was lost. Lists have the log all the
   * same; the ids that it has from `from` on must be noted then (`remember`).
   *
   * @param from the offset from which the log was read.
   */
  add(log: LogState, batches: readonly IndexedBatch[], from: number): Promise<boolean>;
  /** Logs that could not be added: each is to be compared with the index again. */
  readonly refused: ReadonlySet<string>;
  /** Whether damage of this log is known from before. */
  isDamaged(key: string): boolean;
  markDamaged(key: string): void;
  /** Numbers of the records that have this id, newest first: damage may have taken some. */
  find(key: string, id: string): readonly number[];
  /**
   * A place at or before the batch that holds `seq`: the greatest known batch start whose first
   * record is at most `seq`. At least one place is kept for every 64 KiB of log that is in the file.
   */
  seek(key: string, seq: number): number;
  list(options: ListOptions): ListPage;
  /** @param read reads what a log that is refused has from an offset on. */
  search(query: string, options: SearchOptions, read: ReadBatches): Promise<readonly IndexHit[]>;
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
  /**
   * Gives up the file of the index where that makes room for as many bytes; it is filled again from the logs.
   *
   * @returns whether it did.
   */
  makeRoom(bytes: number): Promise<boolean>;
  /** Resolves when all is in the file that is in the journal. @throws ThroughlineError `THROUGHLINE_UNAVAILABLE` */
  caughtUp(): Promise<void>;
  /** Whether `room` has something to wait for. */
  readonly isFar: boolean;
  /** Resolves when the index is less far behind: a bound on the journal. `undefined`: it is not far. */
  room(): Promise<void> | undefined;
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

export type ReadBatches = (key: string, from: number) => AsyncIterable<IndexedBatch>;

/** Opens the index of one collection. */
export type OpenLogIndex = (collection: string, projection: LogProjection) => LogIndex;

/** A file of the journal, as it is read. */
export interface IndexedSegment {
  readonly path: string;
  readonly nth: number;
  /** Of its first byte in the journal. */
  readonly position: number;
  /** Position after its last frame, if it takes no more. */
  readonly end?: number | undefined;
}

/** The index of all collections. */
export interface HomeIndex {
  coverageOf(collection: string): IndexCoverage;
  /** The last process closed it itself. */
  readonly clean: boolean;
  /** Any segment that is begun gets a greater number: by these the index knows what it has. */
  readonly nth: number;
  /** Everything that the journal holds before this position is in the index. */
  readonly mark: number;
  readonly behind: IndexBehind;
  /** A segment of the journal is in use, and those of a dead process are told of first. In their order. */
  began(segment: IndexedSegment): void;
  /** Everything that the journal holds before this position is durable. */
  published(position: number): void;
  /**
   * Resolves when all that the journal holds before this position is durable in the index.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`
   */
  sync(position: number): Promise<void>;
  /** The index does without what the journal has of these collections before this position. */
  skip(position: number, collections: ReadonlySet<string>): Promise<void>;
  makeRoom: LogIndex["makeRoom"];
}
