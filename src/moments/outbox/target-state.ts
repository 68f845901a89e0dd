import type { Clock } from "../../core/clock.ts";
import { backoff, backoffMs, type Jitter } from "./backoff.ts";
import type { Outcome, OwedError } from "./outcome.ts";

export interface TargetView {
  /**
   * `ok`: the last request was answered, or none was made yet. `waiting`: it is away, and asked
   * again later. `parked`: it said no; somebody must look. One request an hour asks whether it still
   * does.
   */
  readonly state: "ok" | "waiting" | "parked";
  readonly error: OwedError | null;
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

  /** @returns whether people should hear of it: it is parked, and was not for this reason. */
  failed(outcome: Outcome): boolean {
    if (outcome.kind === "park_target") {
      const was = this.#view;
      this.#view = { state: "parked", error: outcome.error };
      this.#dueAt = this.#clock.monotonic() + backoff.hourMs;
      return was.state !== "parked" || was.error?.class !== outcome.error.class;
    }
    if (outcome.kind === "retry" && outcome.isAway) {
      this.#failures++;
      this.#view = { state: "waiting", error: outcome.error };
      const delayMs = Math.max(backoffMs(this.#failures, this.#jitter), outcome.atLeastMs);
      this.#dueAt = this.#clock.monotonic() + delayMs;
    }
    return false;
  }

  /** The network is back: a target that is away is asked at once. One that said no is not. */
  online(): void {
    if (this.#view.state !== "waiting") return;
    this.#failures = 0;
    this.#dueAt = this.#clock.monotonic();
  }

  /** Somebody looked: it is asked at once, whatever it said. */
  probe(): void {
    this.#failures = 0;
    this.#dueAt = this.#clock.monotonic();
  }
}
