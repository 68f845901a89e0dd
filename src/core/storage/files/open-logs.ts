import { basename, join } from "node:path";
import { KeyedMutex } from "../../mutex.ts";
import { fileNameOf } from "./file-name.ts";
import { closed, isCode, isDiskError, rethrow, unavailable } from "./file-ports.ts";
import { LogFile, type LogPorts } from "./log-file.ts";
import { followIndex, reportUnreadable } from "./reconcile.ts";

/** What a full disk did not take of the index is tried again after this time. */
const followMs = 1_000;

/** One log in use. */
export interface Slot {
  readonly key: string;
  log: LogFile | undefined;
  /** Which index the log was compared with. */
  indexAge: number;
}

/** The logs of a collection that are in use: one change at a time for each, and a bound on open files. */
export class OpenLogs {
  readonly #ports: LogPorts;
  /** In order of use, the least used first. */
  readonly #slots = new Map<string, Slot>();
  readonly #changes = new KeyedMutex();
  /** Logs whose file could not be opened, or not read, the last time. */
  readonly #unreadable = new Set<string>();
  /** Logs that a reader looked for last, in this pass of the event loop, and that are not there. */
  readonly #missing = new Set<string>();
  #closed = false;
  #indexAge = 0;
  #isFollowing = false;

  constructor(ports: LogPorts) {
    this.#ports = ports;
  }

  /** Does something to a log, after everything that was asked of it before. The key was checked. */
  alone<T>(key: string, work: (slot: Slot) => Promise<T>): Promise<T> {
    return this.#closed ? Promise.reject(closed()) : this.#enter(key, work);
  }

  /**
   * Opens a log for its index, also while the store is closing.
   *
   * @returns `undefined` when its file cannot be read, which was reported: a fault stays with its log.
   */
  open(key: string): Promise<LogFile | undefined> {
    return this.#enter(key, (slot) => this.opened(slot)).catch((error) => {
      if (!this.#unreadable.has(key)) throw error;
      reportUnreadable(this.#ports, key, error);
      return undefined;
    });
  }

  #enter<T>(key: string, work: (slot: Slot) => Promise<T>): Promise<T> {
    const slot = this.#slots.get(key) ?? this.#newSlot(key);
    this.#touch(slot);
    return this.#after(slot, () => work(slot));
  }

  /** Does something after everything that was asked of a log before. */
  async #after<T>(slot: Slot, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#changes.run(slot.key, work);
    } catch (error) {
      return rethrow(slot.key, error);
    } finally {
      const isUsed = slot.log !== undefined || this.#changes.isLocked(slot.key);
      if (!isUsed && this.#slots.get(slot.key) === slot) this.#slots.delete(slot.key);
    }
  }

  /** Runs a read with the log open. Reads wait for nothing but the opening. */
  async read<T>(key: string, read: (log: LogFile | undefined) => Promise<T>): Promise<T> {
    this.assertOpen();
    const ahead = this.#slots.get(key)?.log;
    // What was appended before is read too. The log may be closed by then.
    if (ahead?.isAhead) await ahead.caughtUp();
    const slot = this.#slots.get(key);
    const log = slot === undefined ? undefined : this.usable(slot);
    if (slot === undefined || log === undefined) {
      return this.alone(key, async (own) => {
        const found = await this.opened(own);
        if (found === undefined) this.#noteMissing(key);
        return read(found);
      });
    }
    this.#touch(slot);
    return read(log).catch((error) => rethrow(key, error));
  }

  /** Notes that a log is not there: who finds that out often begins it at once. */
  #noteMissing(key: string): void {
    if (this.#missing.size === 0) setImmediate(() => this.#missing.clear());
    this.#missing.add(key);
  }

  /** The log, if it is open and no other work on it is under way. */
  free(key: string): LogFile | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined || this.#closed || this.#changes.isLocked(key)) return undefined;
    this.#slots.delete(key);
    this.#slots.set(key, slot);
    return this.usable(slot);
  }

  /** The log of this slot, if it is open and can go on being used. */
  usable({ log, indexAge }: Slot): LogFile | undefined {
    return log === undefined || log.failed || indexAge !== this.#indexAge ? undefined : log;
  }

  /** The log of this slot, opened if it is there. Within `alone` only. */
  async opened(slot: Slot): Promise<LogFile | undefined> {
    const usable = this.usable(slot);
    if (usable !== undefined) return usable;
    const unusable = slot.log;
    slot.log = undefined;
    await unusable?.caughtUp();
    await unusable?.close();
    slot.indexAge = this.#indexAge;
    this.#missing.delete(slot.key);
    const log = await this.#openFile(slot.key);
    if (log === undefined) {
      const { index } = this.#ports;
      const isKnown = () => (index.entry(slot.key)?.seq ?? 0) > 0;
      // The journal may say that the log was cut back to nothing, which the index has yet to read.
      if (isKnown()) await index.caughtUp().catch(() => undefined);
      if (!isKnown()) return undefined;
      // Deleted behind our back, or a file system that lost sight of it: not a new log.
      throw unavailable(`${slot.key} was stored, and its file is not there`);
    }
    if (log.end === 0 && !log.damaged && this.#ports.index.entry(slot.key) === undefined) {
      // The process that created it died before its first batch: nothing was stored.
      await log.close();
      this.#ports.guard();
      await this.#ports.disk.unlink(log.path);
      return undefined;
    }
    try {
      await followIndex(this.#ports, log);
      if (this.#ports.index.refused.size > 0) this.#followLater();
    } catch (error) {
      if (isDiskError(error)) this.#unreadable.add(slot.key);
      await log.close();
      throw error;
    }
    slot.log = log;
    void this.closeLeastUsed();
    return log;
  }

  /** Compares what the index could not take with it again. */
  #followLater(): void {
    if (this.#isFollowing || this.#closed) return;
    this.#isFollowing = true;
    const follow = async () => {
      for (const key of this.#ports.index.refused.keys()) {
        const log = await this.alone(key, (slot) => {
          slot.indexAge--;
          return this.opened(slot);
        }).catch(() => undefined); // the next call on that log gets the error
        // The disk is still full for the others, too.
        if (log !== undefined && this.#ports.index.refused.has(key)) return;
      }
    };
    this.#ports.timers.after(followMs, () => {
      if (this.#closed) return;
      void follow().then(() => {
        this.#isFollowing = false;
        if (this.#ports.index.refused.size > 0) this.#followLater();
      });
    });
  }

  async #openFile(key: string): Promise<LogFile | undefined> {
    const path = this.path(key);
    const open = () => LogFile.open(this.#ports, path, key);
    try {
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
  async writable(slot: Slot): Promise<LogFile | undefined> {
    if (this.#missing.delete(slot.key)) return undefined;
    const log = this.usable(slot);
    if (log === undefined) return this.#reopened(slot);
    const place = log.place();
    if (place === "own") return log;
    slot.log = undefined;
    await log.caughtUp();
    await log.close();
    if (place === "linked") return this.#reopened(slot); // which makes a file of its own of the same bytes
    const name = basename(log.path);
    throw unavailable(
      `${slot.key}: the file ${name} was removed or replaced by another program. Nothing was stored. ` +
        "Try again to continue with the file that is there now",
    );
  }

  async #reopened(slot: Slot): Promise<LogFile | undefined> {
    const log = await this.opened(slot);
    if (log?.failed !== true) return log;
    throw unavailable(`${slot.key}: the disk still refuses to sync it. Nothing was stored`);
  }

  /** The index was lost: every log is compared with the new one before it is used again. */
  indexLost(): void {
    this.#indexAge++;
  }

  /** Closes the least used logs that nothing is waiting for, down to `keep`. Never rejects. */
  async closeLeastUsed(keep = this.#ports.maxOpen): Promise<void> {
    const closing: Promise<void>[] = [];
    for (const slot of this.#slots.values()) {
      if (this.#slots.size <= keep) break;
      const { log } = slot;
      if (log === undefined || log.isAhead || this.#changes.isLocked(slot.key)) continue;
      slot.log = undefined;
      this.#slots.delete(slot.key);
      closing.push(log.close().catch(() => undefined)); // nothing is lost by it
    }
    await Promise.all(closing);
  }

  path(key: string): string {
    return join(this.#ports.directory, `${fileNameOf(key)}.jsonl`);
  }

  assertOpen(): void {
    if (this.#closed) throw closed();
  }

  /** Finishes what was asked for and closes every file. `ready` is waited for first. */
  async close(ready: Promise<unknown> | undefined): Promise<void> {
    this.#closed = true;
    await ready?.catch(() => undefined); // the caller that listed got the error
    // After what was asked of each log: that may open it, and close another one.
    for (const slot of [...this.#slots.values()]) await this.#after(slot, () => this.#empty(slot));
  }

  async #empty(slot: Slot): Promise<void> {
    const { log } = slot;
    slot.log = undefined;
    await log?.caughtUp();
    await log?.close().catch(() => undefined); // nothing is lost by it
  }

  #newSlot(key: string): Slot {
    return { key, log: undefined, indexAge: this.#indexAge };
  }

  #touch(slot: Slot): void {
    this.#slots.delete(slot.key);
    this.#slots.set(slot.key, slot);
  }
}
