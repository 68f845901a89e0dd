import { setImmediate } from "node:timers/promises";
import type { Timers } from "../../src/core/timers.ts";
import type { HeldClock } from "./held-clock.ts";

/** Timers of a held clock: they are called when the clock is passed here, in order, each at its time. */
export class HeldTimers implements Timers {
  readonly #clock: HeldClock;
  readonly #waiting = new Set<{ readonly at: number; readonly call: () => void }>();

  constructor(clock: HeldClock) {
    this.#clock = clock;
  }

  /** How many wait to be called. */
  get count(): number {
    return this.#waiting.size;
  }

  after(delayMs: number, call: () => void): () => void {
    const timer = { at: this.#clock.monotonic() + Math.max(delayMs, 0), call };
    this.#waiting.add(timer);
    return () => this.#waiting.delete(timer);
  }

  /** Time passes, timer by timer; what a timer started goes on before the next one is called. */
  async pass(ms: number): Promise<void> {
    const end = this.#clock.monotonic() + ms;
    await setImmediate();
    for (let next = this.#dueBy(end); next !== undefined; next = this.#dueBy(end)) {
      this.#waiting.delete(next);
      this.#clock.pass(Math.max(next.at - this.#clock.monotonic(), 0));
      next.call();
      await setImmediate();
    }
    this.#clock.pass(end - this.#clock.monotonic());
  }

  /** The first one that is due by then; of several for one time, the one that was set first. */
  #dueBy(end: number) {
    let first: { readonly at: number; readonly call: () => void } | undefined;
    for (const timer of this.#waiting) {
      if (timer.at <= end && (first === undefined || timer.at < first.at)) first = timer;
    }
    return first;
  }
}
