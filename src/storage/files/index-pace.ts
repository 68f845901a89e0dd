import { setImmediate as nextTurn } from "node:timers/promises";
import type { LogIndex } from "./log-index.ts";

/** While nobody waits for an append: about a millisecond at a time. */
const idleDrain = 8;

/**
 * When too many wait: many at a time, because what costs is the transaction. Of so many that wait in 16
 * parts, one part has as many as are taken.
 */
const busyDrain = { waiting: 4_096, batches: 256 } as const;

/** Before a search, which has everybody wait for what is left then. */
const searchDrain = { waiting: 1_024, batches: 64 } as const;

/** When the index takes up the batches that wait for it. */
export class IndexPace {
  readonly #index: LogIndex;
  /** Appends that somebody waits for. */
  #inFlight = 0;
  #isCatchingUp = false;
  #isClosed = false;

  constructor(index: LogIndex) {
    this.#index = index;
  }

  /** An append is under way. */
  during<T>(append: Promise<T>): Promise<T> {
    this.#inFlight++;
    return append.finally(() => {
      this.#inFlight--;
      this.#catchUp();
    });
  }

  /** The disk is busy for a moment, which costs an append nothing. */
  whileSyncing(): void {
    if (this.#index.waiting() >= busyDrain.waiting) this.#index.drain(busyDrain.batches);
  }

  /** Lets the index take up most of what waits now, others getting their turn in between. */
  async beforeSearch(): Promise<void> {
    // What comes meanwhile is not waited for: there may be no end to it.
    for (
      let left = this.#index.waiting();
      left > searchDrain.waiting;
      left -= searchDrain.batches
    ) {
      if (!this.#index.drain(searchDrain.batches)) return;
      await nextTurn();
    }
  }

  /** No append comes any more, and what waits is written out at once. */
  close(): void {
    this.#isClosed = true;
  }

  /** Lets the index take up what waits, slice by slice, as long as nobody waits for an append. */
  #catchUp(): void {
    if (this.#isCatchingUp || this.#index.waiting() < idleDrain) return;
    this.#isCatchingUp = true;
    setImmediate(() => {
      this.#isCatchingUp = false;
      if (this.#inFlight > 0 || this.#isClosed) return;
      if (this.#index.drain(idleDrain)) this.#catchUp();
    });
  }
}
