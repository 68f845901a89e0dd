import fs from "node:fs";
import { isThroughlineError, ThroughlineError, unavailable } from "../../errors.ts";
import {
  durably,
  type Fault,
  faultOf,
  isFileThere,
  type OpenDatabase,
  openIndexFile,
  openInMemory,
  removeIndexFile,
  replaceIndexFile,
  type Statements,
} from "./index-schema.ts";

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
 * One open `index.db`. A damaged file is never an error to a person: everything in it is derived, so it is deleted
 * and recreated.
 */
export class IndexFile {
  readonly path: string | undefined;
  /** The process before this one closed the index itself: no log is ahead of it. */
  readonly clean: boolean;
  /** Where the index is in the journal of the last process: a position in one of its segments. */
  readonly mark: { readonly nth: number; readonly position: number };
  /**
   * The collections whose logs the index has, but for what the journal holds; each with when its directory had
   * last changed, if that was noted at a clean end.
   */
  readonly covered = new Map<string, string | null>();
  #open: OpenDatabase;
  /** A database in memory stands in for a file that the disk does not take. */
  isInMemory = false;
  /** How often the file was thrown away; those at opening are no news to anybody. */
  losses = 0;
  #onLost: (() => void) | undefined;
  #closed = false;

  /**
   * Opens the index of a home, creating it if need be. Never fails for what is in the file: one that is damaged,
   * of another version or not ours alone is thrown away, and everything in it comes back from the logs. On a
   * disk that takes no file the index is kept in memory.
   *
   * @param path `undefined`: in memory from the start.
   * @param onLost called whenever all rows were lost and the index was recreated.
   */
  constructor(path: string | undefined, onLost: () => void) {
    this.path = path;
    this.#open = (path && openIndexFile(path, true)) || this.#replace();
    let found: Record<string, unknown> = {};
    try {
      found = this.sql.state.get() ?? {};
      for (const { collection, changed } of this.sql.covered.all()) {
        this.covered.set(String(collection), changed as string | null);
      }
      durably(this.#open.database, () => this.sql.setClean.run(0));
    } catch (error) {
      if (faultOf(error) === undefined) throw error;
      // A flag that cannot be taken back would say of the next start that nothing is behind.
      this.lose();
      found = {};
    }
    const { clean, nth = 0, mark = 0 } = found;
    this.clean = clean === 1;
    this.mark = { nth: Number(nth), position: Number(mark) };
    this.#onLost = onLost;
  }

  /** How long the file is, with its journal. */
  get bytes(): number {
    if (this.path === undefined || this.isInMemory) return 0;
    const sizeOf = (path: string) => fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return sizeOf(this.path) + sizeOf(`${this.path}-wal`);
  }

  /** The connection that is open now. */
  get opened(): OpenDatabase {
    if (!this.#closed) return this.#open;
    throw new ThroughlineError("the index is closed", { code: "THROUGHLINE_CLOSED" });
  }

  get sql(): Statements {
    return this.opened.sql;
  }

  /**
   * Does something with the file. When that shows that the file is of no use, all is thrown away.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: that happened, or the disk is full or the system lacks something.
   */
  run<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      const fault = faultOf(cause);
      if (fault === undefined) throw cause;
      return this.failed(fault, cause);
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

  failed(fault: Fault, cause?: unknown): never {
    if (fault !== "useless")
      throw unavailable("the index cannot go on: the disk or the system is full", cause);
    this.lose();
    throw lost(cause);
  }

  /** Throws away all that is in the file, and begins it again, empty, or in memory. */
  lose(inMemory = false): void {
    const { database } = this.opened; // once it is closed, the file may be another process's
    try {
      database.close();
    } catch {
      // It may be closed already, and is of no use in any case.
    }
    this.covered.clear();
    this.losses++;
    this.#open = this.#replace(inMemory);
    this.#onLost?.();
  }

  /** @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: an older file is left that cannot be removed. */
  assertNothingLeft(): void {
    const { path } = this;
    if (!this.isInMemory || path === undefined || !isFileThere(path)) return;
    try {
      removeIndexFile(path);
    } catch (cause) {
      const message = "the file of the index cannot be removed, and may hold what it held";
      throw unavailable(message, cause);
    }
  }

  /**
   * Closes it.
   *
   * @param isComplete nothing is missing in the file.
   * @param used the collections that were used, each with when its directory last changed, if it was
   * compared with the index.
   */
  close(isComplete: boolean, used: ReadonlyMap<string, string | undefined>): void {
    const { sql, database } = this.opened;
    const noteEnd = () => {
      sql.setClean.run(1);
      sql.setMark.run(0, 0);
      for (const [collection, changed] of used) {
        const isCovered = changed !== undefined || this.covered.has(collection);
        if (isCovered) sql.cover.run(collection, changed ?? null);
      }
    };
    if (isComplete) this.runQuietly(() => durably(database, noteEnd));
    this.#closed = true;
    this.#open.database.close();
  }

  /** An empty index. In memory when the disk does not take a file, or spoilt it twice. */
  #replace(inMemory = false): OpenDatabase {
    const { path } = this;
    const file = path && this.losses < 2 && !inMemory ? replaceIndexFile(path) : undefined;
    this.isInMemory = !file;
    if (file) return file;
    try {
      this.assertNothingLeft();
    } catch {
      // It matters, and is said, when something is forgotten.
    }
    return openInMemory();
  }
}

export function lost(cause?: unknown): ThroughlineError {
  return unavailable("the index could not be used, and is being rebuilt from the logs", cause);
}
