import { setImmediate as nextPass } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { isThroughlineError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { awaited, systemTimers, type Timers } from "../../timers.ts";
import type { LogProjection } from "../log-store.ts";
import type { IndexBehind } from "../storage.ts";
import { type IndexCoverage, IndexFile, lost } from "./index-file.ts";
import {
  type IndexedSegment,
  type JournalFiles,
  sharedBytes,
  sharedViews,
} from "./index-journal.ts";
import { type Asked, IndexQueue, type IndexReport, type IndexRequest } from "./index-queue.ts";
import type { Fault, Statements } from "./index-schema.ts";
import type { ThreadData, ThreadMessage } from "./index-thread.ts";

/**
 * A home that is open for a moment needs no thread. Start it after this many groups of appends or milliseconds, after
 * this many logs were read for the index, or before so many bytes of the journal are read or of the index erased.
 */
const threadAfter = { ms: 1_000, groups: 1_024, adds: 64, bytes: 1024 * 1024 } as const;
/** Bytes of the journal that this thread writes in one transaction: some milliseconds. */
const ownSliceBytes = 64 * 1024;
/** Appends wait while the index lacks more bytes of the journal than this, which bounds the journal. */
const mostBehindBytes = 128 * 1024 * 1024;
/** An index without any log takes less. */
const emptyBytes = 128 * 1024;

interface IndexOptions {
  readonly logger?: Logger | undefined;
  readonly timers?: Timers | undefined;
  /** What the journal is read with. @default `node:fs` */
  readonly files?: JournalFiles | undefined;
  /** @default 128 MiB */
  readonly mostBehindBytes?: number | undefined;
}

/** What is in memory of a collection. */
interface IndexPart {
  /** When its directory had last changed, if it was compared with the index. */
  readonly comparedAt: string | undefined;
  /**
   * The index may lack something of its logs: they must be compared, those that are open too.
   *
   * @param isLost it lacks all of them, and will not get what the journal holds.
   */
  doubt(isLost: boolean): void;
}

/**
 * The index of a home, which several collections share. This thread reads its file; another one reads the journal and
 * writes it. Where there is no other, this one does, a slice at a time.
 */
export class FileIndex {
  readonly #options: IndexOptions;
  readonly #timers: Timers;
  readonly #parts = new Map<string, IndexPart>();
  readonly #projections = new Map<string, LogProjection>();
  readonly file: IndexFile;
  readonly #lossesBefore: number;
  #memory = new SharedArrayBuffer(sharedBytes);
  #shared = sharedViews(this.#memory);
  /** Those that the index has yet to read. */
  #segments: IndexedSegment[] = [];
  /** Where the index is in the journal of the last process, until that is told. */
  #found: IndexFile["mark"] | undefined;
  /** What writes: a thread, or this one while something was asked for. */
  #worker: Worker | undefined;
  #queue: IndexQueue | undefined;
  #isWriting = false;
  /** In their order, until they are answered. */
  readonly #requests: (Asked & { readonly resolve: (answer: Fault | undefined) => void })[] = [];
  /** No thread can be started, or none can read what is only in memory. */
  #isAlone = false;
  #groups = 0;
  #adds = 0;
  #erasing: Promise<void> = Promise.resolve();
  #cancelTimer: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  /**
   * Opens the index of a home, creating it if need be. Never fails for what is in the file.
   *
   * @param path `undefined`: it is kept in memory.
   */
  constructor(path: string | undefined, options: IndexOptions = {}) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.file = new IndexFile(path, () => this.#lost());
    this.#lossesBefore = this.file.losses;
    this.#found = this.file.mark;
    this.file.runQuietly(() => {
      const isErased = this.sql.state.get()?.["forgotten"] !== 1;
      if (!isErased) void this.erase().catch(() => undefined); // what a dead process had yet to remove
    });
  }

  /** Any segment that is begun gets a greater number: by these the index knows what it has. */
  get nth(): number {
    return this.file.mark.nth;
  }

  /** Position in the journal up to which the index is complete. */
  get mark(): number {
    return this.#shared.marks[1] ?? 0;
  }

  /** Before this position the journal is durable. */
  get durable(): number {
    return this.#shared.marks[0] ?? 0;
  }

  get behind(): IndexBehind {
    return { bytes: Math.max(0, this.durable - this.mark) };
  }

  get sql(): Statements {
    return this.file.sql;
  }

  /** @param changed when the directory of the collection last changed. */
  coverageOf(collection: string, changed: string | undefined): IndexCoverage {
    const noted = this.file.covered.get(collection);
    if (noted === undefined) return "unknown";
    if (noted === null || !this.file.clean) return "covered";
    return noted === changed ? "all" : "names";
  }

  /** Begins to read the journal for a collection. */
  open(collection: string, projection: LogProjection, part: IndexPart): void {
    this.#parts.set(collection, part);
    this.#projections.set(collection, projection);
    const { module } = projection;
    if (module === undefined) this.#endThread();
    else this.#tell({ collection, module });
  }

  /** Begins to read a segment of the journal. Those of a dead process come first, in their order. */
  began(segment: IndexedSegment): void {
    const found = this.#found;
    if (found !== undefined) {
      if (segment.nth < found.nth) return; // the index has it
      const { position, end = position } = segment;
      const isFound = segment.nth === found.nth;
      this.#shared.marks[1] = isFound
        ? Math.min(Math.max(found.position, position), end)
        : position;
      this.#found = undefined;
    }
    const { mark } = this;
    while (this.#segments[1] !== undefined && this.#segments[1].position <= mark)
      this.#segments.shift();
    this.#segments.push(segment);
    this.#tell({ segment });
  }

  /** Has the index read the journal up to this position: all before it is durable. */
  published(position: number): void {
    this.#shared.marks[0] = position;
    Atomics.add(this.#shared.wake, 0, 1);
    if (this.#worker !== undefined) {
      if (Atomics.load(this.#shared.wake, 1) === 1) Atomics.notify(this.#shared.wake, 0);
    } else if (this.#isAlone) this.#later(10);
    else if (++this.#groups >= threadAfter.groups) this.#startThread();
    else this.#later(threadAfter.ms);
  }

  /** Whether appends wait: it is far behind, and the disk is not full, where waiting does not help. */
  get isFar(): boolean {
    const most = this.#options.mostBehindBytes ?? mostBehindBytes;
    return this.durable - this.mark > most && Atomics.load(this.#shared.wake, 2) === 0;
  }

  /** Resolves when the index is not far behind, or nothing helps, since the disk is full. */
  async room(): Promise<void> {
    if (this.isFar) this.#startThread();
    while (this.isFar && this.#closing === undefined) await awaited(this.moved());
  }

  /** Resolves when the index may have moved on; after a second in any case, should its thread have died. */
  async moved(): Promise<void> {
    const { wake } = this.#shared;
    await Atomics.waitAsync(wake, 3, Atomics.load(wake, 3), 1_000).value;
  }

  /**
   * Resolves when all that the journal holds before this position is durable in the index.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`
   */
  sync(position = this.durable): Promise<void> {
    return this.ask({ do: "sync" }, position);
  }

  /**
   * Resolves when the index has all that is stored now.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`
   */
  async catchUp(): Promise<void> {
    const { bytes } = this.behind;
    if (bytes === 0) return;
    if (bytes > threadAfter.bytes) this.#startThread();
    await this.ask({ do: "catch up" });
  }

  /** As `sync`; an index that does not take it is begun again from the logs. */
  syncOrLose(position: number): Promise<void> {
    return this.#insistOn({ do: "sync" }, position);
  }

  /** Never rejects: on a full disk nothing is noted. */
  async cover(collection: string, isCovered: boolean): Promise<void> {
    if (!isCovered) this.file.covered.delete(collection);
    // What was noted when it was opened still holds.
    else if (this.file.covered.has(collection)) return;
    await this.ask({ do: "cover", collection, isCovered }).catch(() => undefined);
  }

  /**
   * Resolves when nothing is left in the index file of the words, ids and heads of logs that were removed, deleted or
   * not. That takes time in proportion to the index. A crash in between is made good when the index is opened.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: bytes may be left; call it again.
   */
  erase(): Promise<void> {
    const erasing = this.#erasing.then(async () => {
      if (this.file.bytes > threadAfter.bytes) this.#startThread();
      // It must have an end: a file that cannot be erased goes whole.
      await this.#insistOn({ do: "erase" });
      this.file.assertNothingLeft();
    });
    this.#erasing = erasing.catch(() => undefined);
    return erasing;
  }

  /** Removes a log; the file goes whole where it does not take that. */
  remove(collection: string, key: string): Promise<void> {
    if (this.file.bytes > threadAfter.bytes) this.#startThread();
    return this.#insistOn({ do: "remove", collection, key });
  }

  /**
   * Gives up the file of the index where that makes room for as many bytes; it is filled again from the logs.
   *
   * @returns whether it did.
   */
  async makeRoom(bytes: number): Promise<boolean> {
    const has = this.file.bytes;
    if (has === 0 || has < bytes) return false;
    const worker = this.#worker;
    this.file.lose(has < bytes + emptyBytes);
    await worker?.terminate(); // it has the file open
    return true;
  }

  /**
   * Asks for something to be written, after all that was asked for before and all that is in the journal.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: it was not done; if the file was useless, it was begun again.
   * @throws ThroughlineError `THROUGHLINE_CLOSED`
   */
  async ask(request: IndexRequest, until = this.durable): Promise<void> {
    const { losses, opened: _ } = this.file; // throws once it is closed
    if (request.do === "add" && ++this.#adds === threadAfter.adds) this.#startThread();
    const answered = new Promise<Fault | undefined>((resolve) => {
      this.#requests.push({ request, until, resolve });
    });
    this.#tell({ request, until });
    const answer = await awaited(answered);
    if (losses !== this.file.losses) throw lost();
    if (answer === undefined) return;
    // A file that lacks what is asked of it is of no use. One that is begun again twice goes on in memory.
    const isUseless = answer === "full" && (request.do === "add" || request.do === "catch up");
    this.file.failed(isUseless ? "useless" : answer);
  }

  async #insistOn(request: IndexRequest, until?: number): Promise<void> {
    const { losses } = this.file;
    await this.ask(request, until).catch((error) => {
      if (!isThroughlineError(error, "THROUGHLINE_UNAVAILABLE")) throw error;
      if (losses === this.file.losses) this.file.lose();
    });
  }

  /** Writes out what the journal holds, in every collection, and closes the file. Closing twice is closing once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#erasing;
    this.#cancelTimer?.();
    await this.sync().catch(() => undefined); // it is not complete then
    const worker = this.#worker;
    if (worker !== undefined) {
      const ended = new Promise((resolve) => worker.once("exit", resolve));
      this.#tell("end");
      await awaited(ended);
    }
    this.#queue?.close();
    // What was lost is given to the next process: not all was compared with the new file.
    const isComplete = this.mark >= this.durable && this.file.losses === this.#lossesBefore;
    const used = Array.from(this.#parts, ([name, { comparedAt }]) => [name, comparedAt] as const);
    this.file.close(isComplete, new Map(used));
  }

  /** Tells what writes. Where that is this thread, its queue is begun when there is something to do. */
  #tell(message: ThreadMessage): void {
    if (this.#worker !== undefined) {
      this.#worker.postMessage(message);
      Atomics.add(this.#shared.wake, 0, 1);
      Atomics.notify(this.#shared.wake, 0);
      return;
    }
    if (message === "end" || "module" in message) return;
    this.#queue?.receive(message);
    if ("request" in message) void this.#write();
  }

  #hear = (report: IndexReport): void => {
    if ("answer" in report) this.#requests.shift()?.resolve(report.answer);
    else if ("lost" in report) this.file.lose();
    else {
      this.file.covered.delete(report.doubtful);
      this.#parts.get(report.doubtful)?.doubt(false);
    }
  };

  #ownQueue(): IndexQueue {
    if (this.#queue !== undefined) return this.#queue;
    const { opened } = this.file;
    const { files } = this.#options;
    const given = [opened, this.#projections, this.#shared, ownSliceBytes, this.#hear] as const;
    this.#queue = new IndexQueue(...given, files);
    for (const segment of this.#segments) this.#queue.receive({ segment });
    for (const { request, until } of this.#requests) this.#queue.receive({ request, until });
    return this.#queue;
  }

  #endOwnQueue(): void {
    this.#queue?.close();
    this.#queue = undefined;
  }

  /** Writes what was asked for, and all that the journal holds where no other thread will. */
  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    for (let hasMore = true; hasMore && this.#worker === undefined; ) {
      const isBehind = this.#isAlone && this.mark < this.durable && this.#closing === undefined;
      if (!isBehind && this.#requests.length === 0) break;
      hasMore = this.#ownQueue().step(isBehind ? this.durable : 0);
      if (hasMore) await nextPass();
    }
    this.#isWriting = false;
    const waitMs = this.#queue?.waitMs ?? 0;
    if (this.#isAlone && waitMs > 0) this.#later(waitMs);
  }

  /** Has the journal read, by a thread if there can be one. */
  #later(ms: number): void {
    if (this.#cancelTimer !== undefined || this.#closing !== undefined) return;
    this.#cancelTimer = this.#timers.after(ms, () => {
      this.#cancelTimer = undefined;
      if (this.#closing !== undefined) return;
      this.#startThread();
      if (this.#isAlone) void this.#write();
    });
  }

  #startThread(): void {
    if (this.#worker !== undefined || this.#isAlone || this.#closing !== undefined) return;
    const modules = Array.from(this.#projections, ([name, { module }]) => [name, module] as const);
    const { path, isInMemory } = this.file;
    if (path === undefined || isInMemory || modules.some(([, module]) => module === undefined)) {
      this.#beAlone();
      return;
    }
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const { Worker: Thread } = process.getBuiltinModule("node:worker_threads"); // loading it takes 1 ms
    const isUnsure = !this.file.clean && this.file.losses === 0;
    const data: ThreadData = { path, memory: this.#memory, isUnsure };
    let worker: Worker;
    try {
      worker = new Thread(threadFile(), {
        name: "throughline-index",
        workerData: data,
        // Its objects are short-lived: a larger young generation takes memory and saves no time.
        resourceLimits: { maxYoungGenerationSizeMb: 8 },
      });
    } catch {
      // The system gives no more threads. The journal, which may wait for this call, goes on.
      this.#beAlone();
      return;
    }
    this.#endOwnQueue();
    this.#worker = worker;
    worker.on("message", (report: IndexReport) => {
      if (worker === this.#worker) this.#hear(report);
    });
    worker.on("error", () => this.#endThread(worker));
    worker.on("exit", () => this.#endThread(worker));
    worker.unref(); // last: a listener holds the process. Who waits for an answer does too
    for (const segment of this.#segments) this.#tell({ segment });
    for (const [collection, module] of modules) {
      if (module !== undefined) this.#tell({ collection, module });
    }
    for (const { request, until } of this.#requests) this.#tell({ request, until });
  }

  /** From now on this thread writes. */
  #beAlone(): void {
    this.#isAlone = true;
    void this.#write();
  }

  /** There is no thread any more. What it had not answered is done here, perhaps once more. */
  #endThread(worker = this.#worker): void {
    if (worker === undefined || worker !== this.#worker) return;
    this.#leaveThread();
    this.#beAlone();
  }

  /** It may still write for a moment: it sees nothing that is noted from here on, nor is what it notes. */
  #leaveThread(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
    const { durable, mark } = this;
    this.#memory = new SharedArrayBuffer(sharedBytes);
    this.#shared = sharedViews(this.#memory);
    this.#shared.marks.set([durable, mark]);
  }

  /** The file was begun again, and is empty. */
  #lost(): void {
    this.#endOwnQueue();
    if (this.file.isInMemory) this.#isAlone = true;
    this.#leaveThread();
    for (const { resolve } of this.#requests.splice(0)) resolve("useless");
    if (this.#found !== undefined) this.#found = { nth: 0, position: 0 };
    // All logs are compared with the new one: what the journal holds of them is in them.
    this.#shared.marks[1] = this.durable;
    for (const part of this.#parts.values()) part.doubt(true);
    if (this.#closing !== undefined) return;
    this.#options.logger?.warn({}, "the index was damaged and is being rebuilt from the logs");
  }
}

/** Beside this file in the sources; in a folder of its own in what is published. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith(".ts");
  return new URL(isSource ? "./index-thread.ts" : "../workers/index-thread.js", import.meta.url);
}
