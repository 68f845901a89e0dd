/** A sync that takes no longer than this may hold up the event loop: waking another thread takes a fifth of it. */
const fastMs = 0.5;
/** So long the event loop may be held up before others have their turn. A sync that takes longer is slow. */
const mostMs = 1;
/** So many groups after one that several waited for, most likely several will wait again. */
const crowded = 64;

/**
 * Decides where the next sync runs. On a fast disk, and if nothing else waits, it runs at once on this
 * thread. A slow disk never holds up the event loop twice in a row.
 */
export class SyncPlace {
  /** Of the last syncs, the newest ones most. Not known at first: one sync on this thread tells. */
  #averageMs = 0;
  #crowd = 0;
  #blockedMs = 0;
  #isReset = true;
  /** How many syncs there were, and how long they took, in seconds. */
  readonly times = { count: 0, sum: 0 };

  /** @param waiting how many wait for this sync. @returns `"next pass"`: here, once others had their turn. */
  choose(waiting: number): "here" | "next pass" | "another thread" {
    this.#crowd = waiting > 1 ? crowded : Math.max(0, this.#crowd - 1);
    if (this.#crowd > 0 || this.#averageMs > fastMs) return "another thread";
    return this.#blockedMs < mostMs ? "here" : "next pass";
  }

  took(ms: number, wasHere: boolean): void {
    this.times.count++;
    this.times.sum += ms / 1_000;
    this.#averageMs += (ms - this.#averageMs) / 8;
    if (!wasHere) return;
    if (ms > mostMs) this.#averageMs = Math.max(this.#averageMs, mostMs);
    this.#blockedMs += ms;
    if (!this.#isReset) return;
    this.#isReset = false;
    setImmediate(() => {
      this.#isReset = true;
      this.#blockedMs = 0;
    });
  }
}
