import { setImmediate as nextPass } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { isThroughlineError } from "../../errors.ts";
import { awaited, type Timers } from "../../timers.ts";
import type { IndexBehind } from "../storage.ts";
import { unavailable } from "./file-ports.ts";
import type { IndexAnswer, IndexRequest } from "./index-worker.ts";
import type { IndexChange } from "./log-index.ts";
import type { IndexDatabase } from "./sqlite-database.ts";
import { faultOf } from "./sqlite-file.ts";

/** Changes that wait a moment are written together, which costs less: so long, or until so many wait. */
const gathered = { ms: 10, changes: 64 } as const;

/** A thread is started when so much waits, or something for so long: a home that is open for a moment needs none. */
const threadAfter = { ms: 250, changes: 64 } as const;

/** One transaction takes at most so much: some 50 ms. */
const sliceOf = { changes: 512, bytes: 512 * 1024 } as const;

/** So many transactions are on their way to the thread at once: it need not wait for us. */
const onTheirWay = 2;

/** Past so much, appends wait for the index. A bound on memory. */
const limits = { changes: 16_384, bytes: 16 * 1024 * 1024 } as const;

/** So long after a disk was full it is tried again. */
const retryMs = 1_000;

/** A file that is shorter is erased on this thread if there is no other: in some milliseconds. */
const smallBytes = 1024 * 1024;

/** A change, and what is called when it is in the file. */
interface Waiting {
  readonly change: IndexChange;
  readonly bytes: number;
  readonly wrote: () => void;
}

/** `"ended"`: the thread ended, and it is not known whether it was done. */
type Answered = (answer: IndexAnswer | "ended") => void;

/**
 * The changes of the index of a home, in order, until they are in `index.db`. Another thread writes them, so
 * that appends do not wait for it. Where there is none, this one does, a slice at a time.
 */
export class IndexQueue {
  readonly #database: IndexDatabase;
  readonly #timers: Timers;
  /** Up to where in the journal all was added. */
  readonly #mark: () => number | undefined;
  #waiting: Waiting[] = [];
  #bytes = 0;
  /** So many of them are on their way to the thread. */
  #sent = 0;
  /** Counts failed writes: see `IndexRequest`. */
  #attempt = 0;
  #added = 0;
  #written = 0;
  /** Who waits until so many are written. */
  #waiters: { readonly target: number; readonly resolve: () => void }[] = [];
  #worker: Worker | undefined;
  readonly #requests: Answered[] = [];
  /** The thread has opened the file: it must not write to one that was begun again since what it was sent. */
  #isOpen = false;
  /** No thread can be started, or none can read what is only in memory. */
  #isAlone = false;
  #isFull = false;
  #isWriting = false;
  #cancelTimer: (() => void) | undefined;
  #erasing: Promise<void> | undefined;
  #closed = false;

  constructor(database: IndexDatabase, timers: Timers, mark: () => number | undefined) {
    this.#database = database;
    this.#timers = timers;
    this.#mark = mark;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** How many changes wait, and how many bytes of log they hold. */
  get behind(): IndexBehind {
    return { batches: this.#waiting.length, bytes: this.#bytes };
  }

  add(change: IndexChange, bytes: number, wrote: () => void): void {
    this.#waiting.push({ change, bytes, wrote });
    this.#bytes += bytes;
    this.#added++;
    if (this.#isFull) return;
    if (this.#worker === undefined && !this.#isAlone) {
      if (this.#waiting.length >= threadAfter.changes) this.#startThread();
      else this.#later(threadAfter.ms, () => this.#startThread());
    } else if (this.#waiting.length - this.#sent === gathered.changes) this.#send();
    else this.#later(gathered.ms, () => this.#send());
  }

  /** Resolves when less waits. `undefined`: little waits, or the disk is full and nothing helps. */
  room(): Promise<void> | undefined {
    const isMuch = this.#waiting.length >= limits.changes || this.#bytes >= limits.bytes;
    if (!isMuch || this.#isFull) return undefined;
    this.#startThread();
    return this.#wrote(this.#added - Math.floor(this.#waiting.length / 2));
  }

  /** Writes all that was added before. @returns whether it is in the file: a full disk takes nothing. */
  async flush(): Promise<boolean> {
    const target = this.#added;
    this.#isFull = false;
    // A thread may be started on the way: from then on it alone writes.
    while (this.#worker === undefined && this.#written < target) {
      if (!this.#writeHere(sliceOf.changes)) break;
      await nextPass();
    }
    if (this.#worker !== undefined) {
      this.#send();
      await this.#wrote(target);
    }
    return this.#written >= target;
  }

  /**
   * Makes all durable that was added before.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`
   */
  async sync(): Promise<void> {
    if (!(await this.flush())) throw unavailable("the disk is full: the index cannot take more");
    await this.#do({ do: "sync" });
  }

  /**
   * Notes that all logs of a collection are in the index, or in the journal; or that this is not so, which
   * is durable when this resolves. Never rejects: on a full disk nothing is noted.
   */
  async cover(collection: string, isCovered: boolean): Promise<void> {
    await this.#do({ do: "cover", collection, isCovered }).catch(() => undefined);
  }

  /** Writes what was added before, and makes the bytes of removed logs disappear. */
  erase(): Promise<void> {
    // What is removed while one erases is erased by the next one.
    const before = this.#erasing;
    const erasing = (async () => {
      await before?.catch(() => undefined);
      await this.#erase();
    })();
    this.#erasing = erasing;
    return erasing;
  }

  /** The file was begun again, and is empty: nothing that waits is of use any more. */
  begunAgain(isInMemory: boolean): void {
    this.#took(this.#waiting.length);
    this.#sent = 0;
    if (isInMemory) this.#endThread();
    else this.#post({ do: "open", path: this.#database.path });
  }

  /** Writes all, and ends the thread. @returns whether all is in the file. */
  async close(): Promise<boolean> {
    await this.#erasing?.catch(() => undefined);
    const isComplete = await this.flush();
    this.#closed = true;
    this.#cancelTimer?.();
    const worker = this.#worker;
    if (worker !== undefined) {
      const ended = new Promise((resolve) => worker.once("exit", resolve));
      this.#post({ do: "close" });
      await awaited(ended);
    }
    return isComplete;
  }

  #later(ms: number, work: () => void): void {
    if (this.#cancelTimer !== undefined || this.#closed) return;
    this.#cancelTimer = this.#timers.after(ms, () => {
      this.#cancelTimer = undefined;
      if (!this.#closed) work();
    });
  }

  /** Resolves when so many are written, or the disk is full. */
  #wrote(target: number): Promise<void> {
    if (this.#written >= target || this.#isFull) return Promise.resolve();
    return awaited(new Promise((resolve) => this.#waiters.push({ target, resolve })));
  }

  #startThread(): void {
    if (this.#worker !== undefined || this.#closed) return;
    if (this.#isAlone || this.#database.isInMemory) {
      this.#isAlone = true;
      void this.#writeAlone();
      return;
    }
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const { Worker: Thread } = process.getBuiltinModule("node:worker_threads"); // loading it takes 1 ms
    const worker = new Thread(workerFile(), { name: "throughline-index" });
    this.#worker = worker;
    worker.on("message", (answer: IndexAnswer) => this.#answered(answer));
    worker.on("error", () => this.#endThread());
    worker.on("exit", () => this.#endThread());
    worker.unref(); // last: a listener holds the process. Who waits for an answer does too
    this.#post({ do: "open", path: this.#database.path }, () => {
      this.#isOpen = true;
    });
  }

  /** There is no thread any more. What it had not answered is written here. */
  #endThread(): void {
    if (this.#worker === undefined) return;
    const worker = this.#worker;
    this.#worker = undefined;
    this.#isAlone = true;
    this.#sent = 0;
    void worker.terminate();
    for (const answered of this.#requests.splice(0)) answered("ended");
    void this.#writeAlone();
  }

  #post(request: IndexRequest, answered: Answered = () => undefined): void {
    if (this.#worker === undefined) return;
    this.#requests.push(answered);
    this.#worker.postMessage(request);
  }

  #answered(answer: IndexAnswer): void {
    this.#requests.shift()?.(answer);
    if (this.#worker !== undefined && !this.#isFull && !this.#closed) this.#send();
  }

  #send(): void {
    if (this.#worker === undefined) {
      void this.#writeAlone();
      return;
    }
    if (!this.#isOpen) return;
    while (this.#requests.length < onTheirWay && this.#sent < this.#waiting.length) {
      const { changes, isAll } = this.#slice(this.#sent, sliceOf.changes);
      const count = changes.length;
      this.#sent += count;
      const text = JSON.stringify(changes);
      const mark = isAll ? this.#mark() : undefined;
      const attempt = this.#attempt;
      const { losses } = this.#database;
      this.#post({ do: "write", changes: text, mark, attempt }, (answer) => {
        if (answer === "ended" || losses !== this.#database.losses) return;
        if (attempt !== this.#attempt) return; // it was not written, and is sent again
        if (answer === undefined) {
          this.#sent -= count;
          this.#took(count);
        } else this.#failed(answer);
      });
    }
  }

  #slice(from: number, most: number): { changes: readonly IndexChange[]; isAll: boolean } {
    const changes: IndexChange[] = [];
    let bytes = 0;
    for (let i = from; i < this.#waiting.length && changes.length < most; i++) {
      const next = this.#waiting[i];
      bytes += next?.bytes ?? 0;
      if (next === undefined || (changes.length > 0 && bytes > sliceOf.bytes)) break;
      changes.push(next.change);
    }
    return { changes, isAll: from + changes.length === this.#waiting.length };
  }

  /** The oldest are in the file, or of no use. */
  #took(count: number): void {
    for (const { bytes, wrote } of this.#waiting.splice(0, count)) {
      this.#bytes -= bytes;
      wrote();
    }
    this.#written += count;
    this.#settle();
  }

  #settle(): void {
    const over = this.#waiters.filter(({ target }) => this.#isFull || this.#written >= target);
    if (over.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !over.includes(waiter));
    for (const { resolve } of over) resolve();
  }

  #failed(fault: "full" | "useless"): void {
    if (fault === "useless") {
      this.#database.lose();
      return;
    }
    this.#attempt++;
    this.#sent = 0;
    this.#isFull = true;
    this.#settle();
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#later(retryMs, () => {
      this.#isFull = false;
      this.#send();
    });
  }

  /** Writes a slice on this thread. @returns whether it did. */
  #writeHere(most: number): boolean {
    const { changes, isAll } = this.#slice(0, most);
    if (changes.length === 0) return false;
    try {
      this.#database.writer.write(changes, isAll ? this.#mark() : undefined);
    } catch (error) {
      this.#failed(faultOf(error) ?? "useless");
      return false;
    }
    this.#took(changes.length);
    return true;
  }

  async #writeAlone(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    try {
      // What an append costs is a few of them: others have their turn in between.
      while (this.#worker === undefined && !this.#closed && !this.#isFull) {
        if (!this.#writeHere(gathered.changes)) break;
        await nextPass();
      }
    } finally {
      this.#isWriting = false;
    }
  }

  async #erase(): Promise<void> {
    if (this.#worker === undefined && this.#database.isLongerThan(smallBytes)) this.#startThread();
    const isWritten = await this.flush();
    // What is removed must be gone: if it cannot be written that it is, the whole file goes.
    if (!isWritten && this.#waiting.some(({ change }) => "removed" in change))
      this.#database.lose();
    await this.#do({ do: "erase" });
    this.#database.assertNothingLeft();
  }

  /** @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: it was not done, and the file was begun again. */
  async #do(request: IndexRequest & { readonly do: "cover" | "erase" | "sync" }): Promise<void> {
    if (this.#worker === undefined) {
      try {
        const { writer } = this.#database;
        if (request.do === "sync") writer.sync();
        else if (request.do === "cover") writer.cover(request.collection, request.isCovered);
        else while (this.#database.writer.eraseSome()) await nextPass();
      } catch (error) {
        if (isThroughlineError(error)) throw error; // it is closed
        this.#gaveUp(request.do, faultOf(error));
      }
      return;
    }
    const { losses } = this.#database;
    const answer = await awaited(
      new Promise<Parameters<Answered>[0]>((resolve) => this.#post(request, resolve)),
    );
    if (answer === undefined || losses !== this.#database.losses) return;
    if (answer === "ended") await this.#do(request);
    else this.#gaveUp(request.do, answer);
  }

  /** Erasing must have an end: a file that cannot be erased goes whole. */
  #gaveUp(what: "cover" | "erase" | "sync", fault: IndexAnswer): void {
    if (what === "erase" || fault === "useless") this.#database.lose();
    else throw unavailable("the disk is full: the index cannot be made durable");
  }
}

/** Beside this file in the sources; in a folder of its own in what is published. */
function workerFile(): URL {
  const isSource = import.meta.url.endsWith(".ts");
  return new URL(isSource ? "./index-worker.ts" : "../workers/index-worker.js", import.meta.url);
}
