import { ThroughlineError } from "../errors.ts";

/**
 * Lanes: one thing at a time per chat, in the order of arrival, and no chat waits for another. A
 * bounded queue per lane: past it, a caller is told to come back.
 */
export class Lanes {
  readonly #maxQueued: number;
  readonly #lanes = new Map<string, { tail: Promise<void>; count: number }>();

  /** @param maxQueued how many may wait in one lane, beside the one that runs. */
  constructor(maxQueued: number) {
    this.#maxQueued = maxQueued;
  }

  /** Whether something runs or waits in this lane. */
  isBusy(key: string): boolean {
    return this.#lanes.has(key);
  }

  /** How many run or wait, over all lanes. */
  get size(): number {
    let size = 0;
    for (const lane of this.#lanes.values()) size += lane.count;
    return size;
  }

  /** @throws ThroughlineError `THROUGHLINE_BUSY`: too many wait in this lane already. */
  assertRoom(key: string): void {
    if ((this.#lanes.get(key)?.count ?? 0) <= this.#maxQueued) return;
    throw new ThroughlineError(`${this.#maxQueued} messages wait in this chat already`, {
      code: "THROUGHLINE_BUSY",
    });
  }

  /** Runs `work` when everything that came before it in this lane has ended. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const lane = this.#lanes.get(key) ?? { tail: Promise.resolve(), count: 0 };
    this.#lanes.set(key, lane);
    lane.count++;
    const result = lane.tail.then(work);
    const done = () => {
      lane.count--;
      if (lane.count === 0) this.#lanes.delete(key);
    };
    lane.tail = result.then(done, done);
    return result;
  }

  /** Settles when nothing runs or waits any more, what comes in the meantime included. */
  async idle(): Promise<void> {
    while (this.#lanes.size > 0) {
      await Promise.all([...this.#lanes.values()].map((lane) => lane.tail));
    }
  }
}
