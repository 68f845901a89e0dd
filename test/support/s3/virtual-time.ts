import { setImmediate } from "node:timers/promises";
import type { Timers } from "../../../src/core/timers.ts";
import type { HeldClock } from "../held-clock.ts";

const longestLookMs = 5;

interface Waiting {
  readonly at: number;
  readonly call: () => void;
}

/**
 * Timers of a held clock that go off as soon as nothing else can happen: hours pass while real
 * requests are made in between, and none of them is overtaken by the clock.
 */
export class VirtualTime implements Timers {
  readonly clock: HeldClock;
  readonly #waiting = new Set<Waiting>();
  /** Whether real work is under way, so that no time may pass. */
  readonly #isBusy: () => boolean;
  #wake: () => void = () => undefined;

  constructor(clock: HeldClock, isBusy: () => boolean) {
    this.clock = clock;
    this.#isBusy = isBusy;
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

  /**
   * Lets time pass until `done` says so; at most `ms`.
   *
   * @returns whether it said so.
   */
  async until(done: () => boolean, ms = Number.POSITIVE_INFINITY): Promise<boolean> {
    const end = this.clock.monotonic() + ms;
    for (;;) {
      await this.#quiet();
      if (done()) return true;
      const next = this.#next();
      if (next === undefined || next.at > end) {
        if (Number.isFinite(end)) this.clock.pass(Math.max(end - this.clock.monotonic(), 0));
        return done();
      }
      this.#waiting.delete(next);
      this.clock.pass(Math.max(next.at - this.clock.monotonic(), 0));
      next.call();
    }
  }

  /** Lets time pass; what it starts goes on, each at its time. */
  async pass(ms: number): Promise<void> {
    await this.until(() => false, ms);
    await this.#quiet();
  }

  /** Real work ended, or began to wait: whoever waits for it looks again. */
  look(): void {
    this.#wake();
  }

  /** Nothing under way for three turns of the loop: what was to follow has begun, or waits. */
  async #quiet(): Promise<void> {
    for (let calm = 0; calm < 3; ) {
      await setImmediate();
      calm = this.#isBusy() ? 0 : calm + 1;
      if (this.#isBusy()) await this.#change();
    }
  }

  /** Until `look` is called; a little later in any case, since not all work tells when it waits. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, longestLookMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #next(): Waiting | undefined {
    let first: Waiting | undefined;
    for (const timer of this.#waiting) {
      if (first === undefined || timer.at < first.at) first = timer;
    }
    return first;
  }
}
