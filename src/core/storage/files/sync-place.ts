/** A sync that takes no longer than this may hold up the event loop: waking another thread takes a fifth of it. */
const fastMs = 0.5;
/** So many syncs in a row were fast. */
const trusted = 16;
/** So long the event loop may be held up before others have their turn. */
const mostMs = 1;
/** So many groups after one that several waited for, most likely several will wait again. */
const crowded = 64;

/**
 * Decides where the next sync runs. On a fast disk, and if nothing else waits, it runs at once on this
 * thread. A slow disk never holds up the event loop twice in a row.
 */
export class SyncPlace {
  #fast = 0;
  #crowd = 0;
  #blockedMs = 0;
  #isReset = true;

  /** @param waiting how many wait for this sync. */
  isHere(waiting: number): boolean {
    this.#crowd = waiting > 1 ? crowded : Math.max(0, this.#crowd - 1);
    return this.#crowd === 0 && this.#fast >= trusted && this.#blockedMs < mostMs;
  }

  took(ms: number, wasHere: boolean): void {
    this.#fast = ms <= fastMs ? this.#fast + 1 : 0;
    if (!wasHere) return;
    this.#blockedMs += ms;
    if (!this.#isReset) return;
    this.#isReset = false;
    setImmediate(() => {
      this.#isReset = true;
      this.#blockedMs = 0;
    });
  }
}
