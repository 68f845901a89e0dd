import { checkKey } from "./key.ts";
import { type LogTail, logLimits } from "./log-store.ts";

/**
 * Names a thing that is acted on by one at a time, such as a log of a collection. The collection may
 * be the empty text, for a name that is no log; the key is as that of a log.
 */
export interface LeaseName {
  readonly collection: string;
  readonly key: string;
}

/** While a process holds it, no other begins or ends the companion's run, or copies the companion. */
export const companionLease: LeaseName = { collection: "", key: "companion" };

export interface LeaseOptions {
  /** Ends the waiting. The promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What a log holds, without its records. */
export type LogState = Omit<LogTail, "records">;

/**
 * The right to act alone on a name, among all processes of one storage. It is kept alive by its
 * holder. A holder that dies, or that sleeps for longer than the lease lasts, is replaced: what it
 * then still writes under this name is refused. Where one process alone writes, it is never lost.
 */
export interface Lease {
  /** Counts the holders of this name: greater than that of every holder before. */
  readonly epoch: number;
  /** Aborted once this process knows that it may no longer act: it lost the lease, or the storage closed. */
  readonly lost: AbortSignal;
  /** What the log of this name held when the lease was taken, if the storage saw that; `seq` 0: there was none. */
  readonly log?: LogState | undefined;
  /**
   * Gives the name to the next one that waits for it. Resolves when it is free. Releasing twice is
   * releasing once, and releasing a lost lease frees nothing. Never rejects: an unreachable storage
   * frees it when it lapses.
   */
  release(): Promise<void>;
}

/**
 * Who may act alone on what. Every storage has them: `LocalLeases` do where one process alone writes.
 *
 * Where several do: while a process holds a lease on a log (until `release`, also after it was lost),
 * each of its appends, erasures and deletions of that log, and each change of the files of its key, carries
 * the lease's epoch, and is refused with `THROUGHLINE_FENCED` when another process has acquired the name since: nothing is stored. That the
 * lease lapsed refuses nothing by itself, and a process that never took it writes as if there were none.
 */
export interface Leases {
  /**
   * Waits for its turn, then holds the name. Within one process a second call waits for the first
   * one's release too, in the order of the calls.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`, `THROUGHLINE_CLOSED`.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: a name that is none.
   */
  acquire(name: LeaseName, options?: LeaseOptions): Promise<Lease>;

  /** Holds the name if it is free; `undefined` when it is not. Does not wait. */
  tryAcquire(name: LeaseName): Promise<Lease | undefined>;
}

/**
 * A copy, checked.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`.
 */
export function checkedName({ collection, key }: LeaseName): LeaseName {
  if (collection !== "") checkKey(collection, "collection", logLimits.keyBytes);
  checkKey(key, "key", logLimits.keyBytes);
  return { collection, key };
}

/** Unique for every name: no collection can be taken for the beginning of a key. */
export function nameText({ collection, key }: LeaseName): string {
  return JSON.stringify([collection, key]);
}
