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
  IndexJournal,
  type JournalFiles,
  sharedBytes,
  sharedViews,
} from "./index-journal.ts";
import { type Asked, IndexQueue, type IndexReport, type IndexRequest } from "./index-queue.ts";
import type { Statements } from "./index-schema.ts";
import type { ThreadData, ThreadMessage } from "./index-thread.ts";

/**
 * A home that is open for a moment needs no thread. Start it after this many groups of appends or milliseconds, after
 * this many logs were read for the index, or before an index of this many bytes is erased.
 */
const threadAfter = { ms: 1_000, groups: 1_024, adds: 64, erasedBytes: 1024 * 1024 } as const;
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
  /** The index may lack something of its logs: they must be compared, those that are open too. */
  doubt(): void;
  /** The file was lost, and is empty: the same, and what the journal holds of its logs is of no use. */
  forgetAll(): void;
  /** The file will not get what the journal holds. */
  skip(): void;
}

type Answer = Extract<IndexReport, { readonly answer: unknown }>["answer"];

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
  #memory = new SharedArrayBuffer(sharedBytes);
  #shared = sharedViews(this.#memory);
  /** What this thread writes, if it does. */
  #queue: IndexQueue | undefined;
  #isWriting = false;
  /** Those that the index has yet to read. */
  #segments: IndexedSegment[] = [];
  /** Where the index is in the journal of the last process, until that is told. */
  #found: IndexFile["mark"] | undefined;
  #worker: Worker | undefined;
  /** In their order, until they are answered. */
  readonly #requests: { readonly asked: Asked; readonly resolve: (answer: Answer) => void }[] = [];
  /** No thread can be started, or none can read what is only in memory. */
  #isAlone = false;
  #wasLost = false;
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

  /** Opens what is read of the journal from the mark on. */
  journal(): IndexJournal {
    const journal = new IndexJournal(this.#options.files);
    for (const segment of this.#segments) journal.began(segment);
    return journal;
  }

  get sql(): Statements {
    return this.file.sql;
  }

  /** @param changed when the directory of the collection last changed. */
  coverageOf(collection: string, changed: string | undefined): IndexCoverage {
    const noted = this.file.covered.get(collection);
    if (noted === undefined) return "unknown";
    if (noted === null) return "covered";
    return noted === changed ? "all" : "names";
  }

  /** Begins to read the journal for a collection. */
  open(collection: string, projection: LogProjection, part: IndexPart): void {
    this.#parts.set(collection, part);
    this.#projections.set(collection, projection);
    if (this.#worker !== undefined) {
      if (projection.module === undefined) this.#endThread();
      else this.#tell({ collection, module: projection.module });
    }
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
    this.#queue?.began(segment);
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

  /** Resolves when the index is less far behind. `undefined`: it is not far, or the disk is full and nothing helps. */
  room(): Promise<void> | undefined {
    if (!this.isFar) return undefined;
    this.#startThread();
    const wait = async () => {
      while (this.isFar && this.#closing === undefined) await awaited(this.moved());
    };
    return wait();
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
  async sync(position = this.durable): Promise<void> {
    await this.ask({ do: "sync" }, position);
  }

  /** Does without what the journal has of these collections before this position. */
  async skip(position: number, collections: ReadonlySet<string>): Promise<void> {
    // First: what is compared from now on is compared with what the file has.
    for (const collection of collections) {
      this.#parts.get(collection)?.skip();
      this.#doubt(collection);
    }
    await this.ask({ do: "skip" }, position).catch(() => undefined);
    for (const collection of collections) await this.cover(collection, false);
  }

  /** Never rejects: on a full disk nothing is noted. */
  async cover(collection: string, isCovered: boolean): Promise<void> {
    if (!isCovered) this.file.covered.delete(collection);
    // What was noted when it was opened still holds.
    else if (this.file.covered.has(collection)) return;
    await this.ask({ do: "cover", collection, isCovered }).catch(() => undefined);
  }

  /** Makes the bytes of logs disappear that were removed before. */
  erase(): Promise<void> {
    const erasing = this.#erasing.then(async () => {
      if (this.file.bytes > threadAfter.erasedBytes) this.#startThread();
      // It must have an end: a file that cannot be erased goes whole.
      await this.#insistOn({ do: "erase" });
      this.file.assertNothingLeft();
    });
    this.#erasing = erasing.catch(() => undefined);
    return erasing;
  }

  /** Removes a log; the file goes whole where it does not take that. */
  remove(collection: string, key: string): Promise<void> {
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
   */
  async ask(request: IndexRequest, until = this.durable): Promise<void> {
    const { losses } = this.file;
    if (request.do === "add" && ++this.#adds === threadAfter.adds) this.#startThread();
    const asked = { request, until };
    const answered = new Promise<Answer>((resolve) => this.#requests.push({ asked, resolve }));
    this.#give(asked);
    const answer = await awaited(answered);
    if (losses !== this.file.losses) throw lost();
    if (answer === undefined) return;
    // A file that lacks a log is of no use. One that is begun again twice goes on in memory.
    this.file.failed(answer === "full" && request.do === "add" ? "useless" : answer);
  }

  /** To the thread that writes. */
  #give(asked: Asked): void {
    if (this.#worker !== undefined) this.#tell(asked);
    else {
      this.#ownQueue().ask(asked);
      void this.#write();
    }
  }

  #hear(report: IndexReport): void {
    if ("answer" in report) this.#requests.shift()?.resolve(report.answer);
    else if ("doubtful" in report) this.#doubt(report.doubtful);
    else this.file.lose();
  }

  /** Writes out what the journal holds, in every collection, and closes the file. Closing twice is closing once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#erasing;
    this.#cancelTimer?.();
    const { losses } = this.file;
    await this.ask({ do: "nothing" }).catch(() => undefined); // it is not complete then
    const worker = this.#worker;
    if (worker !== undefined) {
      const ended = new Promise((resolve) => worker.once("exit", resolve));
      this.#tell("end");
      await awaited(ended);
    }
    this.#queue?.close();
    this.#queue = undefined;
    // What was lost is given to the next process: not all was compared with the new file.
    const isComplete = this.mark >= this.durable && losses === this.file.losses && !this.#wasLost;
    const used = Array.from(this.#parts, ([name, { comparedAt }]) => [name, comparedAt] as const);
    this.file.close(isComplete, new Map(used));
  }

  #ownQueue(): IndexQueue {
    if (this.#queue === undefined) {
      this.#queue = new IndexQueue(
        this.file.opened,
        this.#projections,
        this.#shared,
        ownSliceBytes,
        (report) => this.#hear(report),
        this.#options.files,
      );
      for (const segment of this.#segments) this.#queue.began(segment);
    }
    return this.#queue;
  }

  #doubt(collection: string): void {
    this.file.covered.delete(collection);
    this.#parts.get(collection)?.doubt();
  }

  /** Writes what was asked for, and all that the journal holds where no other thread will. */
  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    const hasMore = () => {
      if (this.#worker !== undefined) return false;
      if (this.#isAlone && this.mark < this.durable && this.#closing === undefined)
        this.#ownQueue();
      return this.#queue?.step(this.#isAlone ? this.durable : 0) ?? false;
    };
    while (hasMore()) await nextPass();
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
    const data = {
      path,
      memory: this.#memory,
      isUnsure: !this.file.clean && this.file.losses === 0,
    };
    let worker: Worker;
    try {
      worker = new Thread(threadFile(), {
        name: "throughline-index",
        workerData: data satisfies ThreadData,
        // Its objects are short-lived: a larger young generation takes memory and saves no time.
        resourceLimits: { maxYoungGenerationSizeMb: 8 },
      });
    } catch {
      // The system gives no more threads. The journal, which may wait for this call, goes on.
      this.#beAlone();
      return;
    }
    this.#queue?.close();
    this.#queue = undefined;
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
    for (const { asked } of this.#requests) this.#tell(asked);
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
    for (const { asked } of this.#requests) this.#ownQueue().ask(asked);
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

  #tell(message: ThreadMessage): void {
    this.#worker?.postMessage(message);
    Atomics.add(this.#shared.wake, 0, 1);
    Atomics.notify(this.#shared.wake, 0);
  }

  async #insistOn(request: IndexRequest): Promise<void> {
    const { losses } = this.file;
    await this.ask(request).catch((error) => {
      if (!isThroughlineError(error, "THROUGHLINE_UNAVAILABLE")) throw error;
      if (losses === this.file.losses) this.file.lose();
    });
  }

  /** The file was begun again, and is empty. */
  #lost(): void {
    this.#wasLost = true;
    this.#queue?.close();
    this.#queue = undefined;
    if (this.file.isInMemory) this.#isAlone = true;
    this.#leaveThread();
    for (const { resolve } of this.#requests.splice(0)) resolve("useless");
    if (this.#found !== undefined) this.#found = { nth: 0, position: 0 };
    // All logs are compared with the new one: what the journal holds of them is in them.
    this.#shared.marks[1] = this.durable;
    for (const part of this.#parts.values()) part.forgetAll();
    if (this.#closing !== undefined) return;
    this.#options.logger?.warn({}, "the index was damaged and is being rebuilt from the logs");
  }
}

/** Beside this file in the sources; in a folder of its own in what is published. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith(".ts");
  return new URL(isSource ? "./index-thread.ts" : "../workers/index-thread.js", import.meta.url);
}
