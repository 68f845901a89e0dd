import { setImmediate } from "node:timers/promises";
import type { HeldClock } from "../held-clock.ts";
import { HeldTimers } from "../held-timers.ts";

const longestLookMs = 5;

/**
 * Timers of a held clock that go off as soon as nothing else can happen: hours pass while real
 * requests are made in between, and none of them is overtaken by the clock.
 */
export class VirtualTime extends HeldTimers {
  /** Whether real work is under way, so that no time may pass. */
  readonly #isBusy: () => boolean;
  #wake: () => void = () => undefined;

  constructor(clock: HeldClock, isBusy: () => boolean) {
    super(clock);
    this.#isBusy = isBusy;
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
      if (this.callNext(end)) continue;
      if (Number.isFinite(end)) this.clock.pass(Math.max(end - this.clock.monotonic(), 0));
      return done();
    }
  }

  /** Lets time pass; what it starts goes on, each at its time. */
  override async pass(ms: number): Promise<void> {
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
}
