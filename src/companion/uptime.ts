import type { Clock } from "../core/clock.ts";

/** How long a run has been up, by a clock that cannot be set, since this process began to count. */
export class Uptime {
  readonly #clock: Clock;
  readonly #startedMonotonic: number;
  /** When the run began: milliseconds since 1970. */
  readonly startedAt: number;

  /** @param upMs for how long it was up already. */
  constructor(clock: Clock, startedAt = clock.now(), upMs = 0) {
    this.#clock = clock;
    this.startedAt = startedAt;
    this.#startedMonotonic = clock.monotonic() - upMs;
  }

  /** Of a run that began in another process: for how long it was up, the wall clock says. */
  static sinceThen(clock: Clock, startedAt = clock.now()): Uptime {
    return new Uptime(clock, startedAt, Math.max(0, clock.now() - startedAt));
  }

  /** The same for another run. */
  of(startedAt: number | undefined): Uptime {
    return Uptime.sinceThen(this.#clock, startedAt);
  }

  get ms(): number {
    return this.#clock.monotonic() - this.#startedMonotonic;
  }
}
