import assert from "node:assert/strict";
import { test } from "node:test";
import { jpegFacts } from "./jpeg.ts";
import { AudioBuffer, FrameBuffer, type FrameFacts, pcmOf } from "./media.ts";

/** A JPEG to whoever looks at the outside alone. */
function jpeg(bytes = 200, { width = 64, height = 48, fill = 0 } = {}): Uint8Array {
  const data = Buffer.alloc(bytes, fill);
  const app = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0];
  const sof = [
    0xff,
    0xc0,
    0,
    11,
    8,
    height >> 8,
    height & 255,
    width >> 8,
    width & 255,
    1,
    1,
    17,
    0,
  ];
  data.set([...app, ...sof, 0xff, 0xda]);
  data.set([0xff, 0xd9], bytes - 2);
  return Uint8Array.from(data);
}
const padded = (count: number) => Uint8Array.from([...jpeg(), ...new Uint8Array(count)]);
function changed(at: number, ...values: number[]) {
  const data = jpeg();
  data.set(values, at);
  return data;
}

const jpegRows: readonly [name: string, data: Uint8Array, bytes: number | undefined][] = [
  ["whole", jpeg(), 200],
  [
    "with a fill byte before a marker",
    Uint8Array.from([...jpeg().subarray(0, 8), 0xff, ...jpeg().subarray(8)]),
    201,
  ],
  ["progressive", changed(9, 0xc2), 200],
  ["followed by 64 bytes of padding", padded(64), 200],
  ["followed by 65 bytes of padding", padded(65), undefined],
  ["cut", jpeg().subarray(0, 150), undefined],
  ["empty", new Uint8Array(), undefined],
  ["a PNG", Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0xd9), undefined],
  ["the two markers alone", Uint8Array.of(0xff, 0xd8, 0xff, 0xd9), undefined],
  ["0 pixels wide", jpeg(200, { width: 0 }), undefined],
  ["8,192 pixels high", jpeg(200, { height: 8_192 }), 200],
  ["8,193 pixels high", jpeg(200, { height: 8_193 }), undefined],
  ["a segment that is longer than the file", changed(4, 0xff, 0xff), undefined],
  ["a segment of length 0", changed(4, 0, 0), undefined],
];
for (const [name, data, bytes] of jpegRows) {
  test(`a picture that is ${name} is ${bytes === undefined ? "no JPEG" : `a JPEG of ${bytes} bytes`}`, () => {
    assert.equal(jpegFacts(data)?.bytes, bytes);
  });
}

function at(ms: number, sourceMs: number | null = null, camera: string | null = null): FrameFacts {
  return { camera, sourceMs, atMs: ms };
}

/** Twenty pictures, each as [received, sent]. */
const twenty = (of: (n: number) => readonly [number, number | null, string?]) =>
  Array.from({ length: 20 }, (_, n) => of(n));
const deliveries: readonly (readonly [string, ReturnType<typeof twenty>, number])[] = [
  ["evenly", twenty((n) => [n * 500, n * 500]), 20],
  ["unevenly", twenty((n) => [n * 500 + (n % 3) * 60, n * 500]), 20],
  ["all at once after a pause", twenty((n) => [10_000, n * 500]), 20],
  ["with a clock that is not exact", twenty((n) => [n * 500, n * 500 - (n % 2) * 40]), 20],
  ["at four a second", twenty((n) => [n * 250, n * 250]), 10],
  ["by a clock that began again", twenty((n) => [n * 500, n === 10 ? 0 : 7_000_000 + n * 500]), 20],
  ["by two cameras", twenty((n) => [n * 250, n * 250, `${n % 2}`]), 10],
  [
    "by two cameras, each with its own clock",
    twenty((n) => [n * 250, (n % 2) * 1e9 + n * 250, `${n % 2}`]),
    10,
  ],
  ["without the sender's time, unevenly", twenty((n) => [n * 500 + (n % 2) * 60, null]), 11],
];
for (const [how, frames, kept] of deliveries) {
  test(`of 20 pictures that come ${how} ${kept} are kept`, () => {
    const buffer = new FrameBuffer();
    for (const [ms, sourceMs, camera] of frames) buffer.push(jpeg(), at(ms, sourceMs, camera));
    assert.equal(buffer.count, kept);
  });
}

test("a frame is accepted 500 ms after the last accepted one, and not before", () => {
  const frames = new FrameBuffer();
  const pushes = [0, 1, 499, 500, 999, 1_000].map((ms) => frames.push(jpeg(), at(ms)));
  assert.deepEqual(pushes, [
    "accepted",
    "throttled",
    "throttled",
    "accepted",
    "throttled",
    "accepted",
  ]);
});

test("frames are dropped by bytes before they are by count: 12,000,000 at most", () => {
  const frames = new FrameBuffer();
  for (let i = 0; i < 10; i++) frames.push(jpeg(2_000_000), at(i * 500));
  assert.equal(frames.bytes, 12_000_000);
});

const sizes: readonly [bytes: number, result: string][] = [
  [2_097_152, "accepted"],
  [2_097_153, "too_large"],
  [10_000_000, "too_large"],
];
for (const [bytes, result] of sizes) {
  test(`a frame of ${bytes} bytes is ${result}, and what was there stays`, () => {
    const frames = new FrameBuffer();
    frames.push(jpeg(), at(0));
    assert.equal(frames.push(jpeg(bytes), at(500)), result);
    assert.equal(frames.count, result === "accepted" ? 2 : 1);
  });
}

test("a caller that overwrites its buffer after the push changes nothing, and padding is not kept", () => {
  const frames = new FrameBuffer();
  const mine = padded(10);
  frames.push(mine, at(0));
  mine.fill(7);
  assert.deepEqual(frames.snapshot()[0]?.jpeg, jpeg());
});

const samplesIn = (audio: AudioBuffer) => audio.snapshot().flatMap(({ pcm }) => [...pcm]);

/** Samples that count on from `from`, so that a hole or a swap shows. */
function counting(length: number, from: number): Int16Array {
  return Int16Array.from({ length }, (_, i) => ((from + i) % 30_000) - 15_000);
}

for (const [length, everyMs] of [
  [320, 20],
  [100, 6.25],
  [32, 2],
  [16, 1],
] as const) {
  test(`sound fed in chunks of ${everyMs} ms for 3 minutes is the last 120 s, to some ms`, () => {
    const audio = new AudioBuffer();
    const count = 2_880_000 / length;
    for (let i = 1; i <= count; i++) audio.push(counting(length, i * length), i * everyMs, {});
    const kept = samplesIn(audio);
    assert.ok(kept.length <= 1_920_000 && kept.length > 1_919_840, `${kept.length}`);
    assert.deepEqual([audio.samples, audio.bytes], [kept.length, kept.length * 2]);
    assert.deepEqual(kept, [...counting(kept.length, (count + 1) * length - kept.length)]);
    const pieces = audio.snapshot();
    assert.ok(pieces.length <= 24_000);
    const chunks = pieces.reduce((sum, piece) => sum + piece.chunks, 0);
    assert.equal(chunks, Math.ceil(kept.length / length));
  });
}

test("of a chunk that is longer than the buffer its end is kept, and of the one before it less than a second is lost", () => {
  const audio = new AudioBuffer();
  audio.push(counting(2_000_000, 0), 0, {});
  assert.deepEqual(samplesIn(audio), [...counting(1_920_000, 80_000)]);
  audio.push(counting(10, 2_000_000), 1, {});
  const kept = samplesIn(audio);
  assert.ok(kept.length > 1_920_000 - 16_000, `${kept.length}`);
  assert.deepEqual(kept, [...counting(kept.length, 2_000_010 - kept.length)]);
});

test("a caller that overwrites its samples after the push changes nothing", () => {
  const audio = new AudioBuffer();
  for (const chunk of [counting(10, 0), Float32Array.of(0.5), Uint8Array.of(1, 0)]) {
    audio.push(chunk, 0, {});
    chunk.fill(7);
  }
  assert.deepEqual(samplesIn(audio), [...counting(10, 0), 16_383, 1]);
});

test("sound of more than 120 s ago goes, whatever comes after a pause", () => {
  const audio = new AudioBuffer();
  audio.push(counting(320, 0), 1_000, {});
  audio.push(counting(320, 320), 111_000, {});
  audio.expire(121_000);
  assert.equal(audio.samples, 640);
  audio.expire(121_001);
  assert.deepEqual(samplesIn(audio), [...counting(320, 320)]);
  audio.expire(500_000);
  assert.equal(audio.samples, 0);
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
test("a float is stored as the original wrote it", () => {
  for (const [sample, stored] of pcmRows) {
    assert.deepEqual(pcmOf(Float32Array.of(sample)), Int16Array.of(stored), `${sample}`);
  }
});
