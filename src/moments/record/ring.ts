/** What the rolling buffers hold. Source of the counts: the seed; of the bytes: 20 MB in all. */
export const limits = {
  messages: 50,
  messageBytes: 2_000_000,
  /** Code points of one text; what is longer is cut. */
  messageCodePoints: 8_000,
  frames: 240,
  frameBytes: 12_000_000,
  /** Of one picture; a larger one is refused. */
  oneFrameBytes: 2_097_152,
  /** Between accepted pictures of one camera: by the sender's time where both have one, else by when they came. */
  frameEveryMs: 500,
  /** 120 s of 16 kHz, in pieces of at most a second; short ones are joined to at least 5 ms on average. */
  audioSamples: 1_920_000,
  audioPieces: 24_000,
  audioPieceSamples: 16_000,
  /** Pictures and sound that are older go; words stay. */
  mediaAgeMs: 120_000,
  /** Of all captured values together, as JSON. */
  capturedBytes: 262_144,
} as const;

/** When somebody reacted: all times of a moment are told from it. */
export interface Zero {
  /** On the clock by which things are received: see `captureClock`. */
  readonly atMs: number;
  readonly wallMs: number;
}

interface RingLimits {
  readonly count: number;
  readonly bytes: number;
  /** Absent: age drops nothing. */
  readonly ageMs?: number;
}

interface Sized {
  readonly bytes: number;
  /** When it was received: see `captureClock`. */
  readonly atMs: number;
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

  /** Adds it at the end, or puts it where `old` is. */
  add(item: T, old?: T): void {
    if (old === undefined) {
      this.expire(item.atMs);
      this.#items.push(item);
    } else this.#items[this.#items.lastIndexOf(old)] = item;
    this.#bytes += item.bytes - (old?.bytes ?? 0);
    const { count, bytes } = this.#limits;
    while (this.#items.length > count || (this.#bytes > bytes && this.#items.length > 0)) {
      this.#drop();
    }
  }

  /** Drops what is older than the limit: an item is kept as long as its age is at most that. */
  expire(nowMs: number): void {
    const { ageMs = Number.POSITIVE_INFINITY } = this.#limits;
    while (nowMs - (this.#items[0]?.atMs ?? nowMs) > ageMs) this.#drop();
  }

  get newest(): T | undefined {
    return this.#items.at(-1);
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

  #drop(): void {
    this.#bytes -= this.#items.shift()?.bytes ?? 0;
  }
}

/** Milliseconds with 3 decimals, without -0. */
export function millis(ms: number): number {
  return Math.round(ms * 1_000) / 1_000 + 0;
}

/** Milliseconds as seconds with 3 decimals. */
export function seconds(ms: number): number {
  return Math.round(ms) / 1_000 + 0;
}
