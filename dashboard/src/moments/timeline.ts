// Pictures and sound on one line of time: milliseconds relative to the reaction.
import type { Feedback, PackageAudio } from "../api/openapi-types.ts";

/** The distance between pictures whose times are not known. */
const unknownStepMs = 500;

export interface TimedFrame {
  readonly file: string;
  readonly at: number;
}

export interface Timeline {
  readonly from: number;
  readonly to: number;
  /** In order of time. */
  readonly frames: readonly TimedFrame[];
}

/** Pictures and sound; `undefined` if there are none. */
export function timelineOf({
  frames,
  audio,
}: Pick<Feedback, "frames" | "audio">): Timeline | undefined {
  const timed = frames.map(({ file, t_ms: at }, index): TimedFrame => {
    return { file, at: at ?? (index - frames.length) * unknownStepMs };
  });
  const ordered = timed.toSorted((a, b) => a.at - b.at);
  const sound = audio === null ? [] : [audioTimeAt(audio, 0), audioTimeAt(audio, audio.samples)];
  const times = [...ordered.map(({ at }) => at), ...sound.flatMap((at) => at ?? [])];
  if (times.length === 0) return undefined;
  return { from: Math.min(...times), to: Math.max(...times), frames: ordered };
}

/** The picture that was there then: the last one up to it, else the first. */
export function frameAt({ frames }: Timeline, at: number): TimedFrame | undefined {
  return frames.findLast((frame) => frame.at <= at) ?? frames[0];
}

/** When a sample was heard; `undefined` when that is not known. */
export function audioTimeAt(audio: PackageAudio, sample: number): number | undefined {
  const start = anchorsOf(audio).findLast((anchor) => anchor.sample <= sample);
  return start && start.t_ms + ((sample - start.sample) * 1000) / audio.rate_hz;
}

/** The sample that was heard then, or, where sound is missing, the next one. */
export function sampleAt(audio: PackageAudio, at: number): number | undefined {
  const anchors = anchorsOf(audio);
  const index = anchors.findLastIndex(({ t_ms: start }) => start <= at);
  const start = anchors[index];
  if (start === undefined) return anchors.length === 0 ? undefined : 0;
  const sample = start.sample + ((at - start.t_ms) * audio.rate_hz) / 1000;
  return Math.min(sample, anchors[index + 1]?.sample ?? audio.samples);
}

/** "2.5 s before", "at the reaction", "1.0 s after". */
export function timeInWords(at: number): string {
  const seconds = (Math.abs(at) / 1000).toFixed(1);
  if (seconds === "0.0") return "at the reaction";
  return `${seconds} s ${at < 0 ? "before" : "after"}`;
}

function anchorsOf({ anchors, start_t_ms: start }: PackageAudio): PackageAudio["anchors"] {
  if (anchors.length > 0 || start === null) return anchors;
  return [{ sample: 0, t_ms: start }];
}
