import assert from "node:assert/strict";
import { test } from "node:test";
import { fullTime, relativeTime } from "./in-words.ts";

const now = new Date(2026, 10, 26, 17, 36).getTime();
const [second, minute, hour] = [1_000, 60_000, 3_600_000];

for (const [ms, words] of [
  [0, "just now"],
  [4 * second, "just now"],
  [40 * second, "40 s ago"],
  [5 * minute, "5 min ago"],
  [59.9 * minute, "59 min ago"],
  [3 * hour, "3 h ago"],
  [23.9 * hour, "23 h ago"],
  [24 * hour, "25 Nov, 17:36"],
  [300 * 24 * hour, "30 Jan, 17:36"],
  [365 * 24 * hour, "26 Nov 2025, 17:36"],
  [-10 * minute, "in 10 min"],
  [-24 * hour, "27 Nov, 17:36"],
] as const) {
  test(`${ms / second} s before now is “${words}”`, () => {
    assert.equal(relativeTime(now - ms, now), words);
    assert.equal(relativeTime(new Date(now - ms).toISOString(), now), words);
  });
}

test("what is no time has no words", () => {
  assert.equal(relativeTime("", now), "");
  assert.equal(fullTime("soon"), "");
  assert.equal(fullTime(now), "26 Nov 2026, 17:36");
});
