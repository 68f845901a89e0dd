import { Lru } from "../../core/lru.ts";

const windowMs = 30_000;
/** A source whose offset changes by more than this was set to another time. */
const resetMs = 5_000;
const maxSources = 16;

/** What makes a time of a source one of our monotonic clock, as well as that is known by now. */
interface Offset {
  readonly ms: number;
}

/** When something happened, by a source's clock. */
export interface SourcedTime {
  readonly sourceMs: number;
  readonly offset: Offset;
}

/** On our monotonic clock. */
export function ourTime({ sourceMs, offset }: SourcedTime): number {
  return sourceMs + offset.ms;
}

/** Of a source that tells no time: that of the receipt is ours. */
const none: Offset = { ms: 0 };

/**
 * The clock of a browser or a robot, seen from here: by the smallest `received - source` of the last
 * 30 s, which is the transmission that waited least. One for all streams of a connection, so that
 * picture and sound keep their distance: where it is learned better, what came before is right too.
 */
export class SourceClock {
  /** The smallest offset of each second, oldest first. */
  #seconds: { readonly second: number; ms: number }[] = [];
  #offset = { ms: Number.NaN };

  /** @returns the offset of what happened then: never after it was received, by our clock. */
  offset(sourceMs: number, receivedMs: number): Offset {
    const ms = receivedMs - sourceMs;
    const second = Math.floor(receivedMs / 1_000);
    if (Math.abs(ms - this.#offset.ms) > resetMs) {
      this.#seconds = [];
      this.#offset = { ms };
    }
    const newest = this.#seconds.at(-1);
    if (newest?.second === second) newest.ms = Math.min(newest.ms, ms);
    else this.#seconds.push({ second, ms });
    const oldest = second - windowMs / 1_000;
    while ((this.#seconds[0]?.second ?? second) < oldest) this.#seconds.shift();
    const smallest = Math.min(...this.#seconds.map((one) => one.ms));
    // A source that falls behind has a new one; what came before keeps its own.
    if (smallest <= this.#offset.ms) this.#offset.ms = smallest;
    else this.#offset = { ms: smallest };
    return this.#offset;
  }
}

/** The clocks of the connections of late: 16, the one unused for longest is forgotten. */
export class SourceClocks {
  readonly #clocks = new Lru<string, SourceClock>(maxSources);

  /**
   * What a source of that name tells of a time.
   *
   * @param sourceMs what is no number is not told: then it is the time of receipt.
   */
  time(source: string, sourceMs: number | undefined, receivedMs: number): SourcedTime {
    if (sourceMs === undefined || !Number.isFinite(sourceMs)) {
      return { sourceMs: receivedMs, offset: none };
    }
    const clock = this.#clocks.get(source) ?? new SourceClock();
    this.#clocks.set(source, clock);
    return { sourceMs, offset: clock.offset(sourceMs, receivedMs) };
  }
}
