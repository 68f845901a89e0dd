import type {
  ListOptions,
  ListPage,
  LogHead,
  LogProjection,
  SearchOptions,
  StoredRecord,
} from "../log-store.ts";

/** Where a log ended when the index last took it up. */
export interface IndexEntry {
  readonly seq: number;
  /** Byte offset of the end of the last commit line. */
  readonly end: number;
  /** CRC of the last commit line, 8 hex digits: tells an older copy of the file from the file. */
  readonly crc: string;
}

/** One committed batch, as the index gets it. Batches of one log arrive in order. */
export interface IndexedBatch extends IndexEntry {
  readonly key: string;
  readonly head: LogHead;
  readonly damaged: boolean;
  /** Byte offset of the batch's first record. */
  readonly start: number;
  /** Of its records, in their order. */
  readonly ids: readonly string[];
  /** Read when the index gets to it: may be a getter that parses. */
  readonly records: readonly StoredRecord[];
}

/** The number of its first record; of a batch without any, the one that it would have. */
export function firstSeqOf({ seq, ids }: IndexedBatch): number {
  return seq - ids.length + 1;
}

/** A record that search found: which log, and which number. The store reads the record itself. */
export interface IndexHit {
  readonly key: string;
  readonly seq: number;
}

/**
 * What the file driver keeps beside the logs of one collection so that nothing needs a scan: lists,
 * search, ids and places. Derived: losing it loses nothing, and the logs win when the two disagree.
 * Synchronous, because every call is short; writes may be buffered, reads see them all the same.
 */
export interface LogIndex {
  entry(key: string): IndexEntry | undefined;
  /** Adds a batch that is already durable in its log. */
  add(batch: IndexedBatch): void;
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
  /**
   * Forgets a log. With `"now"` none of its words, ids and heads is left in the index file when this
   * returns, deleted or not; that takes time in proportion to the index: 0.1 s with 50,000 messages,
   * 0.5 s with 500,000. With `"later"` reads no longer see the log, and `erase` removes its bytes: a
   * crash in between is made good when the index is opened.
   *
   * @default "now"
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: bytes may be left; remove it again.
   */
  remove(key: string, bytes?: "now" | "later"): void;
  /**
   * Does a slice of the pending removals, so that several removed logs cost it once and others get
   * their turn in between. @returns whether some is left: call again until it answers `false`.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: bytes may be left; call it again.
   */
  erase(): boolean;
  /** How many batches are buffered. */
  waiting(): number;
  /** How many bytes of log they hold. */
  waitingBytes(): number;
  /** Of how many logs: each of them makes a list take longer. */
  waitingLogs(): number;
  /**
   * Writes out so many buffered batches that are cheap to write together, if so many of such wait, or
   * 128 KiB of them, which is the most that it writes: a slice for when there is time. Of 8 each takes
   * about 120 µs, of 64 half of that, of 256 a third.
   *
   * @returns whether it wrote any.
   */
  drain(batches: number): boolean;
  /** Writes out what is buffered. */
  flush(): void;
  /** Every log of this collection was read to its end. */
  noteVerified(): void;
  /**
   * What the process before this one noted at its end, if it closed the index itself: as long as the
   * directory has these names, the index has all of its logs.
   */
  readonly notedNames: string | undefined;
  /**
   * Called last.
   *
   * @param names stands for the names of all logs as they are now, every one of them compared with
   * the index; `undefined`: that is not so, and the next start compares them.
   * @param isBehind a log could not be compared with the index: the next start compares all of them.
   */
  noteNames(names: string | undefined, isBehind?: boolean): void;
}

/** Opens the index of one collection. */
export type OpenLogIndex = (collection: string, projection: LogProjection) => LogIndex;
