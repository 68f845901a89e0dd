import fs from "node:fs";
import { isThroughlineError, ThroughlineError } from "../../errors.ts";
import { unavailable } from "./file-ports.ts";
import {
  faultOf,
  inTransaction,
  isFileThere,
  type OpenDatabase,
  openIndexFile,
  openInMemory,
  removeIndexFile,
  replaceIndexFile,
} from "./sqlite-file.ts";
import { removedLogs, type Statements } from "./sqlite-schema.ts";
import { IndexWriter } from "./sqlite-writer.ts";

/**
 * One open `index.db`, which several collections share. A damaged file is never an error to a
 * person: everything in it is derived, so it is deleted and recreated.
 */
export class IndexDatabase {
  readonly path: string;
  /** Whether the last process closed the file itself, so that it cannot be behind the logs. */
  readonly clean: boolean;
  /** Every log was read to its end in this boot, or was whole when it began: see `noteVerified`. */
  readonly isVerified: boolean;
  /** Up to this position in the journal of the last process the index has all. */
  readonly mark: number;
  /** The collections whose logs the index has, but for what the journal holds; each with what was noted of its directory. */
  readonly #covered = new Map<string, string | null>();
  readonly #bootId: string | undefined;
  /** What is added is in a journal too, until the index has it for good. */
  readonly isJournaled: boolean;
  #open: OpenDatabase;
  #writer: IndexWriter | undefined;
  /** A database in memory stands in for a file that the disk does not take. */
  #inMemory = false;
  /** The file that it stands in for is still there, with whatever is in it. */
  #leftBehind = false;
  /** How often the file was thrown away; those at opening are no news to anybody. */
  #losses = 0;
  #lostInUse = false;
  #onLost: (() => void) | undefined;
  #closed = false;

  /**
   * Opens the index of a home, whatever is there. What is no index of this version, or not ours
   * alone, is removed.
   *
   * @param isJournaled what is added from now on is in a journal too, until the index has it for good.
   * @param onLost called from then on whenever all rows were lost and the index was recreated.
   */
  constructor(
    path: string,
    { bootId, isJournaled }: { readonly bootId: string | undefined; readonly isJournaled: boolean },
    onLost: () => void,
  ) {
    this.path = path;
    this.#bootId = bootId;
    this.isJournaled = isJournaled;
    this.#open = openIndexFile(path) ?? this.#replace();
    let found = { clean: false, isVerified: false, mark: 0 };
    // A flag that cannot be taken back would say of the next start that nothing is behind.
    this.#insist(() => {
      const { sql } = this.#open;
      const { clean, mark, boot } = sql.state.get() ?? {};
      const isVerified = clean === 1 || (bootId !== undefined && boot === bootId);
      const rows = sql.covered.all();
      for (const { collection, changed } of rows) {
        this.#covered.set(String(collection), changed as string | null);
      }
      found = { clean: clean === 1, isVerified, mark: Number(mark) };
      this.#durably(() => {
        sql.setClean.run(0);
        sql.setMark.run(0);
        sql.setBoot.run(isVerified ? (bootId ?? null) : null);
        for (const collection of this.#covered.keys()) {
          if (isJournaled) sql.cover.run(collection, null);
          else sql.uncover.run(collection);
        }
      });
    });
    const isLost = this.#losses > 0;
    this.clean = found.clean && !isLost;
    this.isVerified = found.isVerified && !isLost;
    this.mark = isLost ? 0 : found.mark;
    this.#onLost = onLost;
  }

  /** The statements of the file that is open now. */
  get sql(): Statements {
    this.#assertOpen();
    return this.#open.sql;
  }

  /** Writes to it on this thread. */
  get writer(): IndexWriter {
    this.#assertOpen();
    this.#writer ??= new IndexWriter(this.#open);
    return this.#writer;
  }

  get isInMemory(): boolean {
    return this.#inMemory;
  }

  get losses(): number {
    return this.#losses;
  }

  /** What was noted of a collection: when its directory last changed, or that it is covered; see `IndexCoverage`. */
  coveredSince(collection: string): string | null | undefined {
    return this.#covered.get(collection);
  }

  isLongerThan(bytes: number): boolean {
    const stats = fs.statSync(this.path, { throwIfNoEntry: false });
    return stats !== undefined && stats.size > bytes;
  }

  /**
   * Does something with the file. When that shows that the file is of no use, all is thrown away.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: that happened, or the disk is full.
   */
  run<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      const fault = faultOf(cause);
      if (fault === undefined) throw cause;
      if (fault === "full") throw unavailable("the disk is full: the index cannot go on", cause);
      this.lose();
      throw unavailable("the index could not be used, and is being rebuilt from the logs", cause);
    }
  }

  /** The same where nothing has to be answered: `onLost` has reported a loss. */
  runQuietly(work: () => void): void {
    try {
      this.run(work);
    } catch (error) {
      if (!isThroughlineError(error, "THROUGHLINE_UNAVAILABLE")) throw error;
    }
  }

  /** Throws away all that is in the file, and begins it again, empty. */
  lose(): void {
    try {
      this.#open.database.close();
    } catch {
      // It may be closed already, and is of no use in any case.
    }
    this.#writer = undefined;
    this.#covered.clear();
    this.#losses++;
    this.#open = this.#replace();
    this.#lostInUse = this.#onLost !== undefined;
    this.#onLost?.();
  }

  /** @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: an older file is left that cannot be removed. */
  assertNothingLeft(): void {
    if (this.#leftBehind) this.#removeLeftBehind();
  }

  /** What was noted of this collection at the start holds no longer. */
  uncover(collection: string): void {
    this.#covered.delete(collection);
  }

  /**
   * Closes it. Closing twice is closing once.
   *
   * @param isComplete nothing that was added is missing in the file.
   * @param used the collections that were used, each with when its directory last changed, if it was
   * compared with the index.
   */
  close(isComplete: boolean, used: ReadonlyMap<string, string | undefined>): void {
    if (this.#closed) return;
    this.runQuietly(() => {
      if (!isComplete || this.#lostInUse || !this.#isKnown(used)) return;
      const { sql } = this;
      this.#durably(() => {
        sql.setClean.run(1);
        sql.setMark.run(0);
        for (const [collection, changed] of this.#covered) {
          // What was noted of one that was not compared still holds.
          const isCompared = used.get(collection) !== undefined;
          if (this.clean && !isCompared) sql.cover.run(collection, changed);
        }
        for (const [collection, changed] of used) {
          if (changed !== undefined) sql.cover.run(collection, changed);
        }
      });
    });
    this.#closed = true;
    this.#open.database.close();
  }

  /** Every log of these collections was read to its end: no later start of this boot needs to. */
  noteVerified(collections: ReadonlySet<string>): void {
    this.runQuietly(() => {
      const known = this.sql.collections.all(removedLogs);
      if (!known.every((row) => collections.has(String(row["collection"])))) return;
      this.#durably(() => this.sql.setBoot.run(this.#bootId ?? null));
    });
  }

  /** After an unclean end, what a process without a journal did to a collection is found when it is used. */
  #isKnown(used: ReadonlyMap<string, unknown>): boolean {
    if (this.clean) return true;
    const names = this.#open.sql.collections
      .all(removedLogs)
      .map((row) => String(row["collection"]));
    return names.every((name) => used.has(name) || (this.isJournaled && this.#covered.has(name)));
  }

  #assertOpen(): void {
    if (!this.#closed) return;
    throw new ThroughlineError("the index is closed", { code: "THROUGHLINE_CLOSED" });
  }

  /** Does something that must have an end: if it cannot be done, there is nothing left to do it to. */
  #insist(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (faultOf(error) === undefined) throw error;
      this.lose();
    }
  }

  /** An empty index. In memory when the disk does not take a file, or spoilt it twice. */
  #replace(): OpenDatabase {
    const file = this.#losses < 2 ? replaceIndexFile(this.path) : undefined;
    this.#inMemory = file === undefined;
    if (file !== undefined) return file;
    this.#leftBehind = true;
    try {
      this.#removeLeftBehind();
    } catch {
      // It matters, and is said, when something is forgotten.
    }
    return openInMemory();
  }

  #removeLeftBehind(): void {
    try {
      if (isFileThere(this.path)) removeIndexFile(this.path);
      this.#leftBehind = false;
    } catch (cause) {
      throw unavailable(
        "the file of the index cannot be removed, and may hold what it held",
        cause,
      );
    }
  }

  /** Durable before everything that follows, and only after everything that went before. */
  #durably(work: () => void): void {
    const { database } = this.#open;
    database.exec("pragma synchronous = full");
    try {
      inTransaction(database, work);
    } finally {
      database.exec("pragma synchronous = normal");
    }
  }
}
