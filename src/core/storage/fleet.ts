import type { JsonObject } from "../json.ts";

/**
 * What names a thing that one process at a time may act on, such as a log of a collection. The
 * collection may be the empty text, for a name that is no log; the key is as that of a log.
 */
export interface LeaseName {
  readonly collection: string;
  readonly key: string;
}

/** The process that holds it writes what the companion feels; while one does, nothing copies the companion. */
export const companionLease: LeaseName = { collection: "", key: "companion" };

export interface LeaseOptions {
  /** Ends the waiting. The promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * The right to act alone on a name, among all processes of one storage. It is kept alive by its
 * holder. A holder that dies, or that sleeps for longer than the lease lasts, is replaced: what it
 * then still writes under this name is refused.
 */
export interface Lease {
  /** Counts the holders of this name: greater than that of every holder before. */
  readonly epoch: number;
  /** Aborted once this process knows that it may no longer act: it lost the lease. */
  readonly lost: AbortSignal;
  /**
   * Gives the name to whoever waits for it. Resolves when it is free. Releasing twice is releasing
   * once, and releasing a lost lease frees nothing. Never rejects: an unreachable storage frees it
   * when it lapses.
   */
  release(): Promise<void>;
}

/**
 * What a storage offers whose place several processes write at the same time.
 *
 * While a process holds a lease on a log (until `release`, also after it was lost), each of its
 * appends, erasures and deletions of that log carries the lease's epoch, and is refused with
 * `THROUGHLINE_FENCED` when another process has acquired the name since: nothing is stored. That the
 * lease lapsed refuses nothing by itself, and a process that never took it writes as if there were none.
 */
export interface Fleet {
  /** Of this process, unique among all that ever joined. */
  readonly processId: string;

  /**
   * Waits for its turn, then holds the name. Within one process a second call waits for the first
   * one's release too.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`, `THROUGHLINE_CLOSED`.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: a name that is none.
   */
  acquire(name: LeaseName, options?: LeaseOptions): Promise<Lease>;

  /** Holds the name if nobody else does; `undefined` when somebody does. Does not wait. */
  tryAcquire(name: LeaseName): Promise<Lease | undefined>;

  /**
   * Tells every other process, once each, in this order for those that listen all the time; not this
   * one. Best effort: a process that is away hears nothing of it. The message is copied before the call
   * returns; after `close()` nobody hears it.
   *
   * @param message at most 1 MiB of JSON.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`. Nothing else is an error.
   */
  tell(message: JsonObject): void;

  /** Calls back for what the others tell. @returns a function that ends it. */
  onTold(listener: (message: JsonObject, processId: string) => void): () => void;

  /** Calls back when messages may have been missed: whoever shows a state reads it again. */
  onGap(listener: () => void): () => void;
}
