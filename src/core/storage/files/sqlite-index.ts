import { systemTimers, type Timers } from "../../timers.ts";
import type { IndexBehind } from "../storage.ts";
import { CollectionIndex } from "./collection-index.ts";
import { IndexQueue } from "./index-queue.ts";
import type { IndexCoverage, OpenLogIndex } from "./log-index.ts";
import { IndexDatabase } from "./sqlite-database.ts";

/** The index of a home, in one file for all collections. */
export interface SqliteIndex {
  readonly open: OpenLogIndex;
  /** What it has of a collection, as of the start. */
  coverageOf(collection: string): IndexCoverage;
  /** The process before this one closed the index itself: no log is ahead of it. */
  readonly clean: boolean;
  /** It did, or every log was read to its end in this boot of the machine. */
  readonly isVerified: boolean;
  /** All that the journal of the process before this one holds before this position is in the index. */
  readonly mark: number;
  /** How much waits to be written: `metrics` shows it. */
  readonly behind: IndexBehind;
  /** Some of what was added to a collection was in the journal alone, and is there no longer. */
  uncover(collection: string): Promise<void>;
  /** Makes all durable that was added before. @throws ThroughlineError `THROUGHLINE_UNAVAILABLE` */
  sync(): Promise<void>;
  /** Writes out what waits, in every collection, and closes the file. */
  close(): Promise<void>;
}

export interface SqliteIndexOptions {
  /**
   * Called when the index turned out to be damaged and was recreated: it is empty now, in every
   * collection. Every log has to be given to it again, those that are open too; what was asked of it
   * at that moment was answered with `THROUGHLINE_UNAVAILABLE`.
   */
  readonly onLost?: (() => void) | undefined;
  /** Which boot of the machine this is. `undefined`: not known. */
  readonly bootId?: string | undefined;
  /** What is added is in a journal too, until `sync` was called. @default false */
  readonly isJournaled?: boolean | undefined;
  /** The position in the journal before which all was added. @default () => undefined */
  readonly mark?: (() => number | undefined) | undefined;
  /** When a collection's directory last changed. @default () => undefined */
  readonly changed?: ((collection: string) => string | undefined) | undefined;
  readonly timers?: Timers | undefined;
}

/**
 * Opens `index.db`, creating it if need be. Never fails for what is in the file: one that is damaged
 * or of another version is thrown away, and everything in it comes back from the logs. On a disk
 * that takes no file the index is kept in memory.
 *
 * The calls of its parts throw `THROUGHLINE_UNAVAILABLE` when the file was lost under them or the
 * disk is full, `add` and `markDamaged` do not: they lose nothing.
 */
export function openSqliteIndex(path: string, options: SqliteIndexOptions = {}): SqliteIndex {
  const { bootId, isJournaled = false, timers = systemTimers } = options;
  const parts = new Map<string, CollectionIndex>();
  const verified = new Set<string>();
  const database = new IndexDatabase(path, { bootId, isJournaled }, () => {
    queue.begunAgain(database.isInMemory);
    for (const part of parts.values()) part.forgetAll();
    options.onLost?.();
  });
  const queue: IndexQueue = new IndexQueue(database, timers, options.mark ?? (() => undefined));
  // What a dead process had yet to remove.
  database.runQuietly(() => {
    if (database.writer.hasForgotten) void queue.erase().catch(() => undefined);
  });
  const coverageOf = (collection: string): IndexCoverage => {
    const noted = database.coveredSince(collection);
    if (noted === undefined) return "unknown";
    if (noted === null) return "covered";
    return noted === options.changed?.(collection) ? "all" : "names";
  };
  let closing: Promise<void> | undefined;
  const close = async () => {
    const isComplete = await queue.close();
    const used = Array.from(parts, ([name, { comparedAt }]) => [name, comparedAt] as const);
    database.close(isComplete, new Map(used));
  };
  return {
    clean: database.clean,
    isVerified: database.isVerified,
    mark: database.mark,
    get behind() {
      return queue.behind;
    },
    coverageOf,
    open(collection, projection) {
      const part = new CollectionIndex(database, queue, collection, projection, {
        coverage: coverageOf(collection),
        noteVerified() {
          verified.add(collection);
          database.noteVerified(verified);
        },
      });
      parts.set(collection, part);
      return part;
    },
    uncover(collection) {
      database.uncover(collection);
      return queue.cover(collection, false);
    },
    sync: () => queue.sync(),
    close() {
      closing ??= close();
      return closing;
    },
  };
}
