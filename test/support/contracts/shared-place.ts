import type { Storage } from "../../../src/core/storage/storage.ts";

/**
 * A place that is empty at first, and what a proof does to the processes that write it. A driver's
 * author implements it, in one process or with several: each storage stands for a process of its own.
 */
export interface SharedPlace extends AsyncDisposable {
  /** Opens one more storage of the place. Resolves when it hears what the others tell. */
  join(): Promise<Storage>;

  /**
   * Ends a storage as `kill -9` ends a process: it releases nothing, all its work stops, and
   * no proof calls it again. Its leases lapse by themselves, at the latest one lease's time later.
   */
  kill(storage: Storage): Promise<void>;

  /**
   * Stops a storage as SIGSTOP stops a process, until its leases have lapsed: it renews none and notes
   * nothing. Resolves when others may take them. No proof calls it before `wake`.
   */
  sleep(storage: Storage): Promise<void>;

  /** Lets it go on: time has passed, and its timers that are due are called. */
  wake(storage: Storage): Promise<void>;

  /**
   * Cuts what a storage hears the others by, and lets it heal: what they tell during the cut is
   * missed. Resolves when it hears again. A driver that cannot miss anything gives none, and
   * leaves the clauses with `interrupts` out.
   */
  interrupt?(storage: Storage): Promise<void>;

  /** Closes the storages that were neither killed nor closed, and removes the place. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Makes a place that is empty and that nothing else uses. */
export type OpenPlace = () => Promise<SharedPlace>;

/** One promise of the contract about several writers. */
export interface SharedClause {
  /** A sentence that is true of every driver. */
  readonly says: string;
  /** Present where the proof needs `interrupt`. */
  readonly interrupts?: true;
  /** Present where the proof waits until the leases of a killed holder lapse. */
  readonly lapses?: true;
  /** Resolves if the promise is kept, rejects if it is not. Closes the places that it opened. */
  readonly proof: (openPlace: OpenPlace) => Promise<void>;
}
