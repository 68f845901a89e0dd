import type { Clock } from "../core/clock.ts";

/** Clocks that are apart by more have parted. Uptimes in whole seconds seem to by less than one. */
const partedMs = 2_000;

/** What became of time since the last look. */
interface Look {
  /** The time asleep that was not returned yet, in whole milliseconds. */
  readonly sleptMs: number;
  /** The wall clock was set: what is felt went on by another time than it tells. */
  readonly isSet: boolean;
}

/**
 * How long the machine slept. A monotonic clock may stand still during sleep, as on Linux; the wall
 * clock and the uptime continue. Of the two the wall clock is cheap and may be set to anything, so
 * that it only says when the uptime is worth asking.
 */
export class SleepWatch {
  readonly #clock: Clock;
  /** By how much the wall clock was ahead of the monotonic one at the last look. */
  #wallAhead: number;
  /** The same of the uptime, as far as it was returned; `undefined`: the machine has none. */
  #uptimeAhead: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    const monotonic = clock.monotonic();
    this.#wallAhead = clock.now() - monotonic;
    this.#uptimeAhead = this.#uptimeAt(monotonic);
  }

  /** Costs a look at the wall clock, unless that ran ahead or was set since the last call. */
  look(monotonic: number): Look {
    const wallAhead = this.#clock.now() - monotonic;
    const partedByMs = wallAhead - this.#wallAhead;
    this.#wallAhead = wallAhead;
    const sleptMs = partedByMs > partedMs ? this.#sleptMs(monotonic) : 0;
    return { sleptMs, isSet: Math.abs(partedByMs - sleptMs) > partedMs };
  }

  #sleptMs(monotonic: number): number {
    const ahead = this.#uptimeAt(monotonic);
    if (ahead === undefined || this.#uptimeAhead === undefined) return 0;
    const slept = Math.floor(ahead - this.#uptimeAhead);
    if (!(slept > partedMs)) return 0; // somebody set the wall clock
    this.#uptimeAhead += slept;
    return slept;
  }

  #uptimeAt(monotonic: number): number | undefined {
    const uptime = this.#clock.uptimeMs?.();
    return uptime === undefined ? undefined : uptime - monotonic;
  }
}
