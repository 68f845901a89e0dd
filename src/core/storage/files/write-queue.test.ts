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

test("a queue is full with 32,768 batches, or with 16 MiB of them, and not with one fewer", () => {
  const many = new WriteQueue();
  for (let seq = 1; seq < 32_768; seq++) many.push(batch(seq, "x"));
  assert.equal(many.isFull, false);
  many.push(batch(32_768, "x"));
  assert.equal(many.isFull, true);
  const large = new WriteQueue();
  for (let seq = 1; seq <= 16; seq++) {
    assert.equal(large.isFull, false);
    large.push({ ...batch(seq, "x"), start: 0, end: 1024 * 1024 });
  }
  assert.equal(large.isFull, true);
});

test("a log that is dropped takes its batches and their bytes along, and no others", () => {
  const queue = new WriteQueue();
  for (let seq = 1; seq <= 15; seq++) {
    queue.push({ ...batch(seq, "x"), key: seq < 15 ? "a" : "b", start: 0, end: 1024 * 1024 });
  }
  queue.remove("a");
  assert.equal(queue.length, 1);
  assert.deepEqual(
    queue.all().map(({ key }) => key),
    ["b"],
  );
  for (let seq = 1; seq <= 14; seq++)
    queue.push({ ...batch(seq, "y"), start: 0, end: 1024 * 1024 });
  assert.equal(queue.isFull, false);
  queue.push({ ...batch(15, "y"), start: 0, end: 1024 * 1024 });
  assert.equal(queue.isFull, true);
});

test("what is taken at a time is 128 KiB of log or one batch, however many wait, and waits for no more", () => {
  const queue = new WriteQueue();
  const push = (seq: number, bytes: number) =>
    queue.push({ ...batch(seq, "x"), start: 0, end: bytes });
  push(1, 1024 * 1024);
  for (let seq = 2; seq <= 9; seq++) push(seq, 20 * 1024);
  const taken: number[][] = [];
  for (let some = queue.some(32); some.length > 0; some = queue.some(32)) {
    taken.push(some.map(({ seq }) => seq));
    queue.shift(some);
  }
  assert.deepEqual(taken, [[1], [2, 3, 4, 5, 6, 7]]);
  assert.equal(queue.bytes, 40 * 1024);
  assert.deepEqual(
    queue.some(2).map(({ seq }) => seq),
    [8, 9],
  );
});
