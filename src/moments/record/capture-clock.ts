import type { Clock } from "../../core/clock.ts";

/** When something was received. */
export interface Received {
  /** Of the monotonic clock: throttles and distances. */
  readonly monoMs: number;
  /** Of a clock that goes on while the machine sleeps: age limits. Never goes back. */
  readonly ageMs: number;
}

/** The uptime takes longer to read than all the rest: it is read this often, and when the wall clock jumped. */
const lookEveryMs = 1_000;
const noticedMs = 1_000;

/** Tells how long ago something was, the time in which the machine slept included, where its clock has an uptime. */
export class CaptureClock {
  readonly #clock: Clock;
  /** Uptime minus monotonic clock at the start: what is more, the machine slept. */
  readonly #uptimeLead: number;
  /** Wall clock minus monotonic clock, and the latter, at the last look. */
  #wallLead = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #sleptMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    const mono = clock.monotonic();
    this.#uptimeLead = (clock.uptimeMs?.() ?? mono) - mono;
  }

  now(): Received {
    const monoMs = this.#clock.monotonic();
    const wallLead = this.#clock.now() - monoMs;
    const hasJumped = Math.abs(wallLead - this.#wallLead) > noticedMs;
    if (hasJumped || monoMs - this.#lookedAtMs >= lookEveryMs) {
      this.#wallLead = wallLead;
      this.#lookedAtMs = monoMs;
      const sleptMs = (this.#clock.uptimeMs?.() ?? 0) - monoMs - this.#uptimeLead;
      if (sleptMs - this.#sleptMs > noticedMs) this.#sleptMs = sleptMs;
    }
    return { monoMs, ageMs: monoMs + this.#sleptMs };
  }
}

/** Milliseconds with 3 decimals, without -0. */
export function millis(ms: number): number {
  return Math.round(ms * 1_000) / 1_000 + 0;
}

/** Milliseconds as seconds with 3 decimals. */
export function seconds(ms: number): number {
  return Math.round(ms) / 1_000 + 0;
}
