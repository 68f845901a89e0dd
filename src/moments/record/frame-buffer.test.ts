import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameBuffer, type FrameFacts } from "./frame-buffer.ts";
import { jpegFacts } from "./jpeg.ts";

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
  return { camera, sourceMs, monoMs: ms, ageMs: ms };
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
