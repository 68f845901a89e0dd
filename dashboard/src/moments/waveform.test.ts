import assert from "node:assert/strict";
import { test } from "node:test";
import type { PackageAudio } from "../api/openapi-types.ts";
import { waveformPath } from "./waveform.ts";

/** A second of silence, a second of noise. */
const audio: PackageAudio = {
  rate_hz: 16_000,
  samples: 32_000,
  start_t_ms: -3_000,
};
const samples = Float32Array.from({ length: 32_000 }, (_, at) =>
  at < 16_000 ? 0 : at % 2 === 0 ? 0.5 : -0.5,
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
