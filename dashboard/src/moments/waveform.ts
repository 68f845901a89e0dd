// Sound as a drawing, on the line of time of its moment.
import type { PackageAudio } from "../api/openapi-types.ts";
import { sampleAt, type Timeline } from "./timeline.ts";

/** A quiet room is drawn as one: nothing is enlarged more than this. */
const minPeak = 0.05;
const headerBytes = 44;

/**
 * The samples of a WAV file as packages have it: 44 bytes, then 16 bits, mono.
 *
 * @returns `undefined`: it is something else.
 */
export function samplesOfWav(bytes: ArrayBuffer): Int16Array | undefined {
  if (bytes.byteLength < headerBytes) return undefined;
  const view = new DataView(bytes);
  const tag = (at: number) => String.fromCharCode(...new Uint8Array(bytes, at, 4));
  const isWav = tag(0) === "RIFF" && tag(8) === "WAVE" && tag(36) === "data";
  const isPlain = view.getUint16(20, true) === 1 && view.getUint16(22, true) === 1;
  if (!isWav || !isPlain || view.getUint16(34, true) !== 16) return undefined;
  const count = Math.min(view.getUint32(40, true), bytes.byteLength - headerBytes) >> 1;
  return new Int16Array(bytes, headerBytes, count);
}

/**
 * An SVG path over `width` columns and 100 rows: a stroke from the lowest to the highest sample of each
 * column's time. Before and after the sound there is none.
 */
export function waveformPath(
  samples: Int16Array,
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
  const scale = 46 / Math.max(loudest, minPeak * 32_768);
  const strokes = columns
    .filter(({ count }) => count > 0)
    .map(({ column, low, high }) => {
      const [top, bottom] = [50 - high * scale, 50 - low * scale];
      // A line without length would not be seen.
      return `M${column + 0.5} ${(top - 0.5).toFixed(1)}V${(bottom + 0.5).toFixed(1)}`;
    });
  return strokes.join("");
}

function rangeOf(samples: Int16Array, begin: number, end: number) {
  let low = 0;
  let high = 0;
  for (let at = begin; at < end; at++) {
    const sample = samples[at] ?? 0;
    if (sample < low) low = sample;
    if (sample > high) high = sample;
  }
  return { low, high, count: Math.min(end, samples.length) - begin };
}
