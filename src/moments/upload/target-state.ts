import type { Clock } from "../../core/clock.ts";
import type { AttemptError, Outcome } from "./outcome.ts";

/** A random number from 0 up to, and without, 1. Passed in, so that a seed can replay a run. */
export type Jitter = () => number;

export const systemJitter: Jitter = () =>
  (globalThis.crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32;

export const backoff = {
  firstMs: 1_000,
  ceilingMs: 300_000,
  /** Failures at the ceiling, an hour together on average: from then on once an hour. */
  atCeiling: 24,
  hourMs: 3_600_000,
} as const;

/** The first failure whose delay is the ceiling: 2^9 s is more than 300. */
const ceilingFrom = Math.ceil(Math.log2(backoff.ceilingMs / backoff.firstMs)) + 1;

/**
 * How long to wait after the `failures`-th failure in a row, in milliseconds: 1 s, doubling up to
 * 300 s, of which a random part is waited; after about an hour of that, once an hour.
 *
 * Source: "Exponential backoff and jitter", AWS Architecture Blog (2015): full jitter.
 */
export function backoffMs(failures: number, jitter: Jitter): number {
  if (failures >= ceilingFrom + backoff.atCeiling) {
    return backoff.hourMs * (1 - 0.1 * jitter()); // not all in the same second
  }
  const most = Math.min(backoff.firstMs * 2 ** Math.max(failures - 1, 0), backoff.ceilingMs);
  return Math.ceil(most * jitter());
}

export interface TargetView {
  /**
   * `ok`: the last request was answered, or none was made yet. `away`: it does not answer, and is asked
   * again later. `refused`: it said no; somebody must look. One request an hour asks whether it still
   * does.
   */
  readonly state: "ok" | "away" | "refused";
  readonly error: AttemptError | null;
}

/** Whether the target may be asked now. A refusal stops it once, not every package one by one. */
export class TargetState {
  readonly #clock: Clock;
  readonly #jitter: Jitter;
  #view: TargetView = { state: "ok", error: null };
  #failures = 0;
  /** On the monotonic clock: before it, nothing is asked. */
  #dueAt = 0;

  constructor(clock: Clock, jitter: Jitter) {
    this.#clock = clock;
    this.#jitter = jitter;
    this.#dueAt = clock.monotonic();
  }

  get view(): TargetView {
    return this.#view;
  }
  get dueAt(): number {
    return this.#dueAt;
  }
  get isDue(): boolean {
    return this.#clock.monotonic() >= this.#dueAt;
  }

  answered(): void {
    this.#view = { state: "ok", error: null };
    this.#failures = 0;
    this.#dueAt = this.#clock.monotonic();
  }

  /** @returns whether people should hear of it: it refuses, and did not for this reason. */
  failed(outcome: Outcome): boolean {
    if (outcome.kind === "target_refused") {
      const was = this.#view;
      this.#view = { state: "refused", error: outcome.error };
      this.#dueAt = this.#clock.monotonic() + backoff.hourMs;
      return was.state !== "refused" || was.error?.class !== outcome.error.class;
    }
    if (outcome.kind === "retry" && outcome.isAway) {
      this.#failures++;
      this.#view = { state: "away", error: outcome.error };
      const delayMs = Math.max(backoffMs(this.#failures, this.#jitter), outcome.atLeastMs);
      this.#dueAt = this.#clock.monotonic() + delayMs;
    }
    return false;
  }

  /** The network is back: a target that is away is asked at once. One that said no is not. */
  online(): void {
    if (this.#view.state !== "away") return;
    this.#failures = 0;
    this.#dueAt = this.#clock.monotonic();
  }

  /** Somebody looked: it is asked at once, whatever it said. */
  probe(): void {
    this.#failures = 0;
    this.#dueAt = this.#clock.monotonic();
  }
}
