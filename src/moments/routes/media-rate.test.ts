import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MediaRate } from "./media-socket.ts";

const limits = { messagesPerSecond: 10, bytesPerSecond: 1_000, burstSeconds: 2 };

for (const [messages, bytes, waitMs] of [
  [1, 100, 0],
  [20, 1, 0],
  [21, 1, 100],
  [25, 1, 500],
  [2, 1_000, 0],
  [3, 1_000, 1_000],
  [1, 2_500, 500],
] as const) {
  test(`after ${messages} messages of ${bytes} bytes at once the next waits for ${waitMs} ms`, () => {
    const rate = new MediaRate(limits, 0);
    const waits = Array.from({ length: messages }, () => rate.take(bytes, 0));
    assert.equal(waits.at(-1), waitMs);
  });
}

test("who stays below the rate never waits, and who waits as told never owes more", () => {
  const property = fc.property(fc.array(fc.nat(3_000), { maxLength: 60 }), (sizes) => {
    const rate = new MediaRate(limits, 0);
    let now = 0;
    let bytes = 0;
    for (const [index, size] of sizes.entries()) {
      now += rate.take(size, now);
      bytes += size;
      // All that came fits into what may come by now.
      assert.ok(bytes <= 1_000 * (2 + now / 1_000) + 1);
      assert.ok(index + 1 <= 10 * (2 + now / 1_000) + 1);
    }
  });
  fc.assert(property);
  const steady = new MediaRate(limits, 0);
  for (let now = 0; now < 60_000; now += 100) assert.equal(steady.take(100, now), 0);
});
