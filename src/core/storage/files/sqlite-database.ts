import { isThroughlineError, ThroughlineError } from "../../errors.ts";
import {
  isFileThere,
  type OpenDatabase,
  openIndexFile,
  openInMemory,
  removeCopies,
  removeIndexFile,
  replaceByCopy,
  replaceIndexFile,
} from "./sqlite-file.ts";
import { IndexDamage, removedAtOnce, removedLogs, type Statements } from "./sqlite-schema.ts";

/** Parses JSON that was written to the index. What is no JSON now is damage, as `run` takes it. */
export function parseStored<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    // Not with the error as the cause: its message quotes the text.
    const name = error instanceof Error ? error.name : "no error";
    throw damage(`a row of the index is not JSON (${name})`);
  }
}

function damage(message: string): IndexDamage {
  return new IndexDamage(message);
}

/** Pages of words that are merged at a time: some milliseconds. */
const mergedPages = 64;

/** Stands among the names for the boot in which every log was verified. No folder can have this name. */
const bootKey = "/boot";

/** SQLite's code for a disk without room. It may have some again: nothing is thrown away for it. */
const sqliteFull = 13;
/** SQLite's codes for a file that is of no use any more, whatever is asked of it. */
const useless: ReadonlySet<number> = new Set([
  8, // SQLITE_READONLY, also when the file was removed
  10, // SQLITE_IOERR
  11, // SQLITE_CORRUPT
  14, // SQLITE_CANTOPEN
  26, // SQLITE_NOTADB
]);

/**
 * One open `index.db`, which several collections share. A damaged file is never an error to a
 * person: everything in it is derived, so it is deleted and recreated.
 */
export class IndexDatabase {
  /** Whether the last process closed the file itself, so that it cannot be behind the logs. */
  readonly clean: boolean;
  /** What that process noted of each collection's names. */
  get names(): ReadonlyMap<string, string> {
    return this.#names;
  }
  #names: ReadonlyMap<string, string> = new Map();
  /** Every log was read to its end in this boot, or was whole when it began: see `noteVerified`. */
  isVerified = false;
  readonly #bootId: string | undefined;
  readonly #path: string;
  #open: OpenDatabase;
  /** A database in memory stands in for a file that the disk does not take. */
  #inMemory = false;
  /** The file that it stands in for is still there, with whatever is in it. */
  #leftBehind = false;
  /** How often the file was thrown away; those at opening are no news to anybody. */
  #losses = 0;
  #lostInUse = false;
  #onLost: (() => void) | undefined;
  /** Bytes of forgotten logs are in the file. */
  #needsCopy = false;
  /** And in these parts of the full-text index, a bit for each. */
  #partsToMerge = 0;
  /** The one of them that is being merged. */
  #merging: number | undefined;
  #closed = false;

  /**
   * Opens the index of a home, whatever is there. What is no index of this version, or not ours
   * alone, is removed. What a dead process had yet to remove is removed before this returns.
   *
   * @param onLost called from then on whenever all rows were lost and the index was recreated.
   */
  constructor(path: string, bootId: string | undefined, onLost: () => void) {
    this.#path = path;
    this.#bootId = bootId;
    removeCopies(path);
    const found = openIndexFile(path);
    this.#open = found ?? this.#replace();
    let clean = false;
    // A flag that cannot be taken back would say of the next start that nothing is behind.
    this.#insist(() => {
      const state = stateOf(this.#open.sql);
      const names = namesIn(this.#open.sql);
      this.isVerified = state.clean || (bootId !== undefined && names.get(bootKey) === bootId);
      this.#names = new Map([...names].filter(([collection]) => collection !== bootKey));
      this.#markClean(false, this.isVerified ? this.#bootNote() : new Map());
      clean = state.clean;
      this.#partsToMerge = state.pending;
      this.#needsCopy = state.pending !== 0;
    });
    while (this.#eraseStep());
    this.clean = clean && this.#losses === 0;
    this.isVerified = this.isVerified && this.#losses === 0;
    this.#onLost = onLost;
  }

  /** The statements of the file that is open now. */
  get sql(): Statements {
    return this.#current.sql;
  }

  get #current(): OpenDatabase {
    this.#assertOpen();
    return this.#open;
  }

  #assertOpen(): void {
    if (!this.#closed) return;
    throw new ThroughlineError("the index is closed", { code: "THROUGHLINE_CLOSED" });
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
      if (isFull(cause)) throw unavailable("the disk is full: the index cannot go on", cause);
      if (!isUseless(cause)) throw cause;
      this.#lose();
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

  /**
   * Removes rows, and words from one part. If they cannot be removed alone, all are. Their bytes are
   * `erase`'s.
   */
  remove(part: number, work: () => void): void {
    this.#insist(() => {
      const parts = this.#partsToMerge | (1 << part);
      this.#merging = undefined; // what is merged so far holds what is removed now
      this.transaction(() => {
        work();
        this.sql.setPending.run(parts);
      });
      this.#partsToMerge = parts;
      this.#needsCopy = true;
    });
  }

  /** Everything that `work` writes, or nothing. */
  transaction(work: () => void): void {
    const { database } = this.#current;
    database.exec("begin");
    try {
      work();
      database.exec("commit");
    } catch (error) {
      try {
        database.exec("rollback");
      } catch {
        // Some failures end the transaction by themselves. The first error is the news.
      }
      throw error;
    }
  }

  /**
   * A slice of the pending removals. Deleting is not enough: SQLite leaves copies of rows in the
   * unused space of pages whenever it rebalances them, whether `secure_delete` is on or not, and the
   * full-text index keeps deleted words, with its own `secure-delete` some of them, until segments
   * are merged. So one part after the other is merged, and then a copy of what is alive takes the
   * place of the file.
   *
   * @returns whether some is left.
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: a file is left that cannot be removed.
   */
  erase(): boolean {
    const more = this.#eraseStep();
    if (this.#leftBehind) this.#removeLeftBehind();
    return more;
  }

  /**
   * Closing twice is closing once.
   *
   * @param isComplete nothing that was added is missing in the file.
   * @param used the collections that were compared with their logs in this process, each with the
   * names of its logs, if they are known.
   */
  close(isComplete: boolean, used: ReadonlyMap<string, string | undefined>): void {
    if (this.#closed) return;
    this.runQuietly(() => {
      if (!isComplete || this.#lostInUse || !this.#wasCompared(used)) return;
      this.#markClean(true, new Map([...this.names, ...used]));
    });
    this.#closed = true;
    this.#open.database.close();
  }

  /** Every log of these collections was read to its end: no later start of this boot needs to. */
  noteVerified(collections: ReadonlySet<string>): void {
    this.runQuietly(() => {
      const known = this.#current.sql.collections.all(removedLogs);
      if (!known.every((row) => collections.has(String(row["collection"])))) return;
      this.#markClean(false, this.#bootNote());
    });
  }

  #bootNote(): ReadonlyMap<string, string | undefined> {
    return new Map([[bootKey, this.#bootId]]);
  }

  /** Of a collection that was not opened, only its state at the last close is known. */
  #wasCompared(used: ReadonlyMap<string, unknown>): boolean {
    const collections = this.#open.sql.collections.all(removedLogs);
    return this.clean || collections.every((row) => used.has(String(row["collection"])));
  }

  #eraseStep(): boolean {
    this.#assertOpen();
    if (!this.#needsCopy) return false;
    this.#insist(() => {
      if (this.#removeSome()) return;
      if (this.#partsToMerge !== 0) {
        const part = 31 - Math.clz32(this.#partsToMerge);
        if (this.#mergeSome(part)) return;
        this.#partsToMerge &= ~(1 << part);
      } else {
        if (!this.#inMemory) this.#replaceByCopy();
        this.#needsCopy = false;
      }
    });
    return this.#needsCopy;
  }

  /** Removes some of what is left of a removed log. @returns whether there was any. */
  #removeSome(): boolean {
    const { sql } = this.#current;
    const row = sql.removedLog.get(removedLogs);
    if (row === undefined) return false;
    const id = Number(row["id"]);
    const left = Math.max(0, Number(row["seq"]) - removedAtOnce);
    const part = Number(String(row["key"]).split(" ")[1]);
    this.transaction(() => {
      sql.words[part]?.().removeAlone.run();
      sql.words[part]?.().removeAfter.run(id, left, id);
      sql.shortenLog.run(left, id);
      if (Number(sql.removeIds.run(id).changes) > 0 || left > 0) return;
      sql.removePlaces.run(id);
      sql.removeLog.run(id);
    });
    return true;
  }

  /** Merges some of a part. @returns whether there is more. */
  #mergeSome(part: number): boolean {
    const { sql } = this.#current;
    const isFirst = this.#merging !== part;
    const before = Number(sql.changes.get()?.["changes"]);
    sql.words[part]?.().merge.run(isFirst ? -mergedPages : mergedPages);
    // SQLite's own sign that nothing was left to merge.
    const isOver = Number(sql.changes.get()?.["changes"]) - before < 2;
    this.#merging = isOver ? undefined : part;
    return !isOver;
  }

  #replaceByCopy(): void {
    replaceByCopy(this.#path, this.#open.database);
    const copy = openIndexFile(this.#path);
    if (copy === undefined) throw damage("the copy of the index cannot be opened");
    this.#open = copy;
  }

  /** Does something that must have an end: if it cannot be done, there is nothing left to do it to. */
  #insist(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!isFull(error) && !isUseless(error)) throw error;
      this.#lose();
    }
  }

  #lose(): void {
    try {
      this.#open.database.close();
    } catch {
      // It may be closed already, and is of no use in any case.
    }
    this.#needsCopy = false;
    this.#partsToMerge = 0;
    this.#merging = undefined;
    this.#losses++;
    this.#names = new Map();
    this.#open = this.#replace();
    this.#lostInUse = this.#onLost !== undefined;
    this.#onLost?.();
  }

  /** An empty index. In memory when the disk does not take a file, or spoilt it twice. */
  #replace(): OpenDatabase {
    const file = this.#losses < 2 ? replaceIndexFile(this.#path) : undefined;
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
      if (isFileThere(this.#path)) removeIndexFile(this.#path);
      this.#leftBehind = false;
    } catch (cause) {
      throw unavailable(
        "the file of the index cannot be removed, and may hold what it held",
        cause,
      );
    }
  }

  /** Durable before everything that follows, and only after everything that went before. */
  #markClean(clean: boolean, names: ReadonlyMap<string, string | undefined>): void {
    const { database, sql } = this.#open;
    database.exec("pragma synchronous = full");
    this.transaction(() => {
      sql.setClean.run(clean ? 1 : 0);
      sql.removeNames.run();
      for (const [collection, noted] of names) {
        if (noted !== undefined) sql.addNames.run(collection, noted);
      }
    });
    database.exec("pragma synchronous = normal");
  }
}

function stateOf(sql: Statements): { readonly clean: boolean; readonly pending: number } {
  const row = sql.state.get();
  return { clean: row?.["clean"] === 1, pending: Number(row?.["owed"]) };
}

function namesIn(sql: Statements): ReadonlyMap<string, string> {
  const rows = sql.names.all();
  return new Map(rows.map((row) => [String(row["collection"]), String(row["names"])]));
}

function isFull(error: unknown): boolean {
  return sqliteCode(error) === sqliteFull;
}

function isUseless(error: unknown): boolean {
  if (error instanceof IndexDamage) return true;
  const code = sqliteCode(error);
  // An error of the file system by itself, in replacing the file.
  return code === undefined ? error instanceof Error && "syscall" in error : useless.has(code);
}

/** The primary code of an error of SQLite. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

function unavailable(message: string, cause: unknown): ThroughlineError {
  return new ThroughlineError(message, { code: "THROUGHLINE_UNAVAILABLE", cause });
}
