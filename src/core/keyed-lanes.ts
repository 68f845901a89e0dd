/** Does work for a key after whatever is under way for it. */
export type InLane = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** One piece of work at a time for each key, in call order, however the one before ended. */
export class KeyedLanes {
  readonly #last = new Map<string, Promise<void>>();

  readonly run: InLane = (key, work) => {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, settled);
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return result;
  };

  /** Resolves once what was begun has ended, well or not. */
  async settled(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
