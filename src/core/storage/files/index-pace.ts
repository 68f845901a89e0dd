import { setImmediate as nextTurn } from "node:timers/promises";
import type { Timers } from "../../timers.ts";
import type { LogIndex } from "./log-index.ts";

/** How long no append has begun in a pause: others at this pace are not held up by the index. */
const pauseMs = 5;

/** So many bytes are not left to wait for more: some 20 ms of work. */
const muchBytes = 128 * 1024;

/** In a pause: about a millisecond at a time, or, where the last of them wait in many parts, half of that. */
const pauseDrain = { batches: 32, fewest: 8 } as const;

/**
 * When too many wait: many at a time, because what costs is the transaction. Of so many that wait in 16
 * parts, one part has as many as are taken.
 */
const busyDrain = { waiting: 16_384, bytes: 4 * 1024 * 1024, batches: 256 } as const;

/** So many pauses did not come, 2 s of them: no burst any more but the load of every day. */
const steadyAfter = 400;
/** Under a steady load lists and searches should not find much that waits, lists never that of many logs. */
const steadyDrain = { waiting: 1_024, logs: 1_024, batches: 64 } as const;

/** Before a search, which has everybody wait for what is left then. */
const searchDrain = { waiting: 1_024, batches: 64 } as const;

/** When the index takes up the batches that wait for it. */
export class IndexPace {
  readonly #index: LogIndex;
  readonly #timers: Timers;
  /** Appends that somebody waits for. */
  #inFlight = 0;
  /** How many appends there were. */
  #begun = 0;
  /** How often no pause was found since the last one. */
  #missed = 0;
  #isCatchingUp = false;
  #isClosed = false;

  constructor(index: LogIndex, timers: Timers) {
    this.#index = index;
    this.#timers = timers;
  }

  /** An append is under way. */
  during<T>(append: Promise<T>): Promise<T> {
    this.#inFlight++;
    this.#begun++;
    return append.finally(() => {
      this.#inFlight--;
      this.#catchUp();
    });
  }

  /** The disk is busy for a moment, which costs an append nothing. */
  whileSyncing(): void {
    const waiting = this.#index.waiting();
    const isSteady = this.#missed >= steadyAfter && waiting >= steadyDrain.waiting;
    const isTooMuch = waiting >= busyDrain.waiting || this.#index.waitingBytes() >= busyDrain.bytes;
    if (isTooMuch) this.#index.drain(busyDrain.batches);
    else if (isSteady || this.#index.waitingLogs() >= steadyDrain.logs) {
      this.#index.drain(steadyDrain.batches);
    }
  }

  /** Lets the index take up most of what waits now, others getting their turn in between. */
  async beforeSearch(): Promise<void> {
    // What comes in the meantime is not waited for: there may be no end to it.
    const begun = this.#index.waiting();
    let taken = 0;
    while (begun - taken > searchDrain.waiting || this.#index.waitingBytes() > muchBytes) {
      const before = this.#index.waiting();
      if (taken >= begun || !this.#drainSome(searchDrain.batches)) return;
      taken += before - this.#index.waiting();
      await nextTurn();
    }
  }

  /** No append comes any more, and what waits is written out at once. */
  close(): void {
    this.#isClosed = true;
  }

  /** Lets the index take up what waits in the next pause. */
  #catchUp(): void {
    const isLittle =
      this.#index.waiting() < pauseDrain.fewest && this.#index.waitingBytes() < muchBytes;
    if (this.#isCatchingUp || isLittle) return;
    this.#isCatchingUp = true;
    const begun = this.#begun;
    this.#timers.after(pauseMs, () => {
      this.#isCatchingUp = false;
      if (begun === this.#begun && this.#inFlight === 0) {
        this.#missed = 0;
        this.#slice();
      } else {
        this.#missed++;
        this.#catchUp();
      }
    });
  }

  #drainSome(batches: number): boolean {
    return this.#index.drain(batches) || this.#index.drain(1);
  }

  /** Slice by slice, as long as no append is in flight. */
  #slice(): void {
    const { batches, fewest } = pauseDrain;
    if (this.#inFlight > 0 || this.#isClosed) return;
    this.#isCatchingUp = this.#index.drain(batches) || this.#index.drain(fewest);
    if (!this.#isCatchingUp) return;
    setImmediate(() => {
      this.#isCatchingUp = false;
      this.#slice();
    });
  }
}
