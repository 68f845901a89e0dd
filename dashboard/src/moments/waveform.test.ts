import assert from "node:assert/strict";
import { test } from "node:test";
import type { PackageAudio } from "../api/openapi-types.ts";
import { samplesOfWav, waveformPath } from "./waveform.ts";

function wav(samples: Int16Array, change: (view: DataView) => void = () => undefined): ArrayBuffer {
  const bytes = new Uint8Array(44 + samples.byteLength);
  const view = new DataView(bytes.buffer);
  const tag = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at);
  tag(0, "RIFF");
  tag(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, 16_000, true);
  view.setUint16(34, 16, true);
  tag(36, "data");
  view.setUint32(40, samples.byteLength, true);
  bytes.set(new Uint8Array(samples.buffer), 44);
  change(view);
  return bytes.buffer;
}

test("the samples of a package's sound are those after its 44 bytes", () => {
  const samples = Int16Array.of(1, -2, 32_767);
  assert.deepEqual(samplesOfWav(wav(samples)), samples);
  assert.deepEqual(samplesOfWav(wav(new Int16Array(0))), new Int16Array(0));
});

test("sound that is cut short gives what is there", () => {
  const whole = wav(Int16Array.of(1, 2, 3, 4));
  assert.deepEqual(samplesOfWav(whole.slice(0, 49)), Int16Array.of(1, 2));
});

for (const [what, change] of [
  ["float samples", (view) => view.setUint16(20, 3, true)],
  ["two channels", (view) => view.setUint16(22, 2, true)],
  ["8 bits", (view) => view.setUint16(34, 8, true)],
  ["another file", (view) => view.setUint32(0, 0)],
] as const satisfies readonly (readonly [string, (view: DataView) => void])[]) {
  test(`a WAV of ${what} is none that can be drawn`, () => {
    assert.equal(samplesOfWav(wav(Int16Array.of(1), change)), undefined);
  });
}

/** A second of silence, a second of noise. */
const audio: PackageAudio = {
  rate_hz: 16_000,
  samples: 32_000,
  start_t_ms: -3_000,
};
const samples = Int16Array.from({ length: 32_000 }, (_, at) =>
  at < 16_000 ? 0 : at % 2 === 0 ? 16_000 : -16_000,
);

test("silence is a flat line, noise fills the height, and after the sound there is nothing", () => {
  const path = waveformPath(samples, audio, { from: -3_000, to: 0 }, 30);
  const strokes = new Map(
    [...path.matchAll(/M(\d+)\.5 ([\d.]+)V([\d.]+)/g)].map(([, column, top, bottom]) => [
      Number(column),
      [Number(top), Number(bottom)],
    ]),
  );
  assert.deepEqual([...strokes.keys()], [...Array(20).keys()]);
  assert.deepEqual(strokes.get(5), [49.5, 50.5]);
  assert.deepEqual(strokes.get(15), [3.5, 96.5]);
});

test("a moment that is longer than its sound draws it where it was", () => {
  const path = waveformPath(samples, audio, { from: -6_000, to: 0 }, 60);
  assert.match(path, /^M30\.5 /);
});
