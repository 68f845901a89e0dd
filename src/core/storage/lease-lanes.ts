/** One at a time per name, in the order of asking, within this process. */
export class LeaseLanes {
  /** Those who wait, by the name that somebody is in. */
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Goes in if nobody is there. */
  tryEnter(name: string): boolean {
    if (this.#waiting.has(name)) return false;
    this.#waiting.set(name, new Set());
    return true;
  }

  /** Goes in when it is this call's turn. Rejects with the signal's reason, and is then not in. */
  enter(name: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.tryEnter(name)) return Promise.resolve();
    const waiting = this.#waiting.get(name);
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        waiting?.delete(go);
        reject(signal.reason);
      };
      waiting?.add(go);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Goes out: the next one is in. */
  leave(name: string): void {
    const waiting = this.#waiting.get(name);
    const [next] = waiting ?? [];
    if (next === undefined) this.#waiting.delete(name);
    else waiting?.delete(next);
    next?.();
  }
}
