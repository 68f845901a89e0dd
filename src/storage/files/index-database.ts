// The file `index.db`: opened, thrown away when it is of no use, wiped. It uses node:sqlite and
// node:fs on the real file and not the Disk port, because SQLite does: tests without a real disk
// take the index in memory. Nothing here is worth an error to a person: the logs have it all.
import fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ThroughlineError } from "../../errors.ts";
import { randomId } from "../../ids.ts";
import { createSchema, prepareStatements, type Statements, schemaVersion } from "./sqlite-schema.ts";

/** Rows that cannot be what was written. */
export class IndexDamage extends Error {}

/** Pages of the full-text index that one slice of wiping merges: about 10 ms. */
const mergePages = 32;

/** SQLite's codes for a file that cannot be read or written any more, whatever is asked of it. */
const fileErrors: ReadonlySet<number> = new Set([
  8, // SQLITE_READONLY
  10, // SQLITE_IOERR
  11, // SQLITE_CORRUPT
  13, // SQLITE_FULL
  14, // SQLITE_CANTOPEN
  26, // SQLITE_NOTADB
]);

/** One `index.db`, open. */
export class IndexDatabase {
  /** Whether the last process closed the file itself, so that it cannot be behind. */
  readonly clean: boolean;
  readonly #path: string;
  readonly #onLost: () => void;
  #database: DatabaseSync;
  #sql: Statements;
  /** A database in memory stands in for a file that the disk does not take. */
  #inMemory = false;
  /** What is left of the wiping, beginning at the first; kept in the file as one flag. */
  #owed: "start" | "merge" | "copy" | undefined;
  #closed = false;

  /**
   * Opens the index, whatever is there: what is no index of this version, or not ours alone, is
   * removed and begun anew. Wiping that an earlier process owed is done before this returns.
   *
   * @param onLost called when everything in the index was lost and it began anew.
   */
  constructor(path: string, onLost: () => void) {
    this.#path = path;
    this.#onLost = onLost;
    sweep(path);
    const database = openOrReplace(path);
    this.#database = database ?? createInMemory();
    this.#inMemory = database === undefined;
    this.#sql = prepareStatements(this.#database);
    const { clean, owed } = stateOf(this.#sql);
    this.clean = clean;
    this.#owed = owed ? "start" : undefined;
    this.run(() => this.#setClean(0));
    while (this.wipe());
  }

  /** The statements of the open file. */
  get sql(): Statements {
    if (this.#closed) {
      throw new ThroughlineError("the index is closed", { code: "THROUGHLINE_CLOSED" });
    }
    return this.#sql;
  }

  /**
   * Does something with the file. If that shows that the file is damaged or that the disk does not
   * take it, everything is thrown away, `onLost` is called, and the index begins anew and empty.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: that happened; nothing was answered.
   */
  run<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      if (!isFileError(cause)) throw cause;
      this.#lose();
      const message = "the index could not be used, and is made anew from the logs";
      throw new ThroughlineError(message, { code: "THROUGHLINE_UNAVAILABLE", cause });
    }
  }

  /** The same, where nothing has to be answered: `onLost` has told what there is to tell. */
  runQuietly(work: () => void): void {
    try {
      this.run(work);
    } catch (error) {
      if (!(error instanceof ThroughlineError) || error.code !== "THROUGHLINE_UNAVAILABLE") throw error;
    }
  }

  /** Everything that `work` writes, or nothing. */
  transaction(work: () => void): void {
    this.#database.exec("begin");
    try {
      work();
      this.#database.exec("commit");
    } catch (error) {
      try {
        this.#database.exec("rollback");
      } catch {
        // Some failures end the transaction by themselves; the first error is the news.
      }
      throw error;
    }
  }

  /** Notes, in the transaction that drops rows, that their bytes are still in the file. */
  owe(): void {
    this.sql.setOwed.run(1);
    this.#owed = "start";
  }

  /**
   * A slice of the wiping. Deleting is not enough: SQLite leaves copies of rows in the unused space
   * of pages whenever it rebalances them, `secure_delete` or not, and the full-text index keeps
   * deleted words until it merges their segment. So all segments are merged into one, and what is
   * alive is copied into a new file, which takes the place of the old one.
   */
  wipe(): boolean {
    const sql = this.sql;
    if (this.#owed === undefined) return false;
    try {
      this.run(() => {
        if (this.#owed === "start") {
          // A negative number begins a merge of everything; positive ones go on with it.
          this.#merge(sql, -mergePages);
          this.#owed = "merge";
        } else if (this.#owed === "merge") {
          // Less than two changes: there was nothing left to merge.
          if (this.#merge(sql, mergePages) < 2) this.#owed = "copy";
        } else {
          this.#replaceByCopy();
          this.#owed = undefined;
        }
      });
    } catch (error) {
      // The file was thrown away as a whole, which is a wipe too, unless even that failed.
      if (fs.existsSync(this.#path) && this.#inMemory) throw error;
    }
    return this.#owed !== undefined;
  }

  /** Closes the file and marks it as complete. Closing twice is closing once. */
  close(): void {
    if (this.#closed) return;
    this.runQuietly(() => this.#setClean(1));
    this.#closed = true;
    this.#database.close();
  }

  #merge(sql: Statements, pages: number): number {
    const before = Number(sql.changes.get()?.["n"]);
    sql.merge.run(pages);
    return Number(sql.changes.get()?.["n"]) - before;
  }

  /** The flag is durable before anything that follows, and only after all that went before. */
  #setClean(clean: 0 | 1): void {
    this.#database.exec("pragma synchronous = full");
    this.#sql.setClean.run(clean);
    this.#database.exec("pragma synchronous = normal");
  }

  #replaceByCopy(): void {
    if (this.#inMemory) return this.owe0();
    const copy = `${this.#path}.tmp-${randomId()}`;
    createFile(copy); // the mode is ours before there is a byte in it
    this.#database.exec(`vacuum into '${copy.replaceAll("'", "''")}'`);
    const copied = new DatabaseSync(copy);
    try {
      copied.exec("update state set owed = 0"); // and syncs the whole file
    } finally {
      copied.close();
    }
    this.#database.close();
    removeSideFiles(this.#path); // none of the old one may be taken for the new one's
    syncDirectory(dirname(this.#path));
    fs.renameSync(copy, this.#path);
    syncDirectory(dirname(this.#path));
    this.#database = openFile(this.#path);
    this.#sql = prepareStatements(this.#database);
  }

  #lose(): void {
    try {
      this.#database.close();
    } catch {
      // It is thrown away in any case.
    }
    const fresh = replaceFile(this.#path);
    this.#database = fresh ?? createInMemory();
    this.#inMemory = fresh === undefined;
    this.#sql = prepareStatements(this.#database);
    this.#owed = undefined;
    this.#onLost();
  }
}
