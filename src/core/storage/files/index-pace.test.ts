import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { HeldClock } from "../../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../../test/support/held-timers.ts";
import { openMemoryIndex } from "../../../../test/support/memory-index.ts";
import { contractProjection } from "../../../testing/log-store-contract-fixtures.ts";
import { IndexPace } from "./index-pace.ts";

/** A pace over an index of which so many batches wait, and which notes what it is told to take up. */
function world(waiting: number) {
  const seen = { waiting, logs: 1, drained: [] as number[], fewestInPart: 0 };
  const index = openMemoryIndex()("chats", contractProjection);
  index.waiting = () => seen.waiting;
  index.waitingLogs = () => seen.logs;
  index.drain = (batches) => {
    if (batches > seen.waiting || (seen.fewestInPart > 0 && batches > seen.fewestInPart))
      return false;
    seen.drained.push(batches);
    seen.waiting -= batches;
    return true;
  };
  const timers = new HeldTimers(new HeldClock());
  return { seen, timers, pace: new IndexPace(index, timers) };
}

/** Lets everything that is due run, and what it set going. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

test("the index takes up what waits 5 ms after the last append began, and nothing before", async () => {
  const { seen, timers, pace } = world(100);
  await pace.during(Promise.resolve());
  await timers.pass(4.9);
  await turns(10);
  assert.deepEqual(seen.drained, []);
  await timers.pass(0.1);
  await turns(10);
  assert.deepEqual(seen.drained, [32, 32, 32]);
  assert.equal(seen.waiting, 4);
});

test("appends that are less than 5 ms apart are not held up, however long they go on", async () => {
  const { seen, timers, pace } = world(1_000);
  for (let i = 0; i < 200; i++) {
    await pace.during(Promise.resolve());
    await timers.pass(4);
    await turns(2);
  }
  assert.deepEqual(seen.drained, []);
  await timers.pass(10);
  await turns(5);
  assert.ok(seen.drained.length > 0);
});

test("after two seconds without a pause 64 are taken up at each sync once 1,024 wait, until a pause comes", async () => {
  const { seen, timers, pace } = world(4_000);
  const load = async (pauses: number) => {
    for (let i = 0; i < pauses; i++) {
      await pace.during(Promise.resolve());
      await timers.pass(4);
      await pace.during(Promise.resolve());
      await timers.pass(1);
    }
  };
  await load(390);
  pace.whileSyncing();
  assert.deepEqual(seen.drained, []);
  await load(20);
  pace.whileSyncing();
  assert.deepEqual(seen.drained, [64]);
  seen.waiting = 1_023;
  pace.whileSyncing();
  assert.deepEqual(seen.drained, [64]);
  await timers.pass(10);
  await turns(100);
  seen.waiting = 4_000;
  const { length } = seen.drained;
  pace.whileSyncing();
  assert.equal(seen.drained.length, length);
});

test("batches of 1,024 logs are too many for a list: 64 are taken up at each sync from then on", () => {
  const { seen, pace } = world(2_000);
  seen.logs = 1_023;
  pace.whileSyncing();
  assert.deepEqual(seen.drained, []);
  seen.logs = 1_024;
  pace.whileSyncing();
  assert.deepEqual(seen.drained, [64]);
});

test("appends that overlap leave no pause, although they begin more than 5 ms apart", async () => {
  const { seen, timers, pace } = world(4_000);
  let end = () => {};
  for (let i = 0; i < 420; i++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const append = pace.during(promise);
    end();
    end = resolve;
    await timers.pass(6);
    if (i === 419) resolve();
    else void append;
  }
  pace.whileSyncing();
  assert.deepEqual(seen.drained, [64]);
});

test("an append that takes long is no pause; when it ends, the next pause counts", async () => {
  const { seen, timers, pace } = world(1_000);
  await pace.during(Promise.resolve());
  const { promise, resolve } = Promise.withResolvers<void>();
  const append = pace.during(promise);
  await timers.pass(100);
  await turns(5);
  assert.deepEqual(seen.drained, []);
  resolve();
  await append;
  await timers.pass(5);
  await turns(5);
  assert.ok(seen.drained.length > 0);
});

test("in a pause others get their turn after each slice, and an append ends it", async () => {
  const { seen, timers, pace } = world(1_000);
  await pace.during(Promise.resolve());
  await timers.pass(5);
  await turns(3);
  const before = seen.drained.length;
  assert.ok(before >= 1 && before <= 5, String(before));
  const { promise, resolve } = Promise.withResolvers<void>();
  const append = pace.during(promise);
  await turns(20);
  assert.ok(seen.drained.length <= before + 1);
  resolve();
  await append;
  await timers.pass(5);
  await turns(60);
  assert.equal(seen.waiting, 0);
});

test("what waits in parts too small for a slice is taken up 8 at a time", async () => {
  const { seen, timers, pace } = world(40);
  seen.fewestInPart = 8;
  await pace.during(Promise.resolve());
  await timers.pass(5);
  await turns(10);
  assert.deepEqual(seen.drained, [8, 8, 8, 8, 8]);
});

test("a failed append counts like any other, and is whoever's who asked for it", async () => {
  const { seen, timers, pace } = world(64);
  await assert.rejects(pace.during(Promise.reject(new Error("no"))), /no/);
  await timers.pass(5);
  await turns(5);
  assert.deepEqual(seen.drained, [32, 32]);
});

test("once it is closed nothing is taken up in a pause any more", async () => {
  const { seen, timers, pace } = world(1_000);
  await pace.during(Promise.resolve());
  pace.close();
  await timers.pass(60_000);
  await turns(5);
  assert.deepEqual(seen.drained, []);
});
