// Pictures, sound and words on one line of time: milliseconds relative to the reaction.
import type { Feedback, PackageAudio, PackageMessage } from "../api/openapi-types.ts";

/** The distance between pictures whose times are not known. */
const unknownStepMs = 500;

export interface TimedFrame {
  readonly file: string;
  readonly at: number;
}

interface TimedWords extends Pick<PackageMessage, "role" | "text"> {
  readonly at: number;
  /** When the next words begin, or the line ends. */
  readonly until: number;
}

export interface Timeline {
  readonly from: number;
  readonly to: number;
  /** In order of time. */
  readonly frames: readonly TimedFrame[];
  /** In order of time, those that were said within the line. */
  readonly words: readonly TimedWords[];
}

/** Words from longer before the pictures and the sound do not make the line longer. */
const wordsBeforeMs = 30_000;

/** Pictures and sound up to the reaction, and what was said then; `undefined` without pictures and sound. */
export function timelineOf(
  { frames, audio }: Pick<Feedback, "frames" | "audio">,
  messages: readonly PackageMessage[] = [],
): Timeline | undefined {
  const timed = frames.map(({ file, t_ms: at }, index): TimedFrame => {
    return { file, at: at ?? (index - frames.length) * unknownStepMs };
  });
  const ordered = timed.toSorted((a, b) => a.at - b.at);
  const sound = audio === null ? [] : [audioTimeAt(audio, 0), audioTimeAt(audio, audio.samples)];
  const times = [...ordered.map(({ at }) => at), ...sound.flatMap((at) => at ?? [])];
  if (times.length === 0) return undefined;
  const said = messages
    .flatMap(({ t_ms: at, ...words }) => (at === null ? [] : [{ ...words, at }]))
    .filter(({ at }) => at >= Math.min(...times) - wordsBeforeMs)
    .toSorted((a, b) => a.at - b.at);
  const all = [...times, ...said.map(({ at }) => at), 0];
  const line = { from: Math.min(...all), to: Math.max(...all) };
  const words = said.map(({ role, text, at }, index) => {
    return { role, text, at, until: said[index + 1]?.at ?? line.to };
  });
  return { ...line, frames: ordered, words };
}

/** The words that were said last then. */
export function wordsAt({ words }: Timeline, at: number): TimedWords | undefined {
  return words.findLast((each) => each.at <= at);
}

/** The pictures that stand for as many equal parts of the line; `undefined` for parts before the first. */
export function stripOf(line: Timeline, parts: number): readonly (TimedFrame | undefined)[] {
  const part = (line.to - line.from) / parts;
  return Array.from({ length: parts }, (_, index) => {
    const end = line.from + part * (index + 1);
    return line.frames.findLast((frame) => frame.at <= end);
  });
}

/** Where a moment lies on the line, in percent of its length. */
export function placeOf({ from, to }: Pick<Timeline, "from" | "to">, at: number): number {
  return (100 * (Math.min(Math.max(at, from), to) - from)) / Math.max(to - from, 1);
}

/** The picture that was there then: the last one up to it, else the first. */
export function frameAt({ frames }: Timeline, at: number): TimedFrame | undefined {
  return frames.findLast((frame) => frame.at <= at) ?? frames[0];
}

/** When a sample was heard; `undefined` when that is not known. */
export function audioTimeAt(audio: PackageAudio, sample: number): number | undefined {
  const { start_t_ms: start, rate_hz: rate } = audio;
  return start === null ? undefined : start + (sample * 1000) / rate;
}

/** The sample that was heard then, or the first or last one; `undefined` when that is not known. */
export function sampleAt(audio: PackageAudio, at: number): number | undefined {
  const { start_t_ms: start, rate_hz: rate, samples } = audio;
  if (start === null) return undefined;
  return Math.min(Math.max(((at - start) * rate) / 1000, 0), samples);
}

/** "2.5 s before", "at the reaction", "1.0 s after". */
export function timeInWords(at: number): string {
  const seconds = (Math.abs(at) / 1000).toFixed(1);
  if (seconds === "0.0") return "at the reaction";
  return `${seconds} s ${at < 0 ? "before" : "after"}`;
}
