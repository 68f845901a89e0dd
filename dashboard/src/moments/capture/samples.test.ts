import assert from "node:assert/strict";
import { test } from "node:test";
import { Chunker } from "./samples.ts";

/** Feeds blocks of 128, as the audio thread does. */
function chunked(rate: number, samples: Float32Array): { first: number; pcm: number[] }[] {
  const chunks: { first: number; pcm: number[] }[] = [];
  const chunker = new Chunker(rate, { rate: 16_000, chunk: 1_600 }, (pcm, first) =>
    chunks.push({ first, pcm: [...pcm] }),
  );
  for (let at = 0; at < samples.length; at += 128) {
    chunker.push(samples.subarray(at, at + 128), at);
  }
  return chunks;
}

test("sound at 16 kHz is cut into chunks of 100 ms, sample by sample", () => {
  const chunks = chunked(
    16_000,
    Float32Array.from({ length: 4_000 }, (_, at) => at / 10_000),
  );
  assert.deepEqual(
    chunks.map(({ first, pcm }) => [first, pcm.length]),
    [
      [0, 1_600],
      [1_600, 1_600],
    ],
  );
  assert.equal(chunks[1]?.pcm[400], Math.trunc(0.2 * 32_767));
});

for (const rate of [22_050, 44_100, 48_000, 96_000]) {
  test(`a second at ${rate} Hz is ten chunks of 16 kHz, each where it began`, () => {
    const samples = new Float32Array(rate + 1).fill(0.5);
    const chunks = chunked(rate, samples);
    assert.equal(chunks.length, 10);
    for (const [index, { first, pcm }] of chunks.entries()) {
      assert.ok(Math.abs(first - (index * rate) / 10) <= rate / 16_000 + 1, `${first}`);
      assert.ok(pcm.every((sample) => sample === 16_383));
    }
  });
}

for (const [sample, written] of [
  [1, 32_767],
  [-1, -32_767],
  [3, 32_767],
  [-3, -32_767],
  [0, 0],
] as const) {
  test(`a sample of ${sample} is ${written}`, () => {
    const [chunk] = chunked(16_000, new Float32Array(1_600).fill(sample));
    assert.equal(chunk?.pcm[0], written);
  });
}
