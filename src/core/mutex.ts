/**
 * One holder at a time for each key, in the order of asking; no key waits for another. Locking what is
 * free costs one entry of a map.
 */
export class KeyedMutex {
  /** The locked keys, each with who waits for it. */
  readonly #waiting = new Map<string, Set<() => void> | undefined>();
  #onIdle: (() => void)[] = [];

  isLocked(key: string): boolean {
    return this.#waiting.has(key);
  }

  /** How many hold this key or wait for it. */
  count(key: string): number {
    return this.isLocked(key) ? 1 + (this.#waiting.get(key)?.size ?? 0) : 0;
  }

  /** The same over all keys. */
  get size(): number {
    let size = 0;
    for (const waiting of this.#waiting.values()) size += 1 + (waiting?.size ?? 0);
    return size;
  }

  /** Locks the key if it is free. @returns whether it did. */
  tryLock(key: string): boolean {
    if (this.#waiting.has(key)) return false;
    this.#waiting.set(key, undefined);
    return true;
  }

  /**
   * Locks the key when it is this call's turn. The caller that locked it must unlock it, once.
   *
   * @param signal ends the waiting: rejects with its reason, and the key is not locked then.
   */
  lock(key: string, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.tryLock(key)) return Promise.resolve();
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting);
    return new Promise((resolve, reject) => {
      const go = () => {
        signal?.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        waiting.delete(go);
        reject(signal?.reason);
      };
      waiting.add(go);
      signal?.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Hands the key to the one who has waited longest. */
  unlock(key: string): void {
    const waiting = this.#waiting.get(key);
    for (const next of waiting ?? []) {
      waiting?.delete(next);
      next();
      return;
    }
    this.#waiting.delete(key);
    if (this.#waiting.size > 0) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** Does work while the key is locked. Work on a free key begins within this call. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (!this.tryLock(key)) await this.lock(key);
    try {
      return await work();
    } finally {
      this.unlock(key);
    }
  }

  /** Resolves once nothing is locked, also by those who come while this waits. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0) {
      await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    }
  }
}
