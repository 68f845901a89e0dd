import { setImmediate as nextPass } from "node:timers/promises";
import { type ThroughlineError, unavailable } from "../../errors.ts";
import { type NewBatch, putBatch, roomFor } from "./commit.ts";
import { type HomePorts, isFull, writeAll } from "./file-ports.ts";
import { beginFrame, frameBytes, sealFrame } from "./journal-frame.ts";
import {
  isCutOff,
  noteChange,
  preallocate,
  type Segment,
  type SyncedLog,
} from "./journal-segment.ts";
import { Segments } from "./segments.ts";

/** What a change is of. Once it has failed, its batches that wait are void: each was made on top of the one before. */
export interface JournaledLog extends SyncedLog {
  /** The path of its file in the home, with `/` between the names. */
  readonly name: string;
  failed: boolean;
  /** Takes a change that is stored, to be written at the next `write`. Changes come in their order. */
  take(change: PushedChange): void;
  /** Writes what it took to the file of the log, small changes before this returns, and settles each. */
  write(): void;
}

/** A change on its way. */
export interface PushedChange {
  readonly log: JournaledLog;
  readonly offset: number;
  /** `undefined`: the log was cut back to the offset. */
  readonly batch: NewBatch | undefined;
  /** Both lie in the buffer that goes to the disk. */
  readonly frame: Buffer;
  readonly bytes: Buffer;
  /** Of the batch. */
  readonly crc: string;
  /**
   * Resolves when it is stored and written by its log. Rejects with `THROUGHLINE_UNAVAILABLE` (nothing was stored),
   * `THROUGHLINE_OUTCOME_UNKNOWN`, or an error of the log.
   */
  readonly stored: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
  /** Called by the log when the change is in its file, or cannot be. */
  settled(): void;
}

interface StoredGroup {
  readonly group: readonly PushedChange[];
  /** To be called when each of it was applied, or could not be. */
  readonly settle: () => void;
}

/** Changes are encoded into buffers of this length, unless one is longer. A group lies in one. */
const slabBytes = 1024 * 1024;

/** Logs are written for so long before others have their turn. */
const sliceMs = 2;

function cannotWrite(cause: unknown): ThroughlineError {
  const why = isFull(cause) ? "the disk is full: " : "";
  return unavailable(`${why}the journal cannot be written. Nothing was stored`, cause);
}

/**
 * The write-ahead log of a home: one sync here makes changes of any number of logs durable. Then the same
 * bytes are written to the logs themselves, which are synced later, before the segment is used again.
 */
export class Journal {
  readonly #ports: HomePorts;
  readonly segments: Segments;
  #slab = Buffer.alloc(0);
  #slabEnd = 0;
  /** How many changes lie in slabs and may still be written from there. */
  #unsettled = 0;
  #waiting: PushedChange[] = [];
  #isWriting = false;
  readonly syncPlace = new SyncPlace();
  /** Why the last group was refused. */
  #fault: ThroughlineError | undefined;

  constructor(ports: HomePorts) {
    this.#ports = ports;
    this.segments = new Segments(ports);
  }

  /**
   * Encodes a change, to be stored with all others of this moment and then written by its log.
   *
   * @param batch none: the log was cut back to the offset, and what it changed there or later is void.
   */
  push(log: JournaledLog, offset: number, batch?: NewBatch): PushedChange {
    const room = frameBytes + 3 * log.name.length + (batch === undefined ? 0 : roomFor(batch));
    // The same bytes again: they are in the processor's cache.
    if (this.#unsettled === 0 && this.#slab.length === slabBytes) this.#slabEnd = 0;
    if (this.#slabEnd + room > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, room));
      this.#slabEnd = 0;
    }
    const at = this.#slabEnd;
    const from = beginFrame(this.#slab, at, log.name);
    const { end, crc } =
      batch === undefined ? { end: from, crc: "" } : putBatch(this.#slab, from, batch);
    this.#slabEnd = end;
    const frame = this.#slab.subarray(at, end);
    const bytes = this.#slab.subarray(from, end);
    const { promise: stored, resolve, reject } = Promise.withResolvers<void>();
    const place = { log, offset, batch, frame, bytes, crc };
    const change = { ...place, stored, resolve, reject, settled: nothing };
    this.#waiting.push(change);
    this.#unsettled++;
    if (!this.#isWriting) {
      this.#isWriting = true;
      queueMicrotask(() => void this.#writeAll());
      this.segments.awaitIdle();
    }
    return change;
  }

  /**
   * Finds out whether a change could be stored now.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: none could be.
   */
  async ready(): Promise<void> {
    if (!this.#isWriting) {
      this.#isWriting = true;
      const stored = await this.#store([]);
      stored?.settle();
      await this.#writeAll();
    }
    if (this.#fault !== undefined) throw unavailable("the journal cannot be written", this.#fault);
  }

  /** Group after group. While the disk syncs one, the one before is applied and the next one gathers. */
  #writeAll = async (): Promise<void> => {
    let stored: StoredGroup | undefined;
    while (stored !== undefined || this.#waiting.length > 0) {
      const storing = this.#waiting.length > 0 ? this.#store(this.#takeGroup()) : undefined;
      if (stored !== undefined) void this.#apply(stored);
      stored = await storing;
    }
    this.#isWriting = false;
  };

  /** Those that wait and lie one after the other in one buffer. */
  #takeGroup(): readonly PushedChange[] {
    const waiting = this.#waiting;
    if (waiting.length === 1) {
      this.#waiting = [];
      return waiting;
    }
    let next = 1;
    for (let end = endOf(waiting[0]); next < waiting.length; next++) {
      const change = waiting[next];
      if (change?.frame.buffer !== waiting[0]?.frame.buffer || change?.frame.byteOffset !== end)
        break;
      end = endOf(change);
    }
    return waiting.splice(0, next);
  }

  /** Stores a group with one sync. @returns `undefined` when it could not, and each of it was rejected. */
  async #store(group: readonly PushedChange[]): Promise<StoredGroup | undefined> {
    const [head] = group;
    // To find out whether it can be written, one NUL is written where the next group goes.
    const bytes =
      head === undefined ? Buffer.alloc(1) : group.length === 1 ? head.frame : bytesOf(group, head);
    const length = head === undefined ? 0 : bytes.length;
    let segment: Segment;
    try {
      segment = await this.segments.withRoom(length);
    } catch (cause) {
      return this.#refuse(this.#failed(group), cannotWrite(cause));
    }
    const { end } = segment;
    const position = segment.position + end;
    let at = position;
    for (const { log, frame, offset } of group) {
      sealFrame(frame, offset, { position: at, durable: position });
      at += frame.length;
      noteChange(segment, log.name, offset, log);
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    segment.settled = segment.settled.then(() => promise);
    let isWritten = false;
    try {
      await writeAll(segment.file, bytes, end);
      isWritten = true;
      if (this.#ports.durability === "power-cut") {
        if (end + length > segment.reserved)
          await preallocate(segment, end + length, this.#ports.segmentBytes);
        await this.#sync(segment, group.length);
      }
    } catch (cause) {
      resolve(); // it will not be applied: nothing needs to wait for that
      const failed = this.#failed(group);
      // A failed sync may have thrown away more than this group: then all of the segment is given up.
      const isCut = !isWritten && isFull(cause) && (await isCutOff(segment));
      const error = isCut ? cannotWrite(cause) : await this.segments.giveUp(segment, cause);
      return this.#refuse(failed, error);
    }
    this.#fault = undefined;
    segment.end = end + length;
    this.segments.position = position + length;
    this.#ports.index.published(this.segments.position);
    return { group, settle: resolve };
  }

  /** Marks the logs of a group. @returns its changes, and all that were made on top of them. */
  #failed(group: readonly PushedChange[]): readonly PushedChange[] {
    for (const { log } of group) log.failed = true;
    const isVoid = ({ log, batch }: PushedChange) => log.failed && batch !== undefined;
    const later = this.#waiting.filter(isVoid);
    this.#waiting = this.#waiting.filter((change) => !isVoid(change));
    return [...group, ...later];
  }

  #refuse(changes: readonly PushedChange[], error: ThroughlineError): undefined {
    this.#fault = error;
    this.#unsettled -= changes.length;
    for (const { reject } of changes) reject(error);
  }

  async #sync({ file }: Segment, waiting: number): Promise<void> {
    const place = this.syncPlace.choose(waiting);
    if (place === "next pass") await nextPass();
    const isHere = place !== "another thread";
    const began = performance.now();
    await file.sync(isHere);
    this.syncPlace.took(performance.now() - began, isHere);
  }

  /** Has the logs write their changes; small ones of one slice before this returns. */
  async #apply({ group, settle }: StoredGroup): Promise<void> {
    let left = group.length;
    const done = () => {
      if (--left !== 0) return;
      this.#unsettled -= group.length;
      settle();
    };
    for (const change of group) {
      change.settled = done;
      change.log.take(change);
    }
    let until = performance.now() + sliceMs;
    for (const { log } of group) {
      log.write();
      if (group.length === 1 || performance.now() < until) continue;
      await nextPass();
      until = performance.now() + sliceMs;
    }
  }
}

const nothing = () => undefined;

function endOf(change: PushedChange | undefined): number {
  return change === undefined ? 0 : change.frame.byteOffset + change.frame.length;
}

/** The bytes of a group, which lie one after the other. */
function bytesOf(group: readonly PushedChange[], { frame }: PushedChange): Buffer {
  return Buffer.from(frame.buffer, frame.byteOffset, endOf(group.at(-1)) - frame.byteOffset);
}

/** A sync that takes no longer than this may hold up the event loop: waking another thread takes a fifth of it. */
const fastMs = 0.5;
/** So long the event loop may be held up before others have their turn. A sync that takes longer is slow. */
const mostMs = 1;
/** So many groups after one that several waited for, most likely several will wait again. */
const crowded = 64;

/**
 * Decides where the next sync runs. On a fast disk, and if nothing else waits, it runs at once on this
 * thread. A slow disk never holds up the event loop twice in a row.
 */
export class SyncPlace {
  /** Of the last syncs, the newest ones most. Not known at first: one sync on this thread tells. */
  #averageMs = 0;
  #crowd = 0;
  #blockedMs = 0;
  #isReset = true;
  /** How many syncs there were, and how long they took, in seconds. */
  readonly times = { count: 0, sum: 0 };

  /** @param waiting how many wait for this sync. @returns `"next pass"`: here, once others had their turn. */
  choose(waiting: number): "here" | "next pass" | "another thread" {
    this.#crowd = waiting > 1 ? crowded : Math.max(0, this.#crowd - 1);
    if (this.#crowd > 0 || this.#averageMs > fastMs) return "another thread";
    return this.#blockedMs < mostMs ? "here" : "next pass";
  }

  took(ms: number, wasHere: boolean): void {
    this.times.count++;
    this.times.sum += ms / 1_000;
    this.#averageMs += (ms - this.#averageMs) / 8;
    if (!wasHere) return;
    if (ms > mostMs) this.#averageMs = Math.max(this.#averageMs, mostMs);
    this.#blockedMs += ms;
    if (!this.#isReset) return;
    this.#isReset = false;
    setImmediate(() => {
      this.#isReset = true;
      this.#blockedMs = 0;
    });
  }
}
