interface RingLimits {
  readonly count: number;
  readonly bytes: number;
  /** Absent: age drops nothing. */
  readonly ageMs?: number;
}

interface Sized {
  readonly bytes: number;
  /** When it was received, on a clock that goes on while the machine sleeps. */
  readonly ageMs: number;
}

/**
 * The newest items within a count, a sum of bytes and an age; over a limit the oldest go. The items
 * are never changed, so that a snapshot of them costs one copied list.
 */
export class Ring<T extends Sized> {
  readonly #limits: RingLimits;
  #items: T[] = [];
  #bytes = 0;

  constructor(limits: RingLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#items.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(item: T): void {
    this.expire(item.ageMs);
    this.#items.push(item);
    this.#bytes += item.bytes;
    this.#trim();
  }

  /** Puts `item` where `old` is. */
  replace(old: T, item: T): void {
    this.#items[this.#items.indexOf(old)] = item;
    this.#bytes += item.bytes - old.bytes;
    this.#trim();
  }

  /** Drops what is older than the limit: an item is kept as long as its age is at most that. */
  expire(nowAgeMs: number): void {
    const { ageMs } = this.#limits;
    if (ageMs === undefined) return;
    while (this.#items[0] !== undefined && nowAgeMs - this.#items[0].ageMs > ageMs) {
      this.#drop();
    }
  }

  /** Oldest first; the caller's own list. */
  snapshot(): T[] {
    return this.#items.slice();
  }

  /** Takes out what it holds for. */
  remove(holds: (item: T) => boolean): void {
    this.#items = this.#items.filter((item) => !holds(item));
    this.#bytes = this.#items.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  clear(): void {
    this.remove(() => true);
  }

  #trim(): void {
    while (this.#items.length > this.#limits.count) this.#drop();
    while (this.#bytes > this.#limits.bytes && this.#items.length > 0) this.#drop();
  }

  #drop(): void {
    this.#bytes -= this.#items.shift()?.bytes ?? 0;
  }
}
