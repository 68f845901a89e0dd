import assert from "node:assert/strict";
import { test } from "node:test";
import { mediaMessage, pictureKind, soundKind } from "./media-message.ts";

for (const [kind, first] of [
  [soundKind, 1],
  [pictureKind, 2],
] as const) {
  test(`a message begins with ${first}, then the time as a float64, then the bytes`, () => {
    const message = mediaMessage({ kind, capturedMs: 1_234.5, bytes: Uint8Array.of(7, 8) });
    const view = new DataView(message.buffer);
    assert.deepEqual([view.getUint8(0), view.getFloat64(1, true)], [first, 1_234.5]);
    assert.deepEqual([...message.subarray(9)], [7, 8]);
  });
}
