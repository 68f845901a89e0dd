import type { Clock } from "../core/clock.ts";
import { isThroughlineError } from "../core/errors.ts";
import type { Storage } from "../core/storage/storage.ts";
import { type Problem, problem } from "./problem.ts";

/** How long an answer counts, in milliseconds: finding out writes to the disk, and needs no token. */
const validMs = 2_000;

/** Whether something could be stored now. */
export class Readiness {
  readonly #storage: Storage;
  readonly #clock: Clock;
  #found: Promise<Problem | undefined> | undefined;
  #foundMs = 0;

  constructor(storage: Storage, clock: Clock) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /** @returns why nothing can be stored; `undefined`: it can. At most 2 s old. */
  reason(): Promise<Problem | undefined> {
    const now = this.#clock.monotonic();
    if (this.#found === undefined || now - this.#foundMs >= validMs) {
      this.#foundMs = now;
      this.#found = this.#find();
    }
    return this.#found;
  }

  async #find(): Promise<Problem | undefined> {
    try {
      await this.#storage.ready();
      return undefined;
    } catch (error) {
      if (!isThroughlineError(error)) return problem("THROUGHLINE_INTERNAL");
      return problem(error.code, error.message);
    }
  }
}
