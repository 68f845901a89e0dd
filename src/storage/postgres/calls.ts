import { ThroughlineError } from "../../errors.ts";

/** The calls of one storage: in order per key, refused once it closes, finished before it has closed. */
export class Calls {
  readonly #running = new Set<Promise<unknown>>();
  readonly #lanes = new Map<string, Promise<unknown>>();
  #isClosed = false;

  /** @throws ThroughlineError `THROUGHLINE_CLOSED`. */
  checkOpen(): void {
    if (this.#isClosed) {
      throw new ThroughlineError("the storage is closed", { code: "THROUGHLINE_CLOSED" });
    }
  }

  /** Runs a call beside the others. */
  run<T>(call: () => Promise<T>): Promise<T> {
    const running = call();
    this.#running.add(running);
    const done = () => this.#running.delete(running);
    running.then(done, done);
    return running;
  }

  /** Runs a call after all that came before it in its lane, however those ended. */
  inLane<T>(lane: string, call: () => Promise<T>): Promise<T> {
    const before = this.#lanes.get(lane);
    const running = this.run(async () => {
      if (before !== undefined) await before;
      return call();
    });
    // Never rejects: whoever called hears of a failure, the next in the lane does not.
    const ended: Promise<void> = running.then(
      () => this.#leave(lane, ended),
      () => this.#leave(lane, ended),
    );
    this.#lanes.set(lane, ended);
    return running;
  }

  /** Refuses new calls, and resolves when those that were accepted have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
  }

  #leave(lane: string, ended: Promise<void>): void {
    if (this.#lanes.get(lane) === ended) this.#lanes.delete(lane);
  }
}
