import { audioRateHz } from "../../targets/package/package-sink.ts";
import type { AudioAnchor } from "../../targets/package/record.ts";
import { millis } from "./times.ts";

const samplesPerMs = audioRateHz / 1_000;
/** A chunk that is later than this is the end of a gap. */
const gapMs = 200;
const segmentSamples = audioRateHz;
const anchorEverySamples = 160_000;
/** An anchor is added where time is further than this off the last one. */
const driftMs = 20;

/** A run of samples without a gap, about a second; times are those of the monotonic clock. */
export interface Segment {
  /** The first of it, counted from the first one ever fed. */
  readonly sample: number;
  /**
   * When that was: by the chunk of the segment that came soonest after it was made, since a chunk can
   * be late but not early.
   */
  timeMs: number;
  /** When the newest of its chunks was received, for the age limit. */
  ageMs: number;
}

/**
 * Enters a chunk that begins at `sample`, at `startMs`. A chunk that comes late begins a segment
 * anew; whether sound is missing there is told at the end, for those after it may make up for it.
 */
export function enterChunk(
  segments: Segment[],
  chunk: { readonly sample: number; readonly startMs: number; readonly ageMs: number },
): void {
  const { sample, startMs, ageMs } = chunk;
  const last = segments.at(-1);
  if (last !== undefined) {
    const lateMs = startMs - timeIn(last, sample);
    if (lateMs <= gapMs && sample - last.sample < segmentSamples) {
      last.timeMs += Math.min(lateMs, 0);
      last.ageMs = ageMs;
      return;
    }
  }
  segments.push({ sample, timeMs: startMs, ageMs });
}

function timeIn(segment: Segment, sample: number): number {
  return segment.timeMs + (sample - segment.sample) / samplesPerMs;
}

/** When that sample was. `segments` is not empty and the first one begins at or before it. */
export function timeOfSample(segments: readonly Segment[], sample: number): number {
  const segment = segments.findLast((one) => one.sample <= sample);
  return segment === undefined ? 0 : timeIn(segment, sample);
}

export interface Timeline {
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
  let last: { readonly sample: number; readonly timeMs: number } | undefined;
  let previous: Segment | undefined;
  let next = from + anchorEverySamples;
  for (const [index, segment] of segments.entries()) {
    const end = Math.min(segments[index + 1]?.sample ?? to, to);
    if (end <= from && index < segments.length - 1) {
      previous = segment;
      continue;
    }
    const begin = Math.max(segment.sample, from);
    const timeMs = timeIn(segment, begin);
    const lateMs = previous === undefined ? 0 : segment.timeMs - timeIn(previous, segment.sample);
    const isGap = segment.sample > from && lateMs > gapMs;
    if (isGap) gaps.push({ sample: begin - from, missing_ms: millis(lateMs) });
    const isOff = last !== undefined && Math.abs(timeMs - timeAfter(last, begin)) > driftMs;
    if (last === undefined || isGap || isOff) {
      last = { sample: begin, timeMs };
      anchor(begin, timeMs);
    }
    for (; next < end; next += anchorEverySamples) {
      if (next < begin) continue;
      last = { sample: next, timeMs: timeIn(segment, next) };
      if (next !== begin || anchors.at(-1)?.sample !== begin - from) anchor(next, last.timeMs);
    }
    previous = segment;
  }
  return { start_t_ms: anchors[0]?.t_ms ?? 0, anchors, gaps };
}

function timeAfter(anchor: { readonly sample: number; readonly timeMs: number }, sample: number) {
  return anchor.timeMs + (sample - anchor.sample) / samplesPerMs;
}
