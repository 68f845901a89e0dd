import type { LogProjection } from "../log-store.ts";
import type { IndexedSegment, JournalFiles, sharedViews } from "./index-journal.ts";
import { type Fault, faultOf, type OpenDatabase } from "./index-schema.ts";
import { type IndexedBatch, IndexWriter, type LogState } from "./index-writer.ts";

/** What the index is asked for. Everything is done in order. */
export type IndexRequest =
  | {
      readonly do: "add";
      readonly collection: string;
      readonly log: LogState;
      readonly batches: readonly IndexedBatch[];
      readonly from: number;
    }
  | { readonly do: "remove" | "damaged"; readonly collection: string; readonly key: string }
  | { readonly do: "cover"; readonly collection: string; readonly isCovered: boolean }
  | { readonly do: "sync" | "catch up" | "erase" };

/** A request. What the journal holds before the position `until` is written first. */
export interface Asked {
  readonly request: IndexRequest;
  readonly until: number;
}

/** The answers come in the order of the requests; `undefined`: it was done. */
export type IndexReport =
  | { readonly answer: Fault | undefined }
  | { readonly doubtful: string }
  | { readonly lost: true };

/** A disk that was full is tried again after this time. */
const retryMs = 1_000;

/**
 * What is to be written to `index.db`, a slice at a time: what was asked for, and else what the journal holds. In
 * the thread of the index, or in the main thread.
 */
export class IndexQueue {
  readonly #writer: IndexWriter;
  readonly #asked: Asked[] = [];
  readonly #shared: ReturnType<typeof sharedViews>;
  readonly #sliceBytes: number;
  readonly #report: (report: IndexReport) => void;
  /** Something failed, and the journal is not read before this time. 0: nothing did. */
  #retryAt = 0;

  /** @param shared has the mark up to which the journal was read before. */
  constructor(
    opened: OpenDatabase,
    projections: ReadonlyMap<string, LogProjection>,
    shared: ReturnType<typeof sharedViews>,
    sliceBytes: number,
    report: (report: IndexReport) => void,
    files?: JournalFiles,
  ) {
    const doubt = (collection: string) => report({ doubtful: collection });
    this.#writer = new IndexWriter(opened, projections, doubt, files);
    this.#writer.mark = shared.marks[1] ?? 0;
    this.#shared = shared;
    this.#sliceBytes = sliceBytes;
    this.#report = report;
  }

  receive(message: { readonly segment: IndexedSegment } | Asked): void {
    if ("segment" in message) this.#writer.began(message.segment);
    else this.#asked.push(message);
  }

  get isAsked(): boolean {
    return this.#asked.length > 0;
  }

  /** Bytes of the journal before this position that are not written. */
  behind(until: number): number {
    return Math.max(0, until - this.#writer.mark);
  }

  /** Time until the journal is read again, after something failed. */
  get waitMs(): number {
    return this.#retryAt === 0 ? 0 : Math.max(0, this.#retryAt - performance.now());
  }

  /**
   * Does a slice.
   *
   * @param until where the journal ends.
   * @returns whether there is more to do now.
   */
  step(until: number): boolean {
    const [first] = this.#asked;
    let report: IndexReport | undefined;
    try {
      if (first === undefined) {
        if (this.#canRead(until)) this.#writer.take(until, this.#sliceBytes);
        else return false;
      } else if (this.#perform(first)) report = { answer: undefined };
      this.#retryAt = 0;
    } catch (error) {
      const fault = faultOf(error) ?? "useless";
      this.#retryAt = performance.now() + retryMs;
      if (first !== undefined) report = { answer: fault };
      else if (fault === "useless") report = { lost: true };
    }
    this.#shared.marks[1] = this.#writer.mark;
    const { wake } = this.#shared;
    Atomics.store(wake, 2, this.#retryAt === 0 ? 0 : 1);
    Atomics.add(wake, 3, 1);
    Atomics.notify(wake, 3);
    if (report !== undefined && "answer" in report) this.#asked.shift();
    // Last: it is read together with what was noted.
    if (report !== undefined) this.#report(report);
    return this.isAsked || this.#canRead(until);
  }

  close(): void {
    this.#writer.close();
  }

  #canRead(until: number): boolean {
    return this.behind(until) > 0 && this.waitMs === 0;
  }

  /** @returns whether all of it is done. */
  #perform({ request, until }: Asked): boolean {
    const writer = this.#writer;
    if (writer.take(until, this.#sliceBytes)) return false;
    if (request.do === "add")
      writer.add(request.collection, request.log, request.batches, request.from);
    else if (request.do === "remove") writer.remove(request.collection, request.key);
    else if (request.do === "damaged") writer.markDamaged(request.collection, request.key);
    else if (request.do === "cover") writer.cover(request.collection, request.isCovered);
    else if (request.do === "sync") writer.sync();
    else if (request.do === "erase") writer.erase();
    return true;
  }
}
