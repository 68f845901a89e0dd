import { dirname } from "node:path";
import { ThroughlineError } from "../../errors.ts";
import type { DiskFile, FilePlace } from "../disk/disk.ts";
import { type LogHead, logLimits, type StoredRecord } from "../log-store.ts";
import {
  type Batch,
  batchesBackward,
  batchesForward,
  type Damage,
  recordsOf,
} from "./batch-reader.ts";
import { encodeBatch } from "./commit.ts";
import {
  copyOfStart,
  type FilePorts,
  isCode,
  isThere,
  openNew,
  openOwn,
  syncNames,
  unavailable,
  unlinkIfThere,
  writeAll,
} from "./file-ports.ts";
import { mayBeOurs } from "./own-log.ts";
import { endBeforePreallocated, PreallocatedSpace } from "./preallocated-space.ts";

/** What an append stores. */
export interface Appended {
  /** The record lines, each with its line break. */
  readonly lines: string;
  readonly count: number;
  readonly headJson: string;
}

interface WrittenAppend extends Appended {
  /** Others will follow: space is preallocated for them. */
  readonly isBurst: boolean;
  /** Called while the disk is busy, to use the time. */
  readonly whileSyncing: () => void;
}

/**
 * One log, open. Calls of `append` must not overlap: the store runs one at a time for each log. There is one
 * repair path, opening; after a failure that leaves the bytes in doubt the file refuses appends
 * (`failed`) but continues to serve reads, and the store reopens it.
 */
export class LogFile {
  readonly path: string;
  readonly key: string;
  /** Number of the last record, 0 in a file without any. */
  seq = 0;
  head: LogHead = {};
  headJson = "{}";
  /** End of the last valid batch: everything before it is stored. */
  end = 0;
  /** CRC of the last batch. */
  crc = "";
  /** Stored records are missing or unreadable. */
  damaged = false;
  /** Set when appends are refused until the file is reopened. */
  failed = false;

  readonly #ports: FilePorts;
  #file: DiskFile;
  readonly #preallocated: PreallocatedSpace;
  #users = 0;
  #closing = false;
  #closed: Promise<void> | undefined;

  private constructor(ports: FilePorts, path: string, key: string, file: DiskFile) {
    this.#ports = ports;
    this.path = path;
    this.key = key;
    this.#file = file;
    this.#preallocated = new PreallocatedSpace(file);
  }

  /**
   * Opens a log by its tail, whatever its length. Bytes after the last valid commit are a write that
   * was never acknowledged: they are copied to quarantine, cut off and reported before this resolves.
   * After a failed sync, while the disk takes no copy either, what had been synced can be read, and the
   * log refuses appends (`failed`).
   *
   * @returns `undefined` when there is no such file.
   * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`, `THROUGHLINE_CORRUPT` (another log's file).
   */
  static async open(ports: FilePorts, path: string, key: string): Promise<LogFile | undefined> {
    let file: DiskFile;
    let synced: number | undefined;
    try {
      file = await openOwn(ports, path);
    } catch (error) {
      if (isCode(error, "ENOENT")) return undefined;
      synced = ports.doubtful.get(path);
      if (synced === undefined) throw error;
      ports.guard();
      file = await ports.disk.open(path, "read");
    }
    const log = new LogFile(ports, path, key, file);
    log.failed = synced !== undefined;
    try {
      await log.#recover(synced ?? (await file.size()));
      return log;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /**
   * Creates a log with its first batch. It exists when this resolves, also after a power cut. It takes
   * its name only when the batch is as durable as the ports say, so that what a crash leaves under the
   * name of a log need not be told from a file of somebody else.
   */
  static async create(
    ports: FilePorts,
    path: string,
    key: string,
    batch: Appended,
  ): Promise<LogFile> {
    const temporary = `${path}.tmp-new`;
    const file = await openNew(ports.disk, temporary);
    const log = new LogFile(ports, path, key, file);
    let isNamed = false;
    try {
      const rest = { isBurst: false, whileSyncing: () => undefined };
      await log.#write({ ...batch, ...rest });
      // "Not there" is asked twice, because the rename would replace it.
      if (await isThere(ports.disk, path)) throw unavailable(`${key} has a file all of a sudden`);
      isNamed = true;
      await ports.disk.rename(temporary, path);
      if (ports.durability === "power-cut") await syncNames(ports, dirname(path));
      return log;
    } catch (error) {
      await file.close().catch(() => undefined); // the write that failed is the news
      throw await log.#uncreate(error, temporary, isNamed);
    }
  }

  /** Adds one batch at the end. Resolves once it is as durable as the ports say. */
  async append(batch: WrittenAppend): Promise<void> {
    if (this.failed) throw unavailable(`${this.key} cannot be written until it is reopened`);
    try {
      await this.#write(batch);
    } catch (error) {
      throw await this.#undo(error);
    }
  }

  /** What its path leads to now: only its own file may be written. */
  place(): FilePlace {
    return this.#file.placeAt(this.path);
  }

  /** Cuts off the preallocated space. Must not overlap with `append`. */
  async trim(): Promise<void> {
    if (this.place() === "own") await this.#preallocated.trim(this.end);
  }

  /** The newest `limit` records, oldest first. Damage on the way is reported. */
  tail(limit: number): Promise<StoredRecord[]> {
    return this.#reading((file) => this.#newest(file, limit, this.end));
  }

  /** The same, ending where it holds the bytes of a page. */
  newestPage(limit: number): Promise<StoredRecord[]> {
    return this.#reading((file) => this.#newest(file, limit, this.end, logLimits.pageBytes));
  }

  /** The records before `seq`, at most `limit`, oldest first; `from` is a batch start before it. */
  async pageBefore(seq: number, limit: number, from: number): Promise<StoredRecord[]> {
    if (seq > this.seq) return this.newestPage(limit);
    return this.#reading(async (file) => {
      let end = 0;
      let bytes = 0;
      let held: StoredRecord[] = [];
      for await (const item of batchesForward(file, from, this.end)) {
        if (item.kind === "damage") this.#foundDamage(item);
        else if (item.commit.seq >= seq) {
          end = item.start;
          held = recordsOf(item).filter((record) => record.seq < seq);
          if (held.length > 0) bytes = item.body.length;
          break;
        }
      }
      const room = logLimits.pageBytes - bytes;
      const older = await this.#newest(file, limit - held.length, end, room);
      return [...older, ...held].slice(-limit);
    });
  }

  /** The records after `seq`, at most `limit`, oldest first; `from` is a batch start before them. */
  async pageAfter(seq: number, limit: number, from: number): Promise<StoredRecord[]> {
    const page: StoredRecord[] = [];
    let bytes = 0;
    for await (const batch of this.batches(from)) {
      for (const record of recordsOf(batch)) {
        if (record.seq > seq && page.length < limit) page.push(record);
      }
      if (page.length > 0) bytes += batch.body.length;
      if (page.length >= limit || bytes >= logLimits.pageBytes) break;
    }
    return page;
  }

  /** The batches from `from` (a batch start) to what is the end now. */
  async *batches(from: number): AsyncGenerator<Batch, void, undefined> {
    const end = this.end;
    if (from >= end) return;
    this.hold();
    try {
      for await (const item of batchesForward(this.#file, from, end)) {
        if (item.kind === "damage") this.#foundDamage(item);
        else yield item;
      }
    } finally {
      await this.release();
    }
  }

  /** The batch that ends at `end` has this CRC: tells whether an index speaks of this very file. */
  async hasCommit(end: number, crc: string): Promise<boolean> {
    if (end > this.end) return false;
    if (end === this.end) return crc === this.crc;
    return this.#reading(async (file) => {
      for await (const item of batchesBackward(file, end)) {
        return item.kind === "batch" && item.end === end && item.commit.crc === crc;
      }
      return false;
    });
  }

  /** Keeps the handle open, whatever becomes of the log, until `release`. */
  hold(): void {
    if (this.#closed !== undefined) throw unavailable(`${this.key} was closed while it was read`);
    this.#users++;
  }

  async release(): Promise<void> {
    this.#users--;
    if (this.#closing) await this.close();
  }

  /** Closes the file handle as soon as it has no users. */
  close(): Promise<void> {
    this.#closing = true;
    if (this.#users > 0) return Promise.resolve();
    this.#closed ??= this.#file.close();
    return this.#closed;
  }

  /** Makes everything durable that was only written. */
  sync(): Promise<void> {
    return this.#file.sync();
  }

  async #reading<T>(read: (file: DiskFile) => Promise<T>): Promise<T> {
    this.hold();
    try {
      return await read(this.#file);
    } finally {
      await this.release();
    }
  }

  async #newest(
    file: DiskFile,
    limit: number,
    end: number,
    maxBytes = Number.POSITIVE_INFINITY,
  ): Promise<StoredRecord[]> {
    const pages: StoredRecord[][] = [];
    let count = 0;
    let bytes = 0;
    if (limit <= 0 || maxBytes <= 0) return [];
    for await (const item of batchesBackward(file, end)) {
      if (item.kind === "damage") {
        this.#foundDamage(item);
        continue;
      }
      const records = recordsOf(item);
      pages.push(records);
      count += records.length;
      bytes += item.body.length;
      if (count >= limit || bytes >= maxBytes) break;
    }
    return pages.reverse().flat().slice(-limit);
  }

  async #write(batch: WrittenAppend): Promise<void> {
    const seq = this.seq + batch.count;
    const { lines, count, headJson } = batch;
    const { bytes, crc } = encodeBatch({
      key: this.key,
      lines,
      count,
      seq,
      headJson,
      prev: this.crc,
      damaged: this.damaged,
      opens: this.end === 0,
    });
    await writeAll(this.#file, bytes, this.end);
    const end = this.end + bytes.length;
    const isSynced = this.#ports.durability === "power-cut";
    if (batch.isBurst && isSynced && !this.#preallocated.reaches(end))
      await this.#preallocated.make(end);
    if (this.#ports.unsyncedNames.has(dirname(this.path))) {
      await syncNames(this.#ports, dirname(this.path));
    }
    const syncing = isSynced ? this.#sync() : undefined;
    batch.whileSyncing();
    await syncing;
    this.end = end;
    this.seq = seq;
    this.crc = crc;
    if (headJson !== this.headJson) {
      this.headJson = headJson;
      this.head = JSON.parse(headJson) as LogHead;
    }
  }

  async #sync(): Promise<void> {
    try {
      await this.#file.sync();
    } catch (error) {
      // A failed sync may have thrown the pages away, and the next one would say that all is well.
      this.#ports.doubtful.set(this.path, this.end);
      throw error;
    }
  }

  /** After a failed append: the file ends where it did, or refuses appends. @returns what to throw. */
  async #undo(cause: unknown): Promise<ThroughlineError> {
    const code = { cause };
    this.failed = true;
    if (this.#ports.doubtful.has(this.path)) {
      // Reopening continues in a new file; until then it is unknown if the batch will be there.
      try {
        await copyOfStart(this.#ports, this.path, this.end);
      } catch {
        return new ThroughlineError(`a sync of ${this.key} failed`, {
          code: "THROUGHLINE_OUTCOME_UNKNOWN",
          ...code,
        });
      }
      return unavailable(`a sync of ${this.key} failed; the log goes on in a new file`, cause);
    }
    try {
      await this.#file.truncate(this.end);
      await this.#sync();
      this.failed = false;
    } catch {
      // If it was written in part, reopening cuts it off; if written whole, it will be there.
      return new ThroughlineError(`${this.key} could not be written, nor cut back`, {
        code: "THROUGHLINE_OUTCOME_UNKNOWN",
        ...code,
      });
    }
    return unavailable(`${this.key} could not be written`, cause);
  }

  /** After a failed creation: no file is left, or that is unknown. @returns what to throw. */
  async #uncreate(cause: unknown, temporary: string, isNamed: boolean): Promise<ThroughlineError> {
    const { disk, doubtful } = this.#ports;
    const refused = unavailable(`${this.key} could not be created`, cause);
    doubtful.delete(this.path);
    try {
      // Where it still has its first name, the rename did not happen, whatever else is wrong.
      if (await unlinkIfThere(disk, temporary)) return refused;
      if (isNamed) {
        await disk.unlink(this.path);
        await syncNames(this.#ports, dirname(this.path));
      }
      return refused;
    } catch {
      if (!isNamed) return refused; // what is left is swept at the next start
      return new ThroughlineError(`${this.key} may have been created`, {
        code: "THROUGHLINE_OUTCOME_UNKNOWN",
        cause,
      });
    }
  }

  async #recover(size: number): Promise<void> {
    for await (const item of batchesBackward(this.#file, size)) {
      if (item.kind === "batch") {
        this.#take(item);
        break;
      }
    }
    if (this.end === 0 && size > 0) await this.#refuseForeign(size);
    if (this.end < size) await this.#settleTail(size);
  }

  #take(batch: Batch): void {
    if (batch.commit.key !== this.key) {
      throw new ThroughlineError(
        `the file of ${this.key} holds another log; it was left as it is`,
        { code: "THROUGHLINE_CORRUPT" },
      );
    }
    this.seq = batch.commit.seq;
    this.head = batch.commit.head;
    this.headJson = JSON.stringify(batch.commit.head);
    this.end = batch.end;
    this.crc = batch.commit.crc;
    this.damaged = batch.commit.damaged;
  }

  async #refuseForeign(size: number): Promise<void> {
    if (await mayBeOurs(this.#file, size)) return;
    const reason = "another program wrote this file; it was left as it is, and can be imported";
    const { key } = this;
    this.#ports.report({ key, kind: "foreign_lines", bytes: size, after_seq: 0, reason });
    throw new ThroughlineError(`${key}: ${reason}`, { code: "THROUGHLINE_CORRUPT" });
  }

  async #settleTail(size: number): Promise<void> {
    // Space is never preallocated for a log without a commit.
    const written = this.end === 0 ? size : await endBeforePreallocated(this.#file, this.end, size);
    const bytes = written - this.end;
    if (bytes === 0) return this.#preallocated.take(size);
    this.#ports.guard();
    const where = await this.#ports.quarantine(this.path, this.#file, this.end, written);
    await this.#file.truncate(this.end);
    await this.#sync();
    this.#ports.report({
      key: this.key,
      kind: "torn_tail",
      bytes,
      after_seq: this.seq,
      quarantined: where,
      reason: `${bytes} bytes after the last commit were set aside`,
    });
  }

  #foundDamage(damage: Damage): void {
    this.damaged = true;
    this.#ports.damage(this.key, damage);
  }
}
