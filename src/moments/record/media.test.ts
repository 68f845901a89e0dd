import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { column } from "../../../test/support/columns.ts";
import { CapturedValues } from "./buffers.ts";
import { AudioBuffer, FrameBuffer, type FrameFacts, joinedPcm, jpegFacts, pcmOf } from "./media.ts";
import { MessageBuffer, type NewMessage } from "./messages.ts";
import { Ring } from "./ring.ts";

/** A JPEG to whoever looks at the outside alone. */
function jpeg(bytes = 200, { width = 64, height = 48, fill = 0 } = {}): Uint8Array {
  const data = Buffer.alloc(bytes, fill);
  const app = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0];
  const size = [height >> 8, height & 255, width >> 8, width & 255];
  const sof = [0xff, 0xc0, 0, 11, 8, ...size, 1, 1, 17, 0];
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
  ["by two cameras", twenty((n) => [n * 250, n * 250, `${n % 2}`]), 20],
  [
    "by two cameras, one a little after the other",
    twenty((n) => [n * 250 - (n % 2) * 150, null, `${n % 2}`]),
    20,
  ],
  ["by two cameras, each at four a second", twenty((n) => [n * 125, n * 125, `${n % 2}`]), 10],
  ["at once by twenty cameras", twenty((n) => [0, null, `${n}`]), 8],
  ["by a new camera each time, four a second", twenty((n) => [n * 250, null, `${n}`]), 20],
  [
    "by two cameras, each with its own clock",
    twenty((n) => [n * 250, (n % 2) * 1e9 + n * 250, `${n % 2}`]),
    20,
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

const samplesIn = (audio: AudioBuffer) => joinedPcm(audio.snapshot().map(({ pcm }) => pcm));
const isSame = (one: Int16Array, other: Int16Array) =>
  Buffer.compare(bytesOf(one), bytesOf(other)) === 0;
const bytesOf = ({ buffer, byteOffset, byteLength }: Int16Array) =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Samples that count on from `from`, so that a hole or a swap shows. */
function counting(length: number, from: number): Int16Array {
  return Int16Array.from({ length }, (_, i) => ((from + i) % 30_000) - 15_000);
}

for (const [length, everyMs] of [
  [320, 20],
  [100, 6.25],
] as const) {
  test(`sound fed in chunks of ${everyMs} ms for 3 minutes is the last 120 s, to some ms`, () => {
    const audio = new AudioBuffer();
    const count = 2_880_000 / length;
    for (let i = 1; i <= count; i++) audio.push(counting(length, i * length), i * everyMs, {});
    const kept = samplesIn(audio);
    assert.ok(kept.length <= 1_920_000 && kept.length > 1_919_840, `${kept.length}`);
    assert.deepEqual([audio.samples, audio.bytes], [kept.length, kept.length * 2]);
    assert.ok(isSame(kept, counting(kept.length, (count + 1) * length - kept.length)));
    const pieces = audio.snapshot();
    assert.ok(pieces.length <= 24_000);
    const chunks = pieces.reduce((sum, piece) => sum + piece.chunks, 0);
    assert.equal(chunks, Math.ceil(kept.length / length));
  });
}

test("of a chunk that is longer than the buffer its end is kept, and of the one before it less than a second is lost", () => {
  const audio = new AudioBuffer();
  audio.push(counting(2_000_000, 0), 0, {});
  assert.ok(isSame(samplesIn(audio), counting(1_920_000, 80_000)));
  audio.push(counting(10, 2_000_000), 1, {});
  const kept = samplesIn(audio);
  assert.ok(kept.length > 1_920_000 - 16_000, `${kept.length}`);
  assert.ok(isSame(kept, counting(kept.length, 2_000_010 - kept.length)));
});

test("a caller that overwrites its samples after the push changes nothing", () => {
  const audio = new AudioBuffer();
  for (const chunk of [counting(10, 0), Float32Array.of(0.5), Uint8Array.of(1, 0)]) {
    audio.push(chunk, 0, {});
    chunk.fill(7);
  }
  assert.deepEqual([...samplesIn(audio)], [...counting(10, 0), 16_383, 1]);
});

test("sound of more than 120 s ago goes, whatever comes after a pause", () => {
  const audio = new AudioBuffer();
  audio.push(counting(320, 0), 1_000, {});
  audio.push(counting(320, 320), 111_000, {});
  audio.expire(121_000);
  assert.equal(audio.samples, 640);
  audio.expire(121_001);
  assert.deepEqual(samplesIn(audio), counting(320, 320));
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

const pushes = fc.array(fc.record({ bytes: fc.nat(40), waitMs: fc.nat(30) }), { maxLength: 60 });
const bounds = fc.record({
  count: fc.integer({ min: 1, max: 10 }),
  bytes: fc.integer({ min: 40, max: 120 }),
  ageMs: fc.integer({ min: 1, max: 200 }),
});

test("the ring is the longest end of what was pushed that is within count, bytes and age", () => {
  fc.assert(
    fc.property(pushes, bounds, (given, limits) => {
      const ring = new Ring<{ bytes: number; atMs: number; n: number }>(limits);
      const all: { bytes: number; atMs: number; n: number }[] = [];
      let ageMs = 0;
      for (const [n, { bytes, waitMs }] of given.entries()) {
        ageMs += waitMs;
        const item = { bytes, atMs: ageMs, n };
        all.push(item);
        ring.add(item);
      }
      const bytesIn = (items: typeof all) => items.reduce((sum, { bytes }) => sum + bytes, 0);
      const fits = (items: typeof all) => {
        const isYoung = items.every((item) => ageMs - item.atMs <= limits.ageMs);
        return items.length <= limits.count && bytesIn(items) <= limits.bytes && isYoung;
      };
      let kept = all;
      while (!fits(kept)) kept = kept.slice(1);
      assert.deepEqual(ring.snapshot(), kept);
      assert.equal(ring.bytes, bytesIn(kept));
    }),
  );
});

// The small parts of the streams: messages, captured values, the clock.
const messages = () => new MessageBuffer("a1b2c3d4");

test("a text of 8,001 code points is cut to 8,000 and says so", () => {
  const kept = messages().push({ role: "user", text: "😀".repeat(8_001) }, 0);
  assert.deepEqual([kept.text.length, kept.truncated], [16_000, true]);
});

test("roles are upper case, and a message without an id gets one of its run and number", () => {
  const buffer = messages();
  assert.equal(buffer.push({ role: "user", text: "x" }, 0).role, "USER");
  const { role, id, seq } = buffer.push({ role: "ASSISTANT", text: "y" }, 0);
  assert.deepEqual({ role, id, seq }, { role: "ASSISTANT", id: "a1b2c3d4:2", seq: 2 });
});

test("an answer that grows stays in its place, with the time at which it began, and old snapshots stay", () => {
  const buffer = messages();
  buffer.push({ role: "assistant", text: "why", id: "a", live: true }, 10);
  buffer.push({ role: "user", text: "stop", id: "u" }, 20);
  const before = buffer.snapshot();
  buffer.push({ role: "assistant", text: "why did", id: "a", interrupted: true }, 30);
  const [answer] = buffer.snapshot();
  const { text, seq, atMs, endedMs } = answer ?? assert.fail();
  assert.deepEqual([text, seq, atMs, endedMs], ["why did", 1, 10, 30]);
  assert.equal(before[0]?.text, "why");
  assert.equal(buffer.count, 2);
});

test("a message with the id of one in another chat takes no other's place", () => {
  const buffer = new MessageBuffer("a1b2c3d4");
  for (const chatId of ["a", "b"]) buffer.push({ role: "user", text: chatId, id: "1", chatId }, 0);
  assert.deepEqual(column(buffer.snapshot(), "text"), ["a", "b"]);
});

test("over the byte budget the oldest messages go, and are counted", () => {
  const buffer = messages();
  const toolCalls = [{ name: "x".repeat(60_000) }];
  for (let i = 0; i < 50; i++) buffer.push({ role: "assistant", text: "", toolCalls }, i);
  assert.ok(buffer.bytes <= 2_000_000 && buffer.count < 50);
});

const wrong: readonly (readonly [name: string, message: object])[] = [
  ["a role of its own", { role: "robot", text: "x" }],
  ["a text that is none", { role: "user", text: 3 }],
  ["tool calls that are not JSON", { role: "assistant", text: "", toolCalls: [Number.NaN] }],
  ["an empty id", { role: "user", text: "", id: "" }],
  ...[-1, Number.NaN, Number.POSITIVE_INFINITY, "5"].map((agoMs) => {
    return [`a time ${agoMs} ms ago`, { role: "user", text: "", agoMs }] as const;
  }),
];
for (const [name, message] of wrong) {
  test(`a message with ${name} is refused`, () => {
    const buffer = messages();
    assert.throws(() => buffer.push(message as NewMessage, 0), { code: "THROUGHLINE_INVALID" });
    assert.equal(buffer.count, 0);
  });
}

test("tool calls of more than 65,536 bytes are left out, and the message says truncated", () => {
  const toolCalls = [{ name: "x".repeat(70_000) }];
  const kept = messages().push({ role: "assistant", text: "", toolCalls }, 0);
  assert.deepEqual([kept.tool_calls, kept.truncated], [{ omitted: "too_large" }, true]);
});

test("of a captured name the last value wins; a value that does not fit is its hash", () => {
  const captured = new CapturedValues(1_000);
  captured.set("mood", "calm");
  captured.set("mood", "happy");
  captured.set("tools", ["x".repeat(2_000)]);
  captured.set("camera", "front");
  captured.set("camera", undefined);
  const { mood, tools } = captured.snapshot() as {
    mood: unknown;
    tools: { omitted: string; sha256: string };
  };
  assert.equal(mood, "happy");
  assert.equal(tools.omitted, "too_large");
  assert.match(tools.sha256, /^[0-9a-f]{64}$/);
  assert.deepEqual(Object.keys(captured.snapshot()), ["mood", "tools"]);
  assert.throws(() => captured.set("__proto__", 1), { code: "THROUGHLINE_INVALID" });
});
