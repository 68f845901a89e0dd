import { basename, join } from "node:path";
import { closed, unavailable } from "../../errors.ts";
import { KeyedMutex } from "../../mutex.ts";
import { logName } from "./file-name.ts";
import {
  isCode,
  isDiskError,
  logTemporary,
  rethrow,
  syncNames,
  unlinkIfThere,
} from "./file-ports.ts";
import { LogFile, type LogPorts } from "./log-file.ts";
import { followIndex, reportUnreadable } from "./reconcile.ts";

/** The logs of a collection that are in use: one change at a time for each, and a bound on open files. */
export class OpenLogs {
  readonly #ports: LogPorts;
  /** In order of use, the least used first. */
  readonly #open = new Map<string, LogFile>();
  readonly #changes = new KeyedMutex();
  /** Logs whose file could not be opened, or not read, the last time. */
  readonly #unreadable = new Set<string>();
  /** Logs that a reader looked for last, in this pass of the event loop, and that are not there. */
  readonly #missing = new Set<string>();
  #closed = false;

  constructor(ports: LogPorts) {
    this.#ports = ports;
  }

  /** Does something to a log, after everything that was asked of it before. The key was checked. */
  async alone<T>(key: string, work: () => Promise<T>): Promise<T> {
    this.assertOpen();
    return this.#after(key, work);
  }

  /**
   * Opens a log for its index, also while the store is closing.
   *
   * @returns `undefined` when its file cannot be read, which was reported: a fault stays with its log.
   */
  open(key: string): Promise<LogFile | undefined> {
    return this.#after(key, () => this.opened(key)).catch((error) => {
      if (!this.#unreadable.has(key)) throw error;
      reportUnreadable(this.#ports, key, error);
      return undefined;
    });
  }

  /** Removes what a dead process left of rewriting a log. Some file systems bring it back after a power cut. */
  sweep(key: string): Promise<void> {
    return this.#after(key, async () => {
      const { disk, directory, guard } = this.#ports;
      guard();
      if (await unlinkIfThere(disk, logTemporary(this.path(key))))
        await syncNames(this.#ports, directory);
    });
  }

  #after<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#changes.run(key, work).catch((error) => rethrow(key, error));
  }

  /** Runs a read with the log open. Reads wait for nothing but the opening. */
  async read<T>(key: string, read: (log: LogFile | undefined) => Promise<T>): Promise<T> {
    this.assertOpen();
    const ahead = this.#open.get(key);
    // What was appended before is read too. The log may be closed by then.
    if (ahead?.isAhead) await ahead.caughtUp();
    const log = this.#usable(key);
    if (log !== undefined) return read(log).catch((error) => rethrow(key, error));
    return this.alone(key, async () => {
      const found = await this.opened(key);
      if (found === undefined) this.#noteMissing(key);
      return read(found);
    });
  }

  /** Notes that a log is not there: who finds that out often begins it at once. */
  #noteMissing(key: string): void {
    if (this.#missing.size === 0) setImmediate(() => this.#missing.clear());
    this.#missing.add(key);
  }

  /** The log, if it is open and no other work on it is under way. */
  free(key: string): LogFile | undefined {
    return this.#closed || this.#changes.isLocked(key) ? undefined : this.#usable(key);
  }

  /** The log, if it is open and can go on being used. */
  #usable(key: string): LogFile | undefined {
    const log = this.#open.get(key);
    if (log === undefined) return undefined;
    this.#open.delete(key);
    this.#open.set(key, log);
    return log.failed || log.comparedAfter !== this.#ports.index.doubts ? undefined : log;
  }

  /** The log, opened if it is there. Within `alone` only. */
  async opened(key: string): Promise<LogFile | undefined> {
    const usable = this.#usable(key);
    if (usable !== undefined) return usable;
    const { doubts } = this.#ports.index;
    this.#missing.delete(key);
    const log = await this.#openFile(key);
    if (log === undefined) {
      const { index } = this.#ports;
      const isKnown = () => (index.entry(key)?.seq ?? 0) > 0;
      // The journal may say that the log was cut back to nothing, which the index has yet to read.
      if (isKnown()) await index.file.catchUp().catch(() => undefined);
      if (!isKnown()) return undefined;
      // Deleted behind our back, or a file system that lost sight of it: not a new log.
      throw unavailable(`${key} was stored, and its file is not there`);
    }
    if (log.stored.end === 0 && !log.damaged && this.#ports.index.entry(key) === undefined) {
      // The process that created it died before its first batch: nothing was stored.
      await log.close();
      this.#ports.guard();
      await this.#ports.disk.unlink(log.path);
      return undefined;
    }
    try {
      await followIndex(this.#ports, log);
    } catch (error) {
      if (isDiskError(error)) this.#unreadable.add(key);
      await log.close();
      throw error;
    }
    this.#add(log, doubts);
    return log;
  }

  /** A log that is not there yet: what is written first makes its file. Within `alone` only. */
  begun(key: string): LogFile {
    const log = new LogFile(this.#ports, key);
    this.#add(log, this.#ports.index.doubts);
    return log;
  }

  #add(log: LogFile, doubts: number): void {
    log.comparedAfter = doubts;
    this.#open.set(log.key, log);
    void this.closeLeastUsed();
  }

  /** Resolves when what is on its way to a log is stored or void. */
  async caughtUp(key: string): Promise<void> {
    await this.#open.get(key)?.caughtUp();
  }

  /** Closes a log, once what is on its way to it is stored or void. */
  async shut(key: string): Promise<void> {
    const log = this.#open.get(key);
    this.#open.delete(key);
    await log?.caughtUp();
    await log?.cutBack().catch(() => undefined); // it stays unknown
    await log?.close();
  }

  async #openFile(key: string): Promise<LogFile | undefined> {
    const open = () => LogFile.open(this.#ports, key);
    const before = this.#open.get(key);
    try {
      await before?.caughtUp();
      await before?.cutBack();
      await this.shut(key);
      const log = await open().catch(async (error) => {
        if (!isCode(error, "EMFILE", "ENFILE")) throw error;
        await this.closeLeastUsed(0);
        return open();
      });
      this.#unreadable.delete(key);
      return log;
    } catch (error) {
      this.#unreadable.add(key);
      throw error;
    }
  }

  /**
   * The same to change it: its path still leads to its file, and nothing else does. Within `alone` only. A log that
   * a reader just missed is not looked for again: making its file refuses one that is there by now.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: another program removed or replaced the file. The
   *   next call opens what is there then.
   */
  async writable(key: string): Promise<LogFile | undefined> {
    if (this.#missing.delete(key)) return undefined;
    const log = this.#usable(key);
    const place = log?.place();
    if (place === "own") return log;
    if (log !== undefined) await this.shut(key);
    if (log !== undefined && place !== "linked") {
      const name = basename(log.path);
      throw unavailable(
        `${key}: the file ${name} was removed or replaced by another program. Nothing was stored. ` +
          "Try again to continue with the file that is there now",
      );
    }
    const opened = await this.opened(key); // which makes a linked file one of its own
    if (opened?.failed !== true) return opened;
    throw unavailable(`${key}: the disk still refuses to sync it. Nothing was stored`);
  }

  /** Closes the least used logs that nothing is waiting for, down to `keep`. Never rejects. */
  async closeLeastUsed(keep = this.#ports.maxOpen): Promise<void> {
    const closing: Promise<void>[] = [];
    for (const [key, log] of this.#open) {
      if (this.#open.size <= keep) break;
      if (log.isAhead || log.isUncut || this.#changes.isLocked(key)) continue;
      this.#open.delete(key);
      closing.push(log.close().catch(() => undefined)); // nothing is lost by it
    }
    await Promise.all(closing);
  }

  path(key: string): string {
    return join(this.#ports.home, logName(this.#ports.collection, key));
  }

  assertOpen(): void {
    if (this.#closed) throw closed();
  }

  /** Finishes what was asked for and closes every file. `ready` is waited for first. */
  async close(ready: Promise<unknown> | undefined): Promise<void> {
    this.#closed = true;
    await ready?.catch(() => undefined); // the caller that listed got the error
    await this.#changes.idle(); // what was asked of a log may open it, and close another one
    for (const key of [...this.#open.keys()]) {
      await this.shut(key).catch(() => undefined); // nothing is lost by it
    }
  }
}
