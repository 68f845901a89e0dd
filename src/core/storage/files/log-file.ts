import { join } from "node:path";
import { outcomeUnknown, type ThroughlineError, unavailable } from "../../errors.ts";
import { freezeDeep } from "../../json.ts";
import type { DiskFile, FilePlace } from "../disk/disk.ts";
import { type LogHead, logLimits, type OpenLog, type StoredRecord } from "../log-store.ts";
import {
  type Batch,
  batchesBackward,
  batchesForward,
  type Damage,
  recordsOf,
} from "./batch-reader.ts";
import type { CollectionIndex } from "./collection-index.ts";
import { noEnd } from "./commit.ts";
import { logName } from "./file-name.ts";
import { type HomePorts, isCode, type NewReport, openOwn, writeAll } from "./file-ports.ts";
import type { Journal, JournaledLog, PushedChange } from "./journal.ts";
import { noFile } from "./journal-frame.ts";
import { settleEnd } from "./log-end.ts";
import { firstOf, type RecentBatch, type RecentRecords } from "./recent-records.ts";

/** What a collection of logs needs. */
export interface LogPorts extends Omit<HomePorts, "index" | "report"> {
  readonly collection: string;
  readonly directory: string;
  /**
   * People keep other things in this directory: a file in it is a log only by what it holds, not by its
   * name.
   */
  readonly isShared: boolean;
  /** Makes the directory, once. Tried again if it fails. */
  makeDirectory(): Promise<void>;
  readonly index: CollectionIndex;
  /** Takes the changes of logs before their files do. */
  readonly journal: Journal;
  readonly recent: RecentRecords;
  report(report: NewReport): void;
  /** Damage was met while reading; the same place may be named again and again. */
  damage(key: string, damage: Damage): void;
}

/** So many records are read from the end of a log: the index may not know yet where they begin. */
const readFromEnd = 100;

/** What an append stores. */
interface Appended {
  /** The record lines, each with its line break. */
  readonly lines: string;
  readonly headJson: string;
  readonly head?: LogHead | undefined;
  /** The ids of its records. */
  readonly ids: readonly string[];
}

/** Which records are read. */
interface NewestOptions {
  /** Those with a smaller number. */
  readonly before?: number | undefined;
  /** A batch start before a record. */
  readonly seek?: ((seq: number) => number) | undefined;
  /** It ends where they hold so much. */
  readonly maxBytes?: number | undefined;
  /** Others may get the same, frozen ones: from memory as far as they are there. */
  readonly isShared?: boolean | undefined;
}

/**
 * One log, open. Its appends follow each other without waiting: each is made on top of those on their way (`last`),
 * and readers see what is in the file (`stored`). There is one repair path, opening: after a failed append the
 * file refuses others (`failed`), and the store reopens it.
 */
export class LogFile implements JournaledLog, OpenLog {
  readonly path: string;
  readonly key: string;
  readonly name: string;
  /** Where its file ends. */
  stored = noEnd;
  /** Stored records are missing or unreadable. */
  damaged = false;
  /** Set when appends are refused until the file is reopened. */
  failed = false;

  /** Where it ends with all that is on its way. */
  last = noEnd;
  #head: LogHead | undefined;
  /** The ids of what is on its way. */
  readonly comingIds = new Set<string>();
  #ahead = 0;
  #caughtUp: Promise<void> = Promise.resolve();
  #taken: PushedChange[] = [];
  #isWriting = false;
  /** Why what is on its way cannot be written to the file. */
  #fault: ThroughlineError | undefined;
  /** Where the file must be cut back to, after a failed write. */
  #cutAt: number | undefined;
  /** The index was as it is since it was in doubt so many times, when the log was compared with it. */
  comparedAfter = 0;

  readonly #ports: LogPorts;
  /** `undefined` until the first append is written. */
  #file: DiskFile | undefined;
  #users = 0;
  #closing = false;
  #closed: Promise<void> | undefined;

  /** It has no file yet: what is written first makes it. */
  constructor(ports: LogPorts, key: string) {
    this.#ports = ports;
    this.key = key;
    this.name = logName(ports.collection, key);
    this.path = join(ports.home, this.name);
  }

  /**
   * Opens a log by its tail, whatever its length. Bytes after the last valid commit are a write that
   * was never acknowledged: they are copied to quarantine, cut off and reported before this resolves.
   *
   * @returns `undefined` when there is no such file.
   * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`, `THROUGHLINE_CORRUPT` (another log's file).
   */
  static async open(ports: LogPorts, key: string): Promise<LogFile | undefined> {
    const log = new LogFile(ports, key);
    try {
      await ports.journal.segments.recovered.complete(log.name);
      log.#file = await openOwn(ports, log.path);
    } catch (error) {
      if (!isCode(error, "ENOENT")) throw error;
      return undefined;
    }
    try {
      const { stored, damaged } = await settleEnd(ports, log.#file, log);
      log.damaged = damaged;
      log.stored = stored;
      log.last = stored;
      return log;
    } catch (error) {
      await log.#file.close();
      throw error;
    }
  }

  /** Adds one batch at the end. Resolves once it is in the file, and as durable as the storage's level says. */
  append(appended: Appended): Promise<void> {
    if (this.failed) throw unavailable(`${this.key} cannot be written until it is reopened`);
    const { lines, headJson, ids } = appended;
    const { key, damaged, last } = this;
    const { crc: prev, end: start } = last;
    const seq = last.seq + ids.length;
    const batch = { key, lines, ids, seq, headJson, prev, damaged, opens: start === 0 };
    const { stored, bytes, crc } = this.#ports.journal.push(this, start, batch);
    this.last = { seq, end: start + bytes.length, crc, headJson };
    this.#head = appended.head;
    for (const id of ids) this.comingIds.add(id);
    this.#ahead++;
    const before = this.#caughtUp;
    const arrived = () => {
      this.#ahead--;
      return before;
    };
    this.#caughtUp = stored.then(arrived, arrived);
    return stored;
  }

  get head(): LogHead {
    this.#head ??= freezeDeep(JSON.parse(this.last.headJson) as LogHead);
    return this.#head;
  }

  mayHold(id: string): boolean {
    return this.comingIds.has(id) || this.#ports.index.find(this.key, id).length > 0;
  }

  /** Whether something is on its way. */
  get isAhead(): boolean {
    return this.#ahead > 0;
  }

  /** Resolves when what is on its way now is in the file, or is void. */
  caughtUp(): Promise<void> {
    return this.#caughtUp;
  }

  take(change: PushedChange): void {
    if (change.batch !== undefined) this.#taken.push(change);
    else {
      change.settled(); // it was cut back before
      change.resolve();
    }
  }

  write(): void {
    if (!this.#isWriting) void this.#writeTaken();
  }

  /** What its path leads to now: only its own file may be written. Making the file refuses any other one. */
  place(): FilePlace {
    return this.#file === undefined ? "own" : this.#file.placeAt(this.path);
  }

  /** The newest `limit` records of those that are asked for, oldest first. Damage on the way is reported. */
  async newest(limit: number, asked: NewestOptions = {}): Promise<StoredRecord[]> {
    const { before = Number.POSITIVE_INFINITY, seek, maxBytes = Number.POSITIVE_INFINITY } = asked;
    const found: (readonly StoredRecord[])[] = [];
    let count = 0;
    let bytes = 0;
    /** @returns whether these are all that are asked for. */
    const take = (batch: RecentBatch) => {
      if (firstOf(batch) >= before) return false;
      const { records, seq } = batch;
      const taken = seq < before ? records : records.filter((record) => record.seq < before);
      found.push(taken);
      count += taken.length;
      bytes += batch.bytes;
      return count >= limit || bytes >= maxBytes;
    };
    const { recent } = this.#ports;
    let isKept = asked.isShared === true && !this.#closing;
    const kept = isKept ? recent.of(this) : [];
    let [first] = kept;
    const { end } = this.stored;
    const isNear = before >= (first === undefined ? this.stored.seq + 1 : firstOf(first));
    // What is not in memory ends where that begins, also where none of it is asked for.
    let start = isNear && first !== undefined ? first.start : end;
    let isEnough = limit <= 0;
    const near = isNear ? kept.findLastIndex((batch) => firstOf(batch) < before) : -1;
    for (let at = near; at >= 0 && !isEnough; at--) isEnough = take(kept[at] as RecentBatch);
    if (!isEnough && start > 0) {
      await this.#reading(async (file) => {
        isKept &&= isNear;
        if (!isNear) start = await this.#endOf(before - 1, seek?.(before) ?? 0);
        for await (const item of batchesBackward(file, start)) {
          if (item.kind === "damage") {
            this.#foundDamage(item);
            continue;
          }
          const { start: at, body, commit } = item;
          const batch = {
            start: at,
            seq: commit.seq,
            bytes: body.length,
            records: recordsOf(item),
          };
          // Another reader may have added it by now, or the log be closed.
          isKept &&= !this.#closing && (first !== undefined || this.stored.end === end);
          isKept &&= recent.of(this)[0] === first && recent.prepend(this, batch);
          if (isKept) first = batch;
          if (take(batch)) break;
        }
      });
    }
    return limit <= 0 ? [] : found.reverse().flat().slice(-limit);
  }

  /** Where the batch ends that holds this record. @param from a batch start before it. */
  async #endOf(seq: number, from: number): Promise<number> {
    for await (const { commit, end } of this.batches(from)) if (commit.seq >= seq) return end;
    return this.stored.end;
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

  /** Reads these records, newest first, what they share once. @param seek finds a batch start at or before a record. */
  async at(seqs: readonly number[], seek: (seq: number) => number): Promise<StoredRecord[]> {
    if (seqs.length === 0) return [];
    // Held from the moment that the places in it are looked up: erasing makes a new file.
    this.hold();
    try {
      const first = Math.min(...seqs);
      if (first > this.stored.seq - readFromEnd) {
        const tail = await this.newest(this.stored.seq - first + 1);
        return tail.filter(({ seq }) => seqs.includes(seq)).reverse();
      }
      const records: StoredRecord[] = [];
      for (const [start, sharing] of Map.groupBy(seqs, seek)) {
        const wanted = new Set(sharing);
        const last = Math.max(...sharing);
        for await (const batch of this.batches(start)) {
          const { seq, count } = batch.commit;
          if (sharing.some((each) => each > seq - count && each <= seq))
            records.push(...recordsOf(batch).filter((record) => wanted.has(record.seq)));
          if (seq >= last) break;
        }
      }
      return records.sort((a, b) => b.seq - a.seq);
    } finally {
      await this.release();
    }
  }

  /** The batches from `from` (a batch start) to what is the end now. */
  async *batches(from: number): AsyncGenerator<Batch, void, undefined> {
    const end = this.stored.end;
    if (from >= end) return;
    this.hold();
    try {
      for await (const item of batchesForward(this.#written(), from, end)) {
        if (item.kind === "damage") this.#foundDamage(item);
        else yield item;
      }
    } finally {
      await this.release();
    }
  }

  /** The batch that ends at `end` has this CRC: tells whether an index speaks of this very file. */
  async hasCommit(end: number, crc: string): Promise<boolean> {
    if (end > this.stored.end) return false;
    if (end === this.stored.end) return crc === this.stored.crc;
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

  async sync(): Promise<boolean> {
    if (this.#closing || this.#file === undefined) return false;
    await this.#reading((file) => file.sync());
    return true;
  }

  /** Closes the file handle as soon as it has no users. */
  close(): Promise<void> {
    this.#closing = true;
    this.#ports.recent.drop(this);
    if (this.#users > 0) return Promise.resolve();
    this.#closed ??= Promise.resolve(this.#file?.close());
    return this.#closed;
  }

  async #reading<T>(read: (file: DiskFile) => Promise<T>): Promise<T> {
    this.hold();
    try {
      return await read(this.#written());
    } finally {
      await this.release();
    }
  }

  #written(): DiskFile {
    if (this.#file === undefined) throw unavailable(`${this.key} has no file yet`);
    return this.#file;
  }

  async #writeTaken(): Promise<void> {
    this.#isWriting = true;
    for (let [first] = this.#taken; first !== undefined; [first] = this.#taken) {
      const all = this.#taken.splice(0);
      try {
        if (this.#fault !== undefined) throw this.#fault;
        const isOne = all.length === 1;
        const bytes = isOne ? first.bytes : Buffer.concat(all.map((change) => change.bytes));
        this.#file ??= await this.#ports.disk.open(this.path, "create");
        await writeAll(this.#file, bytes, first.offset);
        for (const change of all) {
          this.#reached(change);
          change.resolve();
          change.settled();
        }
      } catch (cause) {
        // First: cutting the log back goes through the journal, which may wait for a segment that waits for these.
        for (const change of all) change.settled();
        const error = this.#fault ?? (await this.#undo(cause));
        for (const change of all) change.reject(error);
      }
    }
    this.#isWriting = false;
  }

  /** The file ends with this change now. */
  #reached({ batch, offset, bytes, crc }: PushedChange): void {
    if (batch === undefined) return; // a cut, which is not taken
    const { lines, ids, seq, headJson } = batch;
    this.stored = { seq, end: offset + bytes.length, crc, headJson };
    this.#ports.recent.append(this, offset, lines);
    this.#ports.index.stored(this, ids, offset);
    for (const id of ids) this.comingIds.delete(id);
  }

  /** After a failed write the file ends where it did, and what is on its way is void. @returns what to throw. */
  async #undo(cause: unknown): Promise<ThroughlineError> {
    this.failed = true;
    this.#cutAt = this.#file === undefined ? noFile : this.stored.end;
    try {
      await this.cutBack();
      if (this.stored.end === 0) await this.#removeEmpty();
      this.#fault = unavailable(`${this.key} could not be written`, cause);
    } catch {
      // Until it can be cut back, it is unknown if the batch will be there.
      this.#fault = outcomeUnknown(`${this.key} could not be written, nor cut back`, cause);
    }
    return this.#fault;
  }

  /** Whether the file may hold more than it should. */
  get isUncut(): boolean {
    return this.#cutAt !== undefined;
  }

  /** After a failed write: cuts the file back to a commit, and has the journal do the same. */
  async cutBack(): Promise<void> {
    if (this.#cutAt === undefined) return;
    const { guard, journal } = this.#ports;
    guard();
    await this.#file?.truncate(this.#cutAt);
    await journal.push(this, this.#cutAt).stored;
    this.#cutAt = undefined;
  }

  /** Removes the file of a log whose first append was not stored. Where that fails, opening the log does it. */
  async #removeEmpty(): Promise<void> {
    if (this.#file?.placeAt(this.path) !== "own") return;
    await this.#ports.disk.unlink(this.path).catch(() => undefined);
  }

  #foundDamage(damage: Damage): void {
    this.damaged = true;
    this.#ports.damage(this.key, damage);
  }
}
