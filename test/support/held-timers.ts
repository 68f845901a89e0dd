import { setImmediate } from "node:timers/promises";
import type { Timers } from "../../src/core/timers.ts";
import type { HeldClock } from "./held-clock.ts";

interface Waiting {
  readonly at: number;
  readonly call: () => void;
}

/** Timers of a held clock: they are called when the clock is passed here, in order, each at its time. */
export class HeldTimers implements Timers {
  readonly clock: HeldClock;
  readonly #waiting = new Set<Waiting>();

  constructor(clock: HeldClock) {
    this.clock = clock;
  }

  /** How many wait to be called. */
  get count(): number {
    return this.#waiting.size;
  }

  after(delayMs: number, call: () => void): () => void {
    const timer = { at: this.clock.monotonic() + Math.max(delayMs, 0), call };
    this.#waiting.add(timer);
    return () => this.#waiting.delete(timer);
  }

  /** Time passes, timer by timer; what a timer started goes on before the next one is called. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.monotonic() + ms;
    await setImmediate();
    while (this.callNext(end)) await setImmediate();
    this.clock.pass(end - this.clock.monotonic());
  }

  /**
   * Calls the first timer that is due by then, at its time; of several for one time, the one that was set first.
   *
   * @returns whether there was one.
   */
  protected callNext(end: number): boolean {
    let first: Waiting | undefined;
    for (const timer of this.#waiting) {
      if (timer.at <= end && (first === undefined || timer.at < first.at)) first = timer;
    }
    if (first === undefined) return false;
    this.#waiting.delete(first);
    this.clock.pass(Math.max(first.at - this.clock.monotonic(), 0));
    first.call();
    return true;
  }
}
