import type { Clock } from "../../core/clock.ts";

/** When something was received. */
export interface Received {
  /** Of the monotonic clock: throttles and distances. */
  readonly monoMs: number;
  /** Of a clock that goes on while the machine sleeps: age limits. Never goes back. */
  readonly ageMs: number;
}

/** A step of the wall clock, or a sleep of the machine; `ageMs` is when it was over. */
interface Jump extends Received {
  readonly isSleep: boolean;
  readonly byMs: number;
}

/** A difference between two clocks that is larger than this is noted. */
const noticedMs = 1_000;
/** How often the uptime is read, which takes longer than all the rest. */
const lookEveryMs = 1_000;
const maxJumps = 100;

/**
 * Compares the wall clock, the monotonic clock and the uptime once a second and whenever the first
 * two disagree: so a step of the wall clock and a sleep of the machine are told apart and noted.
 * Where the clock has no uptime, a sleep cannot be told from a step: age then goes by the monotonic
 * clock alone.
 */
export class CaptureClock {
  readonly #clock: Clock;
  readonly #startedMs: number;
  /** Uptime minus monotonic clock at the start: what is more, the machine slept. */
  readonly #uptimeLead: number;
  /** Wall clock minus uptime, and the monotonic clock, at the last look. */
  #wallBase: number;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #sleptMs = 0;
  readonly #jumps: Jump[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    const mono = clock.monotonic();
    const uptime = clock.uptimeMs?.() ?? mono;
    this.#startedMs = mono;
    this.#uptimeLead = uptime - mono;
    this.#wallBase = clock.now() - uptime;
  }

  now(): Received {
    const monoMs = this.#clock.monotonic();
    const uptime = monoMs + this.#uptimeLead + this.#sleptMs;
    const isApart = Math.abs(this.#clock.now() - uptime - this.#wallBase) > noticedMs;
    if (isApart || monoMs - this.#lookedAtMs >= lookEveryMs) this.#look(monoMs);
    return { monoMs, ageMs: monoMs + this.#sleptMs };
  }

  #look(monoMs: number): void {
    const uptime = this.#clock.uptimeMs?.() ?? monoMs + this.#uptimeLead;
    const sleptMs = uptime - monoMs - this.#uptimeLead;
    const more = sleptMs - this.#sleptMs;
    if (more > noticedMs) {
      this.#sleptMs = sleptMs;
      this.#note(monoMs, more, true);
    }
    const wallBase = this.#clock.now() - uptime;
    const byMs = wallBase - this.#wallBase;
    if (Math.abs(byMs) > noticedMs) this.#note(monoMs, byMs, false);
    this.#wallBase = wallBase;
    this.#lookedAtMs = monoMs;
  }

  #note(monoMs: number, byMs: number, isSleep: boolean): void {
    this.#jumps.push({ isSleep, monoMs, ageMs: monoMs + this.#sleptMs, byMs });
    if (this.#jumps.length > maxJumps) this.#jumps.shift();
  }

  /** Since the run began. */
  sinceStartMs(monoMs: number): number {
    return monoMs - this.#startedMs;
  }

  get wallMs(): number {
    return this.#clock.now();
  }

  get bootId(): string | null {
    return this.#clock.bootId?.() ?? null;
  }

  jumpsSince(ageMs: number): readonly Jump[] {
    return this.#jumps.filter((jump) => jump.ageMs >= ageMs);
  }
}
