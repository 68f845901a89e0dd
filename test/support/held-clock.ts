import type { Clock } from "../../src/core/clock.ts";

/** A clock that stands still until it is moved: wall and monotonic apart, as a test needs them. */
export class HeldClock implements Clock {
  #wall: number;
  #monotonic = 0;

  /** @param at ISO 8601. */
  constructor(at = "2026-03-01T12:00:00.000Z") {
    this.#wall = Date.parse(at);
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** Time passes. */
  pass(ms: number): void {
    this.#wall += ms;
    this.#monotonic += ms;
  }

  /** The wall clock is set, forward or back; no time passes. */
  set(at: string): void {
    this.#wall = Date.parse(at);
  }
}
