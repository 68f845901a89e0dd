import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { pcmParts } from "../package/wav.ts";
import { AudioPool } from "./audio-block.ts";
import { AudioRing, type AudioSnapshot, audioRef, chunksIn, joined } from "./audio-ring.ts";
import { timeline } from "./audio-timeline.ts";
import { writePcm } from "./pcm.ts";

const limits = { samples: 1_920_000, bytes: 3_904_000, ageMs: 120_000 };

function ring(of: Partial<typeof limits> = {}, pool?: AudioPool) {
  const evicted = { count: 0, bytes: 0, age: 0 };
  const made = new AudioRing(
    { ...limits, ...of },
    (reason, _at, samples) => {
      evicted[reason] += samples;
    },
    pool,
  );
  return Object.assign(made, { evicted });
}

/** A time that no source told: that of the receipt. */
const received = (sourceMs: number) => ({ sourceMs, offset: { ms: 0 } });

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
        audio.push(counting(length, fed), received(0), 0);
        fed += length;
        if (length > 0) ends.push(fed);
      }
      const from = Math.max(fed - samples, 0);
      const snapshot = audio.snapshot();
      assert.equal(audio.samples, fed - from);
      assert.equal(audio.evicted.count, from);
      assert.deepEqual(samplesOf(snapshot), [...counting(fed - from, from)]);
      assert.equal(chunksIn(snapshot), ends.filter((end) => end > from).length);
    }),
    { numRuns: 20 },
  );
});

test("a snapshot stays as it was taken, whatever is fed after it and wherever it was taken", () => {
  const pool = new AudioPool();
  fc.assert(
    fc.property(lengths, fc.nat(25), fc.integer({ min: 1, max: 40_000 }), (chunks, at, samples) => {
      const audio = ring({ samples }, pool);
      let fed = 0;
      let taken: { snapshot: AudioSnapshot; held: number[]; chunks: number } | undefined;
      for (const [index, length] of chunks.entries()) {
        if (index === at) {
          const snapshot = audio.snapshot();
          taken = { snapshot, held: samplesOf(snapshot), chunks: chunksIn(snapshot) };
        }
        audio.push(counting(length, fed), received(0), 0);
        fed += length;
      }
      if (taken === undefined) return;
      assert.deepEqual(samplesOf(taken.snapshot), taken.held);
      assert.equal(chunksIn(taken.snapshot), taken.chunks);
      audio.release(taken.snapshot);
    }),
    { numRuns: 20 },
  );
});

test("a snapshot and the one that goes on from it are together what was fed, with no sample twice", () => {
  fc.assert(
    fc.property(fc.nat(50_000), fc.nat(50_000), (before, after) => {
      const audio = ring();
      audio.push(counting(before, 0), received(0), 0);
      const first = audio.snapshot();
      audio.push(counting(after, before), received(0), 0);
      const both = joined(first, audio.snapshot(first.to));
      assert.deepEqual(samplesOf(both), [...counting(before + after, 0)]);
      const range = { from: both.from, to: both.to };
      if (both.to > both.from)
        assert.equal(timeline(both.segments, range, 0).anchors[0]?.sample, 0);
    }),
    { numRuns: 15 },
  );
});

test("a chunk of 3 minutes leaves its own last 2 minutes, as one chunk", () => {
  // F8
  const audio = ring();
  audio.push(counting(160, 0), received(10), 10);
  audio.push(counting(2_880_000, 160), received(180_010), 180_010);
  const snapshot = audio.snapshot();
  const range = { from: snapshot.from, to: snapshot.to };
  assert.equal(audio.samples, 1_920_000);
  assert.equal(chunksIn(snapshot), 1);
  assert.equal(samplesOf(snapshot)[0], counting(1, 160 + 960_000)[0]);
  assert.equal(timeline(snapshot.segments, range, 180_010).start_t_ms, -120_000);
  assert.deepEqual(audio.evicted, { count: 960_000, bytes: 0, age: 160 });
  assert.ok(audio.bytes <= limits.bytes);
});

test("sound fed in chunks of 20 ms for 3 minutes is the last 1,920,000 samples in at most 3,904,000 bytes", () => {
  const audio = ring();
  const chunk = new Float32Array(320);
  for (let i = 1; i <= 9_000; i++) audio.push(chunk, received(i * 20), i * 20);
  assert.equal(audio.samples, 1_920_000);
  assert.equal(chunksIn(audio.snapshot()), 6_000);
  assert.ok(audio.bytes <= limits.bytes, `${audio.bytes}`);
  assert.deepEqual(audio.evicted, { count: 960_000, bytes: 0, age: 0 });
});

test("over the byte budget whole blocks go, the oldest first", () => {
  const audio = ring({ bytes: 64_000 });
  for (let i = 0; i < 5; i++) audio.push(counting(16_000, i * 16_000), received(0), 0);
  assert.equal(audio.bytes, 64_000);
  assert.equal(audio.evicted.bytes, 48_000);
  assert.deepEqual(samplesOf(audio.snapshot()), [...counting(32_000, 48_000)]);
});

test("sound older than 120 s goes, to the second", () => {
  const audio = ring();
  audio.push(counting(16_000, 0), received(1_000), 1_000);
  audio.push(counting(16_000, 16_000), received(2_000), 2_000);
  audio.expire(121_000);
  assert.equal(audio.samples, 32_000);
  audio.expire(121_001);
  assert.deepEqual(samplesOf(audio.snapshot()), [...counting(16_000, 16_000)]);
  audio.expire(500_000);
  assert.equal(audio.samples, 0);
  assert.equal(audio.evicted.age, 32_000);
  audio.push(counting(10, 7), received(600_000), 600_000);
  assert.deepEqual(samplesOf(audio.snapshot()), [...counting(10, 7)]);
});

test("a block is used again when neither the ring nor a snapshot holds it, and not before", () => {
  const audio = ring({ samples: 16_000 }, new AudioPool(1));
  audio.push(counting(16_000, 0), received(0), 0);
  const held = audio.snapshot();
  const [block] = held.blocks;
  audio.push(counting(16_000, 16_000), received(0), 0);
  assert.ok(!audio.snapshot().blocks.includes(block!));
  const before = samplesOf(held);
  audio.push(counting(16_000, 32_000), received(0), 0);
  assert.deepEqual(samplesOf(held), before);
  audio.release(held);
  audio.push(counting(16_000, 48_000), received(0), 0);
  assert.equal(audio.snapshot().blocks[0], block);
  assert.equal(chunksIn(audio.snapshot()), 1);
});

test("cleared, the ring is empty, and what comes next has a time of its own", () => {
  const audio = ring();
  audio.push(counting(100, 0), received(1_000), 1_000);
  audio.clear();
  assert.equal(audio.samples, 0);
  assert.equal(audio.bytes, 0);
  audio.push(counting(160, 5), received(9_000), 9_000);
  const { segments, from, to } = audio.snapshot();
  assert.deepEqual(timeline(segments, { from, to }, 9_000), {
    start_t_ms: -10,
    anchors: [{ sample: 0, t_ms: -10 }],
    gaps: [],
  });
});

/** Feeds chunks of 100 ms that arrive at these times, and tells their time relative to 0. */
function timesOf(arrivals: readonly number[]) {
  const audio = ring();
  for (const at of arrivals) audio.push(new Int16Array(1_600), received(at), at);
  const { segments, from, to } = audio.snapshot();
  return timeline(segments, { from, to }, 0);
}

const every100 = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => from + i * 100);

test("25 s of sound have an anchor at 0 and at each 160,000 samples", () => {
  assert.deepEqual(timesOf(every100(250, 100)), {
    start_t_ms: 0,
    anchors: [
      { sample: 0, t_ms: 0 },
      { sample: 160_000, t_ms: 10_000 },
      { sample: 320_000, t_ms: 20_000 },
    ],
    gaps: [],
  });
});

const gapRows: readonly [name: string, arrivals: readonly number[], gaps: unknown][] = [
  ["a pause of 200 ms is none", [...every100(5, 100), ...every100(5, 800)], []],
  [
    "a pause of 201 ms is one",
    [...every100(5, 100), ...every100(5, 801)],
    [{ sample: 8_000, missing_ms: 201 }],
  ],
  [
    "chunks held up 900 ms and then sent at once is none",
    [...every100(5, 100), ...Array(12).fill(1_700)],
    [],
  ],
  [
    "chunks of which 800 ms are lost and the rest come late is one of 800 ms",
    [...every100(5, 100), 1_700, 1_700, 1_700, 1_700, ...every100(5, 1_800)],
    [{ sample: 8_000, missing_ms: 800 }],
  ],
];
for (const [name, arrivals, gaps] of gapRows) {
  test(`in a stream of sound ${name}`, () => {
    assert.deepEqual(timesOf(arrivals).gaps, gaps);
  });
}

test("the time that the anchors give for a sample is within 50 ms of when it was, with up to 30 ms of jitter", () => {
  const jitter = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 250, maxLength: 250 });
  fc.assert(
    fc.property(jitter, (late) => {
      const { anchors } = timesOf(late.map((ms, i) => i * 100 + 100 + ms));
      for (let i = 0; i < late.length; i++) {
        const sample = i * 1_600;
        const anchor = anchors.findLast((one) => one.sample <= sample)!;
        const told = anchor.t_ms + (sample - anchor.sample) / 16;
        assert.ok(Math.abs(told - i * 100) <= 50, `${told} for ${i * 100}`);
      }
    }),
    { numRuns: 15 },
  );
});

test("a gap between chunks of 20 ms is where it was", () => {
  const audio = ring();
  for (let chunk = 0; chunk < 20; chunk++) {
    const endMs = chunk * 20 + 20 + (chunk < 7 ? 0 : 300);
    audio.push(new Int16Array(320), received(endMs), endMs);
  }
  const { segments, from, to } = audio.snapshot();
  const { gaps } = timeline(segments, { from, to }, 0);
  assert.deepEqual(gaps, [{ sample: 7 * 320, missing_ms: 300 }]);
});

/** Chunks of 100 ms, each told of `late(chunk)` after it was made; the microphone stood still `stood(chunk)`. */
function placed(count: number, stood: (chunk: number) => number, late: (chunk: number) => number) {
  const away: number[] = [];
  const { anchors, gaps } = timesOf(
    Array.from({ length: count }, (_, chunk) => chunk * 100 + 100 + stood(chunk) + late(chunk)),
  );
  for (let chunk = 0; chunk < count; chunk++) {
    const anchor = anchors.findLast(({ sample }) => sample <= chunk * 1_600)!;
    const told = anchor.t_ms + (chunk * 1_600 - anchor.sample) / 16;
    away.push(told - chunk * 100 - stood(chunk));
  }
  return { away, gaps };
}

test("a microphone that stands still again and again, told of late, is placed to within 20 ms", () => {
  // 30 ms each second, as the audio thread of a busy machine does; no chunk is within 25 ms for half a second.
  const { away, gaps } = placed(
    600,
    (chunk) => Math.floor((chunk + 5) / 10) * 30,
    (chunk) => (chunk % 5 === 4 ? 1 : 25 + ((chunk * 37) % 40)),
  );
  assert.deepEqual(gaps, []);
  assert.ok(Math.max(...away.map(Math.abs)) <= 20, `${away}`);
});

test("sound after a microphone stood still for 150 ms is placed right from its first chunk", () => {
  const { away, gaps } = placed(
    100,
    (chunk) => (chunk >= 50 ? 150 : 0),
    () => 1,
  );
  assert.deepEqual(gaps, []);
  assert.deepEqual(away, Array(100).fill(1));
});

test("sound is where its source's offset has it, as well as that is known in the end", () => {
  const audio = ring();
  const [first, second] = [{ ms: 5_060 }, { ms: 5_100 }];
  for (let chunk = 1; chunk <= 40; chunk++) {
    const offset = chunk <= 20 ? first : second;
    audio.push(new Int16Array(1_600), { sourceMs: chunk * 100, offset }, 0);
  }
  const { segments, from, to } = audio.snapshot();
  first.ms = 5_000;
  assert.deepEqual(timeline(segments, { from, to }, 0).anchors, [
    { sample: 0, t_ms: 5_000 },
    { sample: 32_000, t_ms: 7_100 },
  ]);
});

test("the times of another source say nothing of those before", () => {
  const audio = ring();
  for (let chunk = 1; chunk <= 9; chunk++) {
    const ms = chunk <= 5 ? 1_000_000 : 1_001_001;
    const end = { sourceMs: 1_000_000 + chunk * 100 - ms, offset: { ms } };
    audio.push(new Int16Array(1_600), end, 0);
  }
  const { segments, from, to } = audio.snapshot();
  const { anchors, gaps } = timeline(segments, { from, to }, 1_000_000);
  assert.deepEqual([anchors, gaps], [[{ sample: 0, t_ms: 0 }], []]);
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
