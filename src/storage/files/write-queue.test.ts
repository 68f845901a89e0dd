import assert from "node:assert/strict";
import { test } from "node:test";
import type { IndexedBatch } from "./log-index.ts";
import { WriteQueue } from "./write-queue.ts";

/** A batch of one record, with this number and this id. */
function batch(seq: number, id: string): IndexedBatch {
  const place = { start: (seq - 1) * 100, end: seq * 100, crc: String(seq) };
  return { key: "a", seq, ...place, head: {}, damaged: false, ids: [id], records: [] };
}

test("ids of batches that were taken away are forgotten, one that a later batch has again is not", () => {
  const queue = new WriteQueue();
  for (const [i, id] of ["x", "y", "x", "z"].entries()) queue.push(batch(i + 1, id));
  queue.shift(queue.some(1));
  assert.deepEqual(queue.find("a", "x"), { seq: 3, start: 200 });
  queue.shift(queue.some(1));
  assert.equal(queue.find("a", "y"), undefined);
  assert.deepEqual(queue.find("a", "z"), { seq: 4, start: 300 });
  assert.equal(queue.seek("a", 2), undefined);
  assert.equal(queue.seek("a", 99), 300);
});
