import { audioRateHz } from "../package/package-sink.ts";
import type { AudioAnchor } from "../package/record.ts";
import { ourTime, type SourcedTime } from "./source-clock.ts";
import { millis } from "./times.ts";

const samplesPerMs = audioRateHz / 1_000;
/** Sound that goes on later than this after what was before it: something is missing between. */
const gapMs = 200;
const segmentSamples = audioRateHz / 10;
/** So far ahead a chunk is looked for that came sooner. A microphone 0.1 % too fast is 5 ms off by then. */
const aheadSamples = 5 * audioRateHz;
/** Two sources of which one was set to another time, or that are not the same: not to be compared. */
const resetMs = 1_000;
const anchorEverySamples = 160_000;
/** An anchor is added where time is further than this off the last one. */
const driftMs = 10;

/**
 * A run of samples without a gap, of 100 ms or of one chunk, and when the first of it was: of its
 * chunks by the one that came soonest after it was made.
 */
export interface Segment extends SourcedTime {
  /** The first of it, counted from the first one ever fed. */
  readonly sample: number;
  /** When the newest of its chunks was received, for the age limit. */
  readonly ageMs: number;
}

/** Enters a chunk that begins at `sample`, at `sourceMs`; of `segments` the last one alone may change. */
export function enterChunk(segments: Segment[], chunk: Segment): void {
  const last = segments.at(-1);
  if (last !== undefined && chunk.sample - last.sample < segmentSamples && areOfOne(last, chunk)) {
    const { sourceMs, ageMs } = chunk;
    const beganMs = sourceMs - (chunk.sample - last.sample) / samplesPerMs;
    if (beganMs - last.sourceMs <= gapMs) {
      segments[segments.length - 1] = {
        ...last,
        sourceMs: Math.min(last.sourceMs, beganMs),
        ageMs,
      };
      return;
    }
  }
  segments.push(chunk);
}

function areOfOne(a: Segment, b: Segment): boolean {
  return Math.abs(a.offset.ms - b.offset.ms) <= resetMs;
}

/**
 * When a segment began, on the monotonic clock. A chunk can be told of late but not early, and a
 * source that stands still only falls behind: so no sound was later than what came after it says.
 */
function beginOf(segments: readonly Segment[], index: number): number {
  const own = segments[index];
  if (own === undefined) return 0;
  let { sourceMs } = own;
  for (let next = index + 1; next < segments.length; next++) {
    const later = segments[next];
    if (later === undefined || !areOfOne(own, later)) break;
    const samples = later.sample - own.sample;
    if (samples > aheadSamples) break;
    sourceMs = Math.min(sourceMs, later.sourceMs - samples / samplesPerMs);
  }
  return ourTime({ ...own, sourceMs });
}

/** When that sample was. `segments` is not empty and the first one begins at or before it. */
export function timeOfSample(segments: readonly Segment[], sample: number): number {
  const index = segments.findLastIndex((one) => one.sample <= sample);
  const begin = segments[index]?.sample ?? sample;
  return beginOf(segments, index) + (sample - begin) / samplesPerMs;
}

interface Timeline {
  readonly start_t_ms: number;
  readonly anchors: readonly AudioAnchor[];
  readonly gaps: readonly { readonly sample: number; readonly missing_ms: number }[];
}

/**
 * Tells when the samples from `from` to before `to` were, relative to `triggerMs`; samples count
 * from `from`. `segments` is not empty and the first one begins at or before `from`.
 */
export function timeline(
  segments: readonly Segment[],
  range: { readonly from: number; readonly to: number },
  triggerMs: number,
): Timeline {
  const { from, to } = range;
  const anchors: AudioAnchor[] = [];
  const gaps: { sample: number; missing_ms: number }[] = [];
  const anchor = (sample: number, timeMs: number) => {
    anchors.push({ sample: sample - from, t_ms: millis(timeMs - triggerMs) });
  };
  let last: Placed | undefined;
  let previous: Placed | undefined;
  let next = from + anchorEverySamples;
  for (const [index, { sample }] of segments.entries()) {
    const end = Math.min(segments[index + 1]?.sample ?? to, to);
    if (end <= from && index < segments.length - 1) continue;
    const segment = { sample, timeMs: beginOf(segments, index) };
    const begin = Math.max(sample, from);
    const timeMs = timeAt(segment, begin);
    const lateMs = previous === undefined ? 0 : segment.timeMs - timeAt(previous, sample);
    const isGap = sample > from && lateMs > gapMs;
    if (isGap) gaps.push({ sample: begin - from, missing_ms: millis(lateMs) });
    const isOff = last !== undefined && Math.abs(timeMs - timeAt(last, begin)) > driftMs;
    if (last === undefined || isGap || isOff) {
      last = { sample: begin, timeMs };
      anchor(begin, timeMs);
    }
    for (; next < end; next += anchorEverySamples) {
      if (next < begin) continue;
      last = { sample: next, timeMs: timeAt(segment, next) };
      if (next !== begin || anchors.at(-1)?.sample !== begin - from) anchor(next, last.timeMs);
    }
    previous = segment;
  }
  return { start_t_ms: anchors[0]?.t_ms ?? 0, anchors, gaps };
}

interface Placed {
  readonly sample: number;
  readonly timeMs: number;
}

function timeAt(placed: Placed, sample: number): number {
  return placed.timeMs + (sample - placed.sample) / samplesPerMs;
}
