import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../../test/support/held-timers.ts";
import { Bursts } from "./bursts.ts";

function world() {
  const timers = new HeldTimers(new HeldClock());
  const quiet: string[] = [];
  return { timers, quiet, bursts: new Bursts(timers, (key) => quiet.push(key)) };
}

test("an append within a second of the last one is part of a burst, one after two seconds is not", async () => {
  const { timers, bursts } = world();
  assert.equal(bursts.append("a"), false);
  assert.equal(bursts.append("a"), true);
  assert.equal(bursts.append("b"), false);
  await timers.pass(999);
  assert.equal(bursts.append("a"), true);
  await timers.pass(999);
  assert.equal(bursts.append("a"), true);
  await timers.pass(2_000);
  assert.equal(bursts.append("a"), false);
});

test("a log is called quiet once, a second or two after its last append", async () => {
  const { timers, quiet, bursts } = world();
  bursts.append("a");
  await timers.pass(900);
  bursts.append("b");
  await timers.pass(600);
  bursts.append("b");
  await timers.pass(499);
  assert.deepEqual(quiet, []);
  await timers.pass(1);
  assert.deepEqual(quiet, ["a"]);
  await timers.pass(60_000);
  assert.deepEqual(quiet, ["a", "b"]);
});

test("nothing waits when all is quiet, or when it was closed", async () => {
  const { timers, quiet, bursts } = world();
  bursts.append("a");
  assert.equal(timers.count, 1);
  await timers.pass(2_000);
  assert.equal(timers.count, 0);
  bursts.append("a");
  bursts.close();
  assert.equal(timers.count, 0);
  bursts.append("a");
  assert.equal(bursts.append("a"), false);
  assert.equal(timers.count, 0);
  assert.deepEqual(quiet, ["a"]);
});
