import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mediaHeaderBytes, readMediaMessage } from "./media-sockets.ts";

function written(kind: number, time: number, payload: Uint8Array, before = 0): Uint8Array {
  const bytes = new Uint8Array(before + mediaHeaderBytes + payload.length).subarray(before);
  new DataView(bytes.buffer, before).setUint8(0, kind);
  new DataView(bytes.buffer, before).setFloat64(1, time, true);
  bytes.set(payload, mediaHeaderBytes);
  return bytes;
}

for (const [byte, kind] of [
  [1, "audio"],
  [2, "frame"],
] as const) {
  test(`a message that begins with ${byte} is ${kind}, wherever it lies in its buffer`, () => {
    const property = fc.property(
      fc.double({ min: -9e15, max: 9e15, noNaN: true }),
      fc.uint8Array({ maxLength: 40 }),
      fc.nat(9),
      (time, payload, before) => {
        const read = readMediaMessage(written(byte, time, payload, before));
        assert.deepEqual(
          { ...read, payload: [...(read?.payload ?? [])] },
          {
            kind,
            capturedMs: time,
            payload: [...payload],
          },
        );
      },
    );
    fc.assert(property);
  });
}

test("a sender that does not know the time writes NaN", () => {
  assert.equal(readMediaMessage(written(1, Number.NaN, new Uint8Array(2)))?.capturedMs, undefined);
});

for (const [what, bytes] of [
  ["an empty one", new Uint8Array(0)],
  ["one that is shorter than its header", written(1, 0, new Uint8Array(0)).subarray(0, 8)],
  ["one of kind 0", written(0, 0, new Uint8Array(4))],
  ["one of kind 3", written(3, 0, new Uint8Array(4))],
  ["one whose time is infinite", written(1, Number.POSITIVE_INFINITY, new Uint8Array(4))],
  ["one whose time is 1e300", written(2, -1e300, new Uint8Array(4))],
] as const) {
  test(`${what} is no message of media`, () => {
    assert.equal(readMediaMessage(bytes), undefined);
  });
}
