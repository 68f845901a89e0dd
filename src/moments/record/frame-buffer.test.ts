import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { FrameBuffer, type FrameFacts } from "./frame-buffer.ts";
import { jpegFacts } from "./jpeg.ts";
import { resolveLimits } from "./limits.ts";
import { type FrameEncoder, type RawFrame, RawFrames } from "./raw-frames.ts";

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

function at(ms: number): FrameFacts {
  const time = { sourceMs: ms, offset: { ms: 0 } };
  return { camera: null, sourceMs: null, time, received: { monoMs: ms, ageMs: ms } };
}

test("a frame is accepted 500 ms after the last accepted one, and not before", () => {
  const frames = new FrameBuffer(resolveLimits());
  const pushes = [0, 1, 499, 500, 999, 1_000].map((ms) => frames.push(jpeg(), at(ms), false));
  assert.deepEqual(pushes, [
    "accepted",
    "throttled",
    "throttled",
    "accepted",
    "throttled",
    "accepted",
  ]);
  assert.equal(frames.loss.run.throttled, 3);
});

test("at ten times the rate for 3 minutes the last 240 frames of 120 s are there, and all others are counted", () => {
  const frames = new FrameBuffer(resolveLimits());
  for (let ms = 0; ms < 180_000; ms += 50) frames.push(jpeg(), at(ms), false);
  const { accepted, throttled, evicted } = frames.loss.run;
  assert.deepEqual(
    { accepted, throttled, evicted },
    {
      accepted: 360,
      throttled: 3_240,
      evicted: { count: 120, bytes: 0, age: 0 },
    },
  );
  assert.equal(frames.snapshot()[0]?.time.sourceMs, 60_000);
});

test("frames are dropped by bytes before they are by count: 12,000,000 at most", () => {
  const frames = new FrameBuffer(resolveLimits());
  for (let i = 0; i < 10; i++) frames.push(jpeg(2_000_000), at(i * 500), false);
  assert.equal(frames.bytes, 12_000_000);
  assert.equal(frames.loss.run.evicted.bytes, 4);
});

const sizes: readonly [bytes: number, limits: object, result: string][] = [
  [2_097_152, {}, "accepted"],
  [2_097_153, {}, "too_large"],
  [10_000_000, {}, "too_large"],
  [5_001, { frameBytes: 5_000 }, "too_large"],
];
for (const [bytes, limits, result] of sizes) {
  test(`a frame of ${bytes} bytes is ${result} with ${JSON.stringify(limits)}, and what was there stays`, () => {
    const frames = new FrameBuffer(resolveLimits(limits));
    frames.push(jpeg(), at(0), false);
    assert.equal(frames.push(jpeg(bytes), at(500), false), result);
    assert.equal(frames.count, result === "accepted" ? 2 : 1);
    assert.equal(frames.loss.run.refused.too_large, result === "accepted" ? 0 : 1);
  });
}

test("a caller that overwrites its buffer after the push changes nothing, and padding is not kept", () => {
  const frames = new FrameBuffer(resolveLimits());
  const mine = padded(10);
  frames.push(mine, at(0), false);
  mine.fill(7);
  assert.deepEqual(frames.snapshot()[0]?.jpeg, jpeg());
});

test("a buffer that is given away is kept as it is", () => {
  const frames = new FrameBuffer(resolveLimits());
  const given = jpeg();
  frames.push(given, at(0), true);
  assert.equal(frames.snapshot()[0]?.jpeg.buffer, given.buffer);
});

/** An encoder that answers when it is told to. */
class HeldEncoder implements FrameEncoder {
  readonly calls: {
    frame: RawFrame;
    resolve(jpeg: Uint8Array): void;
    reject(error: Error): void;
  }[] = [];
  encode(frame: RawFrame): Promise<Uint8Array> {
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    this.calls.push({ frame, resolve, reject });
    return promise;
  }
}

function rawFrames(encoder: FrameEncoder = new HeldEncoder()) {
  const timers = new HeldTimers(new HeldClock());
  const frames = new FrameBuffer(resolveLimits());
  return { frames, timers, raw: new RawFrames(encoder, frames, timers) };
}
const picture = (fill = 0): RawFrame => ({
  data: new Uint8Array(12).fill(fill),
  width: 2,
  height: 2,
  channels: 3,
});

test("a raw frame is encoded from a copy, and is in the buffer with the time of its push", async () => {
  const encoder = new HeldEncoder();
  const { frames, raw } = rawFrames(encoder);
  const mine = picture(5);
  assert.equal(raw.push(mine, at(700), false), "accepted");
  mine.data.fill(9);
  assert.equal(encoder.calls[0]?.frame.data[0], 5);
  encoder.calls[0]?.resolve(jpeg());
  await raw.inFlight;
  assert.equal(frames.snapshot()[0]?.time.sourceMs, 700);
  assert.equal(raw.inFlight, undefined);
});

test("a raw frame that comes while one is being encoded is dropped and counted, and the next one is not late for it", async () => {
  const encoder = new HeldEncoder();
  const { frames, raw } = rawFrames(encoder);
  raw.push(picture(1), at(0), false);
  assert.equal(raw.push(picture(2), at(500), false), "busy");
  encoder.calls[0]?.resolve(jpeg());
  await raw.inFlight;
  assert.equal(raw.push(picture(3), at(510), false), "accepted");
  assert.equal(frames.loss.run.encoder.dropped, 1);
  assert.equal(encoder.calls[1]?.frame.data, encoder.calls[0]?.frame.data, "one pooled buffer");
});

test("an encoder that throws, rejects or makes no JPEG costs that frame alone", async () => {
  let call = 0;
  const { frames, raw } = rawFrames({
    encode() {
      call++;
      if (call === 1) throw new Error("thrown");
      return call === 2
        ? Promise.reject(new Error("rejected"))
        : Promise.resolve(new Uint8Array(9));
    },
  });
  for (let i = 0; i < 3; i++) {
    assert.equal(raw.push(picture(), at(i * 500), false), "accepted");
    await raw.inFlight;
  }
  assert.equal(frames.loss.run.encoder.failed, 3);
  assert.equal(frames.count, 0);
});

test("an encoder that never answers is given up after 2 s, its buffer is not used again, and after 3 of them no more are tried", async () => {
  const encoder = new HeldEncoder();
  const { frames, timers, raw } = rawFrames(encoder);
  for (let i = 0; i < 3; i++) {
    assert.equal(raw.push(picture(i), at(i * 3_000), false), "accepted");
    await timers.pass(1_999);
    assert.equal(frames.loss.run.encoder.timeout, i);
    await timers.pass(1);
    assert.equal(frames.loss.run.encoder.timeout, i + 1);
  }
  assert.equal(new Set(encoder.calls.map(({ frame }) => frame.data)).size, 3);
  assert.deepEqual(
    encoder.calls.map(({ frame }) => frame.data[0]),
    [0, 1, 2],
  );
  assert.equal(raw.push(picture(), at(9_000), false), "busy");
  encoder.calls[0]?.resolve(jpeg());
  await timers.pass(0);
  assert.equal(frames.count, 0, "its answer comes too late");
  assert.equal(raw.push(picture(), at(9_500), false), "accepted");
});

test("what was being encoded when the stream was emptied is not kept", async () => {
  const encoder = new HeldEncoder();
  const { frames, timers, raw } = rawFrames(encoder);
  raw.push(picture(), at(0), false);
  raw.clear();
  encoder.calls[0]?.resolve(jpeg());
  await timers.pass(0);
  assert.equal(frames.count, 0);
});

test("raw frames are refused when there is no encoder or the size does not fit", () => {
  const { frames, raw } = rawFrames();
  assert.equal(raw.push({ ...picture(), width: 3 }, at(0), false), "format");
  const none = new RawFrames(undefined, frames, new HeldTimers(new HeldClock()));
  assert.equal(none.push(picture(), at(500), false), "format");
  assert.equal(frames.loss.run.refused.format, 2);
});
