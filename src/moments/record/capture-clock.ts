import type { Clock } from "../../core/clock.ts";

/** When something was received. */
export interface Received {
  /** Of the monotonic clock: throttles and distances. */
  readonly monoMs: number;
  /** Of a clock that goes on while the machine sleeps: age limits. Never goes back. */
  readonly ageMs: number;
}

interface Note {
  readonly monoMs: number;
  readonly ageMs: number;
  readonly byMs: number;
}

/** A difference of more than this between two clocks is told of. */
const noticedMs = 1_000;
const lookEveryMs = 1_000;
const maxNotes = 100;

/**
 * Compares the wall clock, the monotonic clock and the uptime, once a second and whenever the first
 * two disagree: so a step of the wall clock and a sleep of the machine are told apart and noted.
 * Where the clock tells no uptime, a sleep cannot be told from a step: age then goes by the monotonic
 * clock alone.
 */
export class CaptureClock {
  readonly #clock: Clock;
  readonly #startedMs: number;
  #lookedAtMs: number;
  /** Wall clock minus monotonic clock, at the last look. */
  #wallLead: number;
  /** Wall clock minus uptime, at the last look. */
  #wallBase: number;
  /** Uptime minus monotonic clock at the start: what is more, the machine slept. */
  readonly #uptimeLead: number | undefined;
  #sleptMs = 0;
  readonly #steps: Note[] = [];
  readonly #suspends: Note[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    const mono = clock.monotonic();
    const wall = clock.now();
    const uptime = clock.uptimeMs?.();
    this.#startedMs = mono;
    this.#lookedAtMs = mono;
    this.#wallLead = wall - mono;
    this.#wallBase = wall - (uptime ?? mono);
    this.#uptimeLead = uptime === undefined ? undefined : uptime - mono;
  }

  now(): Received {
    const monoMs = this.#clock.monotonic();
    const lead = this.#clock.now() - monoMs;
    const isDue = monoMs - this.#lookedAtMs >= lookEveryMs;
    if (isDue || Math.abs(lead - this.#wallLead) > noticedMs) this.#look(monoMs, lead);
    return { monoMs, ageMs: monoMs + this.#sleptMs };
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

  stepsSince(ageMs: number): readonly Note[] {
    return this.#steps.filter((note) => note.ageMs >= ageMs);
  }

  /** Sleeps that ended since then: `ageMs` of a sleep is when it was over. */
  suspendsSince(ageMs: number): readonly Note[] {
    return this.#suspends.filter((note) => note.ageMs >= ageMs);
  }

  #look(monoMs: number, lead: number): void {
    const uptime = this.#uptimeLead === undefined ? undefined : this.#clock.uptimeMs?.();
    if (uptime !== undefined && this.#uptimeLead !== undefined) {
      const sleptMs = uptime - monoMs - this.#uptimeLead;
      const more = sleptMs - this.#sleptMs;
      if (more > noticedMs) {
        this.#sleptMs = sleptMs;
        note(this.#suspends, { monoMs, ageMs: monoMs + sleptMs, byMs: more });
      }
    }
    const wallBase = lead + monoMs - (uptime ?? monoMs);
    const byMs = wallBase - this.#wallBase;
    if (Math.abs(byMs) > noticedMs) {
      note(this.#steps, { monoMs, ageMs: monoMs + this.#sleptMs, byMs });
    }
    this.#wallBase = wallBase;
    this.#wallLead = lead;
    this.#lookedAtMs = monoMs;
  }
}

function note(notes: Note[], added: Note): void {
  notes.push(added);
  if (notes.length > maxNotes) notes.shift();
}
