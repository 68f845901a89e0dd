import type { Timers } from "../../src/core/timers.ts";

/** Timers of one process among several that share others: held back, it is a process that sleeps. */
export class HeldBackTimers implements Timers {
  readonly #timers: Timers;
  readonly #due = new Set<() => void>();
  /** What is neither due nor cancelled: each makes its call due. */
  readonly #waiting = new Set<() => void>();
  #heldBack = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  after(delayMs: number, call: () => void, options?: { readonly holdsProcess?: boolean }) {
    const fall = () => {
      cancel();
      this.#waiting.delete(fall);
      if (this.#heldBack) this.#due.add(call);
      else call();
    };
    const cancel = this.#timers.after(delayMs, fall, options);
    this.#waiting.add(fall);
    return () => {
      cancel();
      this.#waiting.delete(fall);
      this.#due.delete(call);
    };
  }

  /** From now on what is due waits. */
  holdBack(): void {
    this.#heldBack = true;
  }

  /** Makes all due that waits, as a clock does that goes far ahead. */
  hurry(): void {
    for (const fall of [...this.#waiting]) fall();
  }

  /** Calls what was due meanwhile, in the order in which it was. */
  goOn(): void {
    this.#heldBack = false;
    const due = [...this.#due];
    this.#due.clear();
    for (const call of due) call();
  }
}
