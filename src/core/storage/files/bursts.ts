import type { Timers } from "../../timers.ts";

/** Appends that are further apart than this, or than twice this, are no burst. */
const quietMs = 1_000;

/** Which logs are appended to again and again. */
export class Bursts {
  readonly #timers: Timers;
  readonly #onQuiet: (key: string) => void;
  /** Appended to since the last tick, and in the time between the two before. */
  #now = new Set<string>();
  #before = new Set<string>();
  #cancel: (() => void) | undefined;
  #isClosed = false;

  /** @param onQuiet is called when nothing was appended to a log for a second or two. */
  constructor(timers: Timers, onQuiet: (key: string) => void) {
    this.#timers = timers;
    this.#onQuiet = onQuiet;
  }

  /** Something is appended. @returns whether the last append was only a moment ago. */
  append(key: string): boolean {
    if (this.#isClosed) return false;
    const isBurst = this.#now.has(key) || this.#before.has(key);
    this.#now.add(key);
    if (this.#cancel === undefined) this.#wait();
    return isBurst;
  }

  /** The next append to this log is no burst, and `onQuiet` is not called for the last ones. */
  forget(key: string): void {
    this.#now.delete(key);
    this.#before.delete(key);
  }

  /** `onQuiet` is not called after this. */
  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#now.clear();
    this.#before.clear();
  }

  #wait(): void {
    this.#cancel = this.#timers.after(quietMs, () => this.#tick());
  }

  #tick(): void {
    const quiet = [...this.#before].filter((key) => !this.#now.has(key));
    this.#before = this.#now;
    this.#now = new Set();
    this.#cancel = undefined;
    if (this.#before.size > 0) this.#wait();
    for (const key of quiet) this.#onQuiet(key);
  }
}
