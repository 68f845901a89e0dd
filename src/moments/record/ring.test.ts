import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Ring } from "./ring.ts";

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
      const fits = (items: typeof all) => {
        const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
        const isYoung = items.every((item) => ageMs - item.atMs <= limits.ageMs);
        return items.length <= limits.count && bytes <= limits.bytes && isYoung;
      };
      let kept = all;
      while (!fits(kept)) kept = kept.slice(1);
      assert.deepEqual(ring.snapshot(), kept);
      assert.equal(
        ring.bytes,
        kept.reduce((sum, item) => sum + item.bytes, 0),
      );
    }),
  );
});

test("a snapshot of a ring is the taker's own, and takes nothing away", () => {
  const ring = new Ring<{ bytes: number; atMs: number }>({ count: 2, bytes: 100 });
  ring.add({ bytes: 1, atMs: 0 });
  const taken = ring.snapshot();
  ring.add({ bytes: 2, atMs: 0 });
  ring.add({ bytes: 3, atMs: 0 });
  assert.deepEqual(taken, [{ bytes: 1, atMs: 0 }]);
  assert.equal(ring.count, 2);
});
