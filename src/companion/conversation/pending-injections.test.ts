import assert from "node:assert/strict";
import { test } from "node:test";
import { readPendingItems } from "./pending-injections.ts";

const item = { id: "a", text: "welcome", queuedAt: "2026-03-01T12:00:00.000Z" };
const rows: readonly [stored: unknown, read: readonly object[]][] = [
  [undefined, []],
  [null, []],
  [{ 0: item, length: 1 }, []],
  ["[]", []],
  [[], []],
  [[item], [item]],
  [[{ ...item, more: 1 }], [item]],
  [[null, 1, "a", [], item], [item]],
  [[{ ...item, id: "" }], []],
  [[{ ...item, id: 1 }], []],
  [[{ ...item, text: null }], []],
  [[{ ...item, queuedAt: 1_772_366_400 }], []],
];
for (const [stored, read] of rows) {
  test(`of the stored ${JSON.stringify(stored)}, ${read.length} pending items are read`, () => {
    assert.deepEqual(readPendingItems(stored), read);
  });
}
