import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { pcmParts } from "../package/content.ts";
import {
  AudioRing,
  type AudioSnapshot,
  audioRef,
  chunksIn,
  joined,
  sourceStartOf,
  startOf,
} from "./audio-ring.ts";
import { writePcm } from "./pcm.ts";

const limits = { samples: 1_920_000, ageMs: 120_000 };

function ring(of: Partial<typeof limits> = {}) {
  return new AudioRing({ ...limits, ...of });
}

const at = (ms: number) => ({ monoMs: ms, ageMs: ms });

/** What a file of it would hold. */
function samplesOf(snapshot: AudioSnapshot): number[] {
  const bytes = Buffer.concat(pcmParts(audioRef(snapshot)));
  return Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(i * 2));
}

/** Samples that count on from `from`, so that a hole or a swap shows. */
function counting(length: number, from: number): Int16Array {
  return Int16Array.from({ length }, (_, i) => ((from + i) % 30_000) - 15_000);
}

const lengths = fc.array(fc.oneof(fc.nat(50), fc.nat(20_000), fc.nat(120_000)), { maxLength: 25 });

test("the ring holds exactly the last samples, and counts the chunks that reach into them, for any chunks and capacity", () => {
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 60_000 }), (chunks, samples) => {
      const audio = ring({ samples });
      let fed = 0;
      const ends: number[] = [];
      for (const length of chunks) {
        audio.push(counting(length, fed), at(0));
        fed += length;
        if (length > 0) ends.push(fed);
      }
      const from = Math.max(fed - samples, 0);
      const snapshot = audio.snapshot();
      assert.equal(audio.samples, fed - from);
      assert.deepEqual(samplesOf(snapshot), [...counting(fed - from, from)]);
      assert.equal(chunksIn(snapshot), ends.filter((end) => end > from).length);
    }),
    { numRuns: 20 },
  );
});

test("a snapshot stays as it was taken, whatever is fed after it and wherever it was taken", () => {
  fc.assert(
    fc.property(
      lengths,
      fc.nat(25),
      fc.integer({ min: 1, max: 40_000 }),
      (chunks, takenAt, samples) => {
        const audio = ring({ samples });
        let fed = 0;
        let taken: { snapshot: AudioSnapshot; held: number[]; chunks: number } | undefined;
        for (const [index, length] of chunks.entries()) {
          if (index === takenAt) {
            const snapshot = audio.snapshot();
            taken = { snapshot, held: samplesOf(snapshot), chunks: chunksIn(snapshot) };
          }
          audio.push(counting(length, fed), at(0));
          fed += length;
        }
        if (taken === undefined) return;
        assert.deepEqual(samplesOf(taken.snapshot), taken.held);
        assert.equal(chunksIn(taken.snapshot), taken.chunks);
      },
    ),
    { numRuns: 20 },
  );
});

test("a snapshot and the one that goes on from it are together what was fed, with no sample twice", () => {
  fc.assert(
    fc.property(fc.nat(50_000), fc.nat(50_000), (before, after) => {
      const audio = ring();
      audio.push(counting(before, 0), at(0));
      const first = audio.snapshot();
      audio.push(counting(after, before), at(0));
      const both = joined(first, audio.snapshot(first.to));
      assert.deepEqual(samplesOf(both), [...counting(before + after, 0)]);
    }),
    { numRuns: 15 },
  );
});

test("sound fed in chunks of 20 ms for 3 minutes is the last 1,920,000 samples in at most 3,904,000 bytes", () => {
  const audio = ring();
  const chunk = new Float32Array(320);
  for (let i = 1; i <= 9_000; i++) audio.push(chunk, at(i * 20));
  assert.equal(audio.samples, 1_920_000);
  assert.equal(chunksIn(audio.snapshot()), 6_000);
  assert.ok(audio.bytes <= 3_904_000, `${audio.bytes}`);
});

test("sound older than 120 s goes, to the second", () => {
  const audio = ring();
  audio.push(counting(16_000, 0), at(1_000));
  audio.push(counting(16_000, 16_000), at(2_000));
  audio.expire(121_000);
  assert.equal(audio.samples, 32_000);
  audio.expire(121_001);
  assert.deepEqual(samplesOf(audio.snapshot()), [...counting(16_000, 16_000)]);
  audio.expire(500_000);
  assert.equal(audio.samples, 0);
  audio.push(counting(10, 7), at(600_000));
  assert.deepEqual(samplesOf(audio.snapshot()), [...counting(10, 7)]);
});

test("what was heard before a pause goes when it is too old, though what came after it is not", () => {
  const audio = ring();
  audio.push(counting(320, 0), at(0));
  audio.push(counting(320, 320), at(110_000));
  audio.expire(120_001);
  assert.deepEqual(samplesOf(audio.snapshot()), [...counting(320, 320)]);
});

test("the newest chunk says when the first sample was heard, by its receipt and by the sender's clock", () => {
  const audio = ring({ samples: 3_200 });
  audio.push(new Int16Array(1_600), { ...at(1_000), sourceMs: 70_000 });
  audio.push(new Int16Array(1_600), { ...at(1_140), sourceMs: 70_100 });
  const first = audio.snapshot();
  assert.deepEqual([startOf(first), sourceStartOf(first)], [1_140 - 200, 70_000]);
  audio.push(new Int16Array(800), { ...at(1_200), sourceMs: 70_200 });
  const both = joined(first, audio.snapshot(first.to));
  assert.deepEqual([startOf(both), sourceStartOf(both)], [1_200 - 250, 70_000]);
  audio.push(new Int16Array(800), at(1_300));
  assert.equal(sourceStartOf(audio.snapshot()), null, "a sender that no longer says it");
});

const pcmRows: readonly [sample: number, stored: number][] = [
  [0, 0],
  [1, 32_767],
  [-1, -32_767],
  [0.5, 16_383],
  [-0.5, -16_383],
  [1.5, 32_767],
  [-1.5, -32_768],
  [Number.NaN, 0],
  [Number.POSITIVE_INFINITY, 32_767],
  [Number.NEGATIVE_INFINITY, -32_768],
  [-0.00002, 0],
];
for (const [sample, stored] of pcmRows) {
  test(`the float ${sample} is stored as ${stored}`, () => {
    const into = new Int16Array(1);
    writePcm(Float32Array.of(sample), 0, 1, into, 0);
    assert.equal(into[0], stored);
  });
}
