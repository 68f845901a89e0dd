// Sound as a drawing, on the line of time of its moment.
import type { PackageAudio } from "../api/openapi-types.ts";
import { sampleAt, type Timeline } from "./timeline.ts";

/** A quiet room is drawn as one: nothing is enlarged more than this. */
const minPeak = 0.05;

/**
 * An SVG path of samples from -1 to 1, over `width` columns and 100 rows: a stroke from the lowest to the
 * highest sample of each column's time. Before and after the sound there is none.
 */
export function waveformPath(
  samples: Float32Array,
  audio: PackageAudio,
  { from, to }: Pick<Timeline, "from" | "to">,
  width: number,
): string {
  const columns = Array.from({ length: width }, (_, column) => {
    const time = (edge: number) => from + ((to - from) * edge) / width;
    const begin = Math.floor(sampleAt(audio, time(column)) ?? 0);
    const end = Math.floor(sampleAt(audio, time(column + 1)) ?? 0);
    return { column, ...rangeOf(samples, Math.max(begin, 0), end) };
  });
  const loudest = columns.reduce((most, { low, high }) => Math.max(most, -low, high), 0);
  const scale = 46 / Math.max(loudest, minPeak);
  const strokes = columns
    .filter(({ count }) => count > 0)
    .map(({ column, low, high }) => {
      const [top, bottom] = [50 - high * scale, 50 - low * scale];
      // A line without length would not be seen.
      return `M${column + 0.5} ${(top - 0.5).toFixed(1)}V${(bottom + 0.5).toFixed(1)}`;
    });
  return strokes.join("");
}

function rangeOf(samples: Float32Array, begin: number, end: number) {
  let low = 0;
  let high = 0;
  for (let at = begin; at < end; at++) {
    const sample = samples[at] ?? 0;
    if (sample < low) low = sample;
    if (sample > high) high = sample;
  }
  return { low, high, count: Math.min(end, samples.length) - begin };
}
