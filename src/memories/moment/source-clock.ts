const windowMs = 30_000;
/** A source that is further behind than this was set back: its old offset is of no use. */
const setBackMs = 5_000;
const maxSources = 16;

/**
 * The clock of a browser or a robot, seen from here: by the smallest `received - source` of the last
 * 30 s, which is the transmission that waited least. One for all streams of a connection, so that
 * picture and sound keep their distance.
 */
export class SourceClock {
  /** The smallest offset of each second, oldest first. */
  #offsets: { readonly second: number; offset: number }[] = [];

  /** @returns when it happened, on our monotonic clock: never after it was received. */
  map(sourceMs: number, receivedMs: number): number {
    const offset = receivedMs - sourceMs;
    const second = Math.floor(receivedMs / 1_000);
    if (offset - this.#smallest() > setBackMs) this.#offsets = [];
    const newest = this.#offsets.at(-1);
    if (newest?.second === second) newest.offset = Math.min(newest.offset, offset);
    else this.#offsets.push({ second, offset });
    const oldest = second - windowMs / 1_000;
    while ((this.#offsets[0]?.second ?? second) < oldest) this.#offsets.shift();
    return sourceMs + this.#smallest();
  }

  #smallest(): number {
    let smallest = Number.POSITIVE_INFINITY;
    for (const { offset } of this.#offsets) smallest = Math.min(smallest, offset);
    return smallest;
  }
}

/** The clocks of the connections of late: 16, the one unused for longest is forgotten. */
export class SourceClocks {
  readonly #clocks = new Map<string, SourceClock>();

  /** Without a source's time it is the time of receipt. */
  map(source: string, sourceMs: number | undefined, receivedMs: number): number {
    if (sourceMs === undefined || !Number.isFinite(sourceMs)) return receivedMs;
    const clock = this.#clocks.get(source) ?? new SourceClock();
    this.#clocks.delete(source);
    this.#clocks.set(source, clock);
    const oldest = this.#clocks.keys().next();
    if (this.#clocks.size > maxSources && !oldest.done) this.#clocks.delete(oldest.value);
    return clock.map(sourceMs, receivedMs);
  }
}
