import { ThroughlineError } from "../core/errors.ts";

/** The calls of one storage: in order per key, refused once it closes, finished before it has closed. */
export class Calls {
  readonly #running = new Set<Promise<void>>();
  readonly #lanes = new Map<string, Promise<void>>();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @throws ThroughlineError `THROUGHLINE_CLOSED`. */
  checkOpen(): void {
    if (this.#isClosed) {
      throw new ThroughlineError("the storage is closed", { code: "THROUGHLINE_CLOSED" });
    }
  }

  /** Runs a call beside the others. */
  run<T>(call: () => Promise<T>): Promise<T> {
    const running = call();
    void this.#whenEnded(running, () => undefined);
    return running;
  }

  /** Runs a call after all that came before it in its lane, however those ended. */
  inLane<T>(lane: string, call: () => Promise<T>): Promise<T> {
    const before = this.#lanes.get(lane);
    const running = before === undefined ? call() : before.then(call);
    const ended = this.#whenEnded(running, () => {
      if (this.#lanes.get(lane) === ended) this.#lanes.delete(lane);
    });
    this.#lanes.set(lane, ended);
    return running;
  }

  /** Refuses new calls, and resolves when those that were accepted have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.ended();
  }

  /** Resolves when all that runs now has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Never rejects: the caller gets a failure, the next in the queue does not. */
  #whenEnded(running: Promise<unknown>, then: () => void): Promise<void> {
    const end = () => {
      this.#running.delete(ended);
      then();
    };
    const ended = running.then(end, end);
    this.#running.add(ended);
    return ended;
  }
}
