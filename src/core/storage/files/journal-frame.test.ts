// The bytes of a segment.
import assert from "node:assert/strict";
import { test } from "node:test";
import { headerChange, putFrame, readSegment } from "./journal-frame.ts";

/** A segment with three changes, from this position on. */
function segmentAt(position: number, repeated = 0) {
  const into = Buffer.alloc(4_096);
  let end = putFrame(into, 0, headerChange({ nth: 1, repeated, unsynced: false }), {
    position,
    durable: position,
  });
  const frames: number[] = [];
  for (const id of ["m1", "m2", "m3"]) {
    frames.push(end);
    const change = { path: "chats/a.jsonl", offset: 0, bytes: Buffer.from(id) };
    end = putFrame(into, end, change, { position: position + end, durable: position });
  }
  return { into, end, frames };
}

const framesIn = (bytes: Buffer) => readSegment(bytes)?.frames.map((frame) => String(frame.bytes));

test("a damaged frame and what follows it are not read", () => {
  const { into, frames, end } = segmentAt(7_000);
  assert.deepEqual(framesIn(into), ["m1", "m2", "m3"]);
  assert.equal(readSegment(into)?.end, 7_000 + end);
  for (let at = frames[1] ?? 0; at < (frames[2] ?? 0); at++) {
    into.writeUInt8(into.readUInt8(at) ^ 1, at);
    assert.deepEqual(framesIn(into), ["m1"], `byte ${at}`);
    into.writeUInt8(into.readUInt8(at) ^ 1, at);
  }
  into.writeUInt8(into.readUInt8(10) ^ 1, 10);
  assert.equal(framesIn(into), undefined);
});

test("what an earlier use of the file left is not read", () => {
  const before = segmentAt(7_000);
  const { into, frames } = segmentAt(90_000);
  into.copy(before.into, 0, 0, frames[1]);
  assert.deepEqual(framesIn(before.into), ["m1"]);
});

test("a segment without all that it repeats was never in use", () => {
  assert.deepEqual(framesIn(segmentAt(7_000, 3).into), ["m1", "m2", "m3"]);
  assert.equal(framesIn(segmentAt(7_000, 4).into), undefined);
});
