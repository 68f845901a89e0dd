import fs from "node:fs";
import { setImmediate as nextPass } from "node:timers/promises";
import { closed, type ThroughlineError, unavailable } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { awaited, systemTimers, type Timers } from "../../timers.ts";
import type { LogProjection } from "../log-store.ts";
import { addSegment, type IndexedSegment, type ReadJournal, sharedViews } from "./index-journal.ts";
import {
  beginIndex,
  durably,
  type Fault,
  faultOf,
  type OpenDatabase,
  openIndexFile,
  removeLeftIndex,
  type Statements,
} from "./index-schema.ts";
import { type Answer, IndexWorker } from "./index-worker.ts";
import { type Asked, type IndexRequest, IndexWriter } from "./index-writer.ts";

/**
 * A home that is open for a moment needs no thread. Start it after this many groups of appends or milliseconds, or
 * before so many bytes of the journal are read or of the index erased.
 */
const threadAfter = { ms: 1_000, groups: 1_024, bytes: 1024 * 1024 } as const;
/** Bytes of the journal that this thread writes in one transaction: some milliseconds. */
const ownSliceBytes = 64 * 1024;
/** Appends wait while the index lacks more bytes of the journal than this, which bounds the journal. */
const mostBehindBytes = 128 * 1024 * 1024;
/** What an index refused is tried again after this time. */
const retryMs = 1_000;
/** An index without any log takes less. */
const emptyBytes = 128 * 1024;

interface IndexOptions {
  readonly logger?: Logger | undefined;
  readonly timers?: Timers | undefined;
  /** What the journal is read with. @default `node:fs` */
  readonly read?: ReadJournal | undefined;
  /** @default 128 MiB */
  readonly mostBehindBytes?: number | undefined;
}

/** What is in memory of a collection. */
interface IndexPart {
  readonly collection: string;
  readonly projection: LogProjection;
  /** When its directory had last changed, if it was compared with the index. */
  readonly comparedAt: string | undefined;
  /** The index may lack something of its logs: they must be compared, those that are open too. */
  doubt(): void;
}

/** What to do with a file that does not take what is asked. To begin it again is an answer to `"replace"`. */
type IfRefused = "keep" | "replace if full" | "replace";

/**
 * The index of a home, which several collections share: one `index.db`. This thread reads it; another one reads the
 * journal and writes it. Where there is no other, this one does what is asked for, a slice at a time. A damaged file is
 * never an error to a person: everything in it is derived, so it is deleted and begun again.
 */
export class FileIndex {
  readonly #path: string | undefined;
  readonly #options: IndexOptions;
  readonly #timers: Timers;
  readonly #most: number;
  readonly #parts = new Map<string, IndexPart>();
  #open: OpenDatabase;
  /** The process before this one closed the index itself: no log is ahead of it. */
  readonly clean: boolean;
  /** How often the file was thrown away. */
  losses = 0;
  readonly #lossesBefore: number;
  /**
   * The collections whose logs the index has, but for what the journal holds; each with when its directory had
   * last changed, if that was noted at a clean end.
   */
  readonly covered = new Map<string, string | null>();
  /** Any segment that is begun gets a greater number: by these the index knows what it has. */
  readonly nth: number;
  /** Where the index is in the journal of the last process, until its segments are known. */
  #found: { readonly nth: number; readonly position: number } | undefined;
  #shared = sharedViews();
  /** Those that the index has yet to read. */
  readonly #segments: IndexedSegment[] = [];
  #thread: IndexWorker | undefined;
  /** What writes where there is no thread. */
  #writer: IndexWriter | undefined;
  /** No thread can be started, or none can read what is only in memory. */
  #isAlone = false;
  #groups = 0;
  #keepingUp: Promise<void> | undefined;
  #refusedUntil = 0;
  #cancelTimer: (() => void) | undefined;
  /** Settles when all that was asked for is done. */
  #asked: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;
  #isClosed = false;

  /**
   * Opens the index of a home, creating it if need be. Never fails for what is in the file: one that is damaged,
   * of another version or not ours alone is thrown away, and everything in it comes back from the logs. On a
   * disk that takes no file the index is kept in memory.
   *
   * @param path `undefined`: in memory from the start.
   */
  constructor(path: string | undefined, options: IndexOptions = {}) {
    this.#path = path;
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.#most = options.mostBehindBytes ?? mostBehindBytes;
    this.#open = (path && openIndexFile(path, true)) || beginIndex(path);
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
      this.#replace();
      found = {};
    }
    const { clean, forgotten, nth = 0, mark = 0 } = found;
    this.clean = clean === 1;
    this.nth = Number(nth);
    this.#found = { nth: this.nth, position: Number(mark) };
    this.#lossesBefore = this.losses; // these are no news to anybody
    if (forgotten === 1) void this.erase().catch(() => undefined); // what a dead process had yet to remove
  }

  /** Position in the journal up to which the index is complete. */
  get mark(): number {
    return this.#shared.marks[1] ?? 0;
  }

  /** Before this position the journal is durable. */
  get durable(): number {
    return this.#shared.marks[0] ?? 0;
  }

  get behind(): { readonly bytes: number } {
    return { bytes: Math.max(0, this.durable - this.mark) };
  }

  /** @throws ThroughlineError `THROUGHLINE_CLOSED` */
  get sql(): Statements {
    this.#assertOpen();
    return this.#open.sql;
  }

  #assertOpen(): void {
    if (!this.#isClosed) return;
    throw closed("the index is closed");
  }

  /** How long the file is, with its journal. */
  get #bytes(): number {
    const path = this.#path;
    if (path === undefined || this.#open.isInMemory) return 0;
    const sizeOf = (name: string) => fs.statSync(name, { throwIfNoEntry: false })?.size ?? 0;
    return sizeOf(path) + sizeOf(`${path}-wal`);
  }

  /**
   * Reads the file. When that shows that it is of no use, all is thrown away.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: that happened, or the disk is full or the system lacks something.
   */
  run<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      const fault = faultOf(cause);
      if (fault === undefined) throw cause;
      return this.#failed(fault, cause);
    }
  }

  // What the journal says

  /** Begins to read the journal for a collection. */
  open(part: IndexPart): void {
    const { collection, projection } = part;
    this.#parts.set(collection, part);
    const { module } = projection;
    if (module === undefined) this.#beAlone();
    else this.#thread?.tell({ collection, module });
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
    addSegment(this.#segments, segment, this.mark);
    this.#thread?.tell({ segment });
  }

  /** Has the index read the journal up to this position: all before it is durable. */
  published(position: number): void {
    const { marks, wake } = this.#shared;
    marks[0] = position;
    Atomics.add(wake, 0, 1);
    if (this.#thread === undefined) this.#startThreadSoon();
    else if (Atomics.load(wake, 1) === 1) Atomics.notify(wake, 0);
    const isDue = this.#isAlone && this.behind.bytes > threadAfter.bytes;
    if (isDue && performance.now() >= this.#refusedUntil) void this.#keepUp(0);
  }

  // What is asked for

  /** Whether appends wait: the index is far behind. After it could not catch up they go on for a while. */
  get isFar(): boolean {
    return this.behind.bytes > this.#most && performance.now() >= this.#refusedUntil;
  }

  /** Resolves when the index is not far behind, or nothing helps, since the disk is full. */
  async room(): Promise<void> {
    if (!this.isFar) return;
    this.#startThread();
    await this.#keepUp(this.#most);
  }

  /** Has the index catch up, once for all who wait. Never rejects. @param but so many bytes may be missing. */
  #keepUp(but: number): Promise<void> {
    const refused = () => {
      this.#refusedUntil = performance.now() + retryMs;
    };
    this.#keepingUp ??= this.ask({ do: "catch up", but })
      .catch(refused)
      .finally(() => {
        this.#keepingUp = undefined;
      });
    return this.#keepingUp;
  }

  /**
   * Resolves when all that the journal holds before this position is durable in the index. With `"replace"` an index
   * that does not take it is begun again from the logs.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`
   */
  sync(position = this.durable, ifRefused: IfRefused = "keep"): Promise<void> {
    return this.ask({ do: "sync" }, ifRefused, position);
  }

  /**
   * Resolves when the index has all that is stored now. One that a full disk does not let grow is begun again.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`
   */
  async catchUp(): Promise<void> {
    const { bytes } = this.behind;
    if (bytes === 0) return;
    if (bytes > threadAfter.bytes) this.#startThread();
    await this.ask({ do: "catch up" }, "replace if full");
  }

  /** Never rejects: on a full disk nothing is noted. */
  async cover(collection: string, isCovered: boolean): Promise<void> {
    if (!isCovered) this.covered.delete(collection);
    // What was noted when it was opened still holds.
    else if (this.covered.has(collection)) return;
    await this.ask({ do: "cover", collection, isCovered }).catch(() => undefined);
  }

  /** Takes up what was read of a log. @throws ThroughlineError `THROUGHLINE_UNAVAILABLE` */
  add(read: Omit<IndexRequest & { readonly do: "add" }, "do">): Promise<void> {
    this.#startThreadSoon();
    return this.ask({ do: "add", ...read }, "replace if full");
  }

  /** Resolves when the index does not have a log any more; its bytes are in the file until `erase`. */
  remove(collection: string, key: string): Promise<void> {
    if (this.#bytes > threadAfter.bytes) this.#startThread();
    return this.ask({ do: "remove", collection, key }, "replace");
  }

  /**
   * Resolves when nothing is left in the index file of the words, ids and heads of logs that were removed, deleted or
   * not. That takes time in proportion to the index; a file that cannot be erased goes whole. A crash in between is
   * made good when the index is opened.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: bytes may be left; call it again.
   */
  async erase(): Promise<void> {
    if (this.#bytes > threadAfter.bytes) this.#startThread();
    await this.ask({ do: "erase" }, "replace");
    if (this.#path !== undefined && this.#open.isInMemory) removeLeftIndex(this.#path);
  }

  /**
   * Asks for something to be written, after all that was asked for before and all that is in the journal.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: it was not done; if the file was useless, it was begun again.
   * @throws ThroughlineError `THROUGHLINE_CLOSED`
   */
  async ask(
    request: IndexRequest,
    ifRefused: IfRefused = "keep",
    until = this.durable,
  ): Promise<void> {
    this.#assertOpen();
    const { losses } = this;
    const done = this.#asked.then(() => this.#perform({ request, until }, losses, ifRefused));
    this.#asked = done.catch(() => undefined);
    await awaited(done);
  }

  /** One request at a time. If its thread dies, the rest is done here, perhaps once more. */
  async #perform(asked: Asked, losses: number, ifRefused: IfRefused): Promise<void> {
    let answer: Answer = "again";
    while (answer === "again" && losses === this.losses) {
      this.#assertOpen();
      answer = await (this.#thread?.perform(asked) ?? this.#performHere(asked));
    }
    if (losses !== this.losses) {
      if (ifRefused === "replace") return;
      throw lost();
    }
    if (answer === undefined || answer === "again") return;
    if (ifRefused === "replace") await this.#loseAndFree();
    else this.#failed(answer === "full" && ifRefused === "replace if full" ? "useless" : answer);
  }

  /** Does a slice of what was asked for. */
  async #performHere(asked: Asked): Promise<Answer> {
    try {
      this.#writer ??= new IndexWriter({
        open: this.#open,
        projectionOf: (collection) => this.#parts.get(collection)?.projection,
        segments: this.#segments,
        marks: this.#shared.marks,
        onDoubt: (collection) => this.#doubt(collection),
        read: this.#options.read,
      });
      if (this.#writer.perform(asked, ownSliceBytes)) return undefined;
    } catch (error) {
      return faultOf(error) ?? "useless";
    }
    await nextPass();
    return "again";
  }

  #doubt(collection: string): void {
    this.covered.delete(collection);
    this.#parts.get(collection)?.doubt();
  }

  // The thread

  #startThreadSoon(): void {
    if (this.#thread !== undefined) return;
    if (++this.#groups >= threadAfter.groups) this.#startThread();
    else if (!this.#isAlone && this.#closing === undefined)
      this.#cancelTimer ??= this.#timers.after(threadAfter.ms, () => this.#startThread());
  }

  #startThread(): void {
    if (this.#thread !== undefined || this.#isAlone || this.#closing !== undefined) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const path = this.#path;
    const { memory, wake } = this.#shared;
    const isUnsure = !this.clean && this.losses === 0;
    try {
      if (path !== undefined && !this.#open.isInMemory)
        this.#thread = new IndexWorker({ path, memory, isUnsure }, wake, {
          hear: (report) => ("lost" in report ? this.lose() : this.#doubt(report.doubtful)),
          ended: () => this.#beAlone(),
        });
    } catch {
      // The system gives no more threads. The journal, which may wait for this call, goes on.
    }
    if (this.#thread === undefined) this.#isAlone = true;
    else this.#writer = undefined;
    for (const segment of this.#segments) this.#thread?.tell({ segment });
    for (const { collection, projection } of this.#parts.values()) {
      if (projection.module !== undefined)
        this.#thread?.tell({ collection, module: projection.module });
    }
  }

  /** From now on this thread writes. */
  #beAlone(): void {
    this.#isAlone = true;
    void this.#leaveThread();
  }

  /** The thread sees nothing that is noted from here on, nor is what it notes. */
  async #leaveThread(): Promise<void> {
    const thread = this.#thread;
    const { durable, mark } = this;
    this.#thread = undefined;
    this.#writer = undefined;
    this.#shared = sharedViews();
    this.#shared.marks.set([durable, mark]);
    await thread?.leave();
  }

  // Loss

  #failed(fault: Fault, cause?: unknown): never {
    if (fault !== "useless")
      throw unavailable("the index cannot go on: the disk or the system is full", cause);
    this.lose();
    throw lost(cause);
  }

  /** Throws away all that is in the file, and begins it again, empty, or in memory. */
  lose(inMemory = false): void {
    this.#assertOpen(); // once it is closed, the file may be another process's
    this.#replace(inMemory);
    if (this.#open.isInMemory) this.#isAlone = true;
    if (this.#found !== undefined) this.#found = { nth: 0, position: 0 };
    // All logs are compared with the new one: what the journal holds of them is in them.
    this.#shared.marks[1] = this.durable;
    void this.#leaveThread();
    for (const part of this.#parts.values()) part.doubt();
    if (this.#closing !== undefined) return;
    this.#options.logger?.warn({}, "the index was damaged and is being rebuilt from the logs");
  }

  /** Throws it away once the thread has closed it: until then the disk keeps its bytes. */
  async #loseAndFree(inMemory = false): Promise<void> {
    await this.#thread?.leave();
    this.lose(inMemory);
  }

  #replace(inMemory = false): void {
    try {
      this.#open.database.close();
    } catch {
      // It may be closed already, and is of no use in any case.
    }
    this.covered.clear();
    this.losses++;
    // The disk spoilt it twice: it is kept in memory.
    this.#open = beginIndex(this.#path, inMemory || this.losses >= 2);
  }

  /**
   * Gives up the file of the index where that makes room for as many bytes, does the work in it, and fills the index
   * again from the logs only then: it would take the room first.
   *
   * @returns `undefined`: the file is too small for that.
   */
  makeRoomFor<T>(bytes: number, work: () => Promise<T>): Promise<T> | undefined {
    const has = this.#bytes;
    if (has === 0 || has < bytes) return undefined;
    const done = this.#loseAndFree(has < bytes + emptyBytes).then(work);
    this.#asked = done.catch(() => undefined);
    return done;
  }

  // The end

  /** Writes out what the journal holds, in every collection, and closes the file. Closing twice is closing once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#cancelTimer?.();
    await this.sync().catch(() => undefined); // it is not complete then
    // What was lost is given to the next process: not all was compared with the new file.
    const isComplete = this.mark >= this.durable && this.losses === this.#lossesBefore;
    const covered = [...this.#parts.values()].flatMap(({ collection, comparedAt }) => {
      const isCovered = comparedAt !== undefined || this.covered.has(collection);
      return isCovered ? [[collection, comparedAt ?? null] as const] : [];
    });
    if (isComplete) await this.ask({ do: "end", covered }).catch(() => undefined);
    await this.#thread?.end();
    this.#isClosed = true;
    this.#open.database.close();
  }
}

const lost = (cause?: unknown): ThroughlineError =>
  unavailable("the index could not be used, and is being rebuilt from the logs", cause);
