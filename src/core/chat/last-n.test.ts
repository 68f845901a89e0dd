import assert from "node:assert/strict";
import { test } from "node:test";
import { isThroughlineError } from "../errors.ts";
import { lastN } from "./working-memory.ts";

const items = ["a", "b", "c", "d"];

const rows: readonly [n: number | undefined, last: readonly string[]][] = [
  [undefined, ["a", "b", "c", "d"]],
  [-1, []],
  [-Number.MAX_SAFE_INTEGER, []],
  [-0, []],
  [0, []],
  [1, ["d"]],
  [3, ["b", "c", "d"]],
  [4, ["a", "b", "c", "d"]],
  [100, ["a", "b", "c", "d"]],
  [2 ** 60, ["a", "b", "c", "d"]],
];
for (const [n, last] of rows) {
  test(`the last ${n} of a, b, c, d are [${last}]`, () => {
    assert.deepEqual(lastN(items, n), last);
  });
}

const wrong: readonly unknown[] = [2.5, Number.NaN, Infinity, -Infinity, "3", null, true, 3n, [1]];
for (const n of wrong) {
  test(`the last ${typeof n} ${n} of a list is refused as invalid`, () => {
    assert.throws(
      () => lastN(items, n as number),
      (error) => isThroughlineError(error, "THROUGHLINE_INVALID"),
    );
  });
}

for (const n of [undefined, 4]) {
  test(`the last ${n} items are a list of the caller's own`, () => {
    lastN(items, n).push("mine");
    assert.equal(items.length, 4);
  });
}
