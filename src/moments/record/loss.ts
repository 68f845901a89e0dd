import type { StreamLoss } from "../package/record.ts";

const names = [
  "accepted",
  "throttled",
  "not_jpeg",
  "too_large",
  "format",
  "failed",
  "timeout",
  "late",
  "dropped",
  "count",
  "bytes",
  "age",
] as const;

/** What is counted: the members of `StreamLoss`, whose names are all different. */
type Counted = (typeof names)[number];

/** How far back a window may begin: the longest age and the longest post-roll, and a little. */
const keptMs = 160_000;

/**
 * What one stream took and lost: of the whole run, and of a window, which begins with a full second.
 * For sound `accepted` and `refused` are chunks, `evicted` is samples.
 */
export class LossCounters {
  readonly #now = new Float64Array(names.length);
  /** The counts as they were before the first one of a second, oldest first. */
  #before: { readonly second: number; readonly counts: Float64Array }[] = [];

  count(name: Counted, ageMs: number, by = 1): void {
    const second = Math.floor(ageMs / 1_000);
    const newest = this.#before.at(-1);
    if (newest === undefined || newest.second < second) {
      this.#before.push({ second, counts: this.#now.slice() });
      const oldest = second - keptMs / 1_000;
      if ((this.#before[0]?.second ?? second) < oldest) this.#before.shift();
    }
    const index = names.indexOf(name);
    this.#now[index] = (this.#now[index] ?? 0) + by;
  }

  get run(): StreamLoss {
    return told(this.#now);
  }

  /** Since the second in which `ageMs` lies. */
  since(ageMs: number): StreamLoss {
    const second = Math.floor(ageMs / 1_000);
    const before = this.#before.find((past) => past.second >= second)?.counts ?? this.#now;
    return told(this.#now.map((count, index) => count - (before[index] ?? 0)));
  }
}

function told(counts: Float64Array): StreamLoss {
  const of = (name: Counted) => counts[names.indexOf(name)] ?? 0;
  return {
    accepted: of("accepted"),
    throttled: of("throttled"),
    refused: { not_jpeg: of("not_jpeg"), too_large: of("too_large"), format: of("format") },
    encoder: {
      failed: of("failed"),
      timeout: of("timeout"),
      late: of("late"),
      dropped: of("dropped"),
    },
    evicted: { count: of("count"), bytes: of("bytes"), age: of("age") },
  };
}
