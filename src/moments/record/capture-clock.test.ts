import assert from "node:assert/strict";
import { test } from "node:test";
import { CaptureClock } from "./capture-clock.ts";

test("a sleep of 8 h ages everything by 8 h, also within a second of the last look, and a step of the wall clock by nothing", () => {
  const at = { wall: 1_000_000_000_000, mono: 5_000, up: 90_000 };
  const pass = (ms: number) => {
    at.wall += ms;
    at.mono += ms;
    at.up += ms;
  };
  const clock = { now: () => at.wall, monotonic: () => at.mono, uptimeMs: () => at.up };
  const capture = new CaptureClock(clock);
  const before = capture.now();
  at.wall += 28_800_000;
  at.up += 28_800_000;
  pass(10);
  const after = capture.now();
  assert.equal(after.monoMs - before.monoMs, 10);
  assert.equal(after.ageMs - before.ageMs, 28_800_010);
  at.wall -= 3_600_000;
  pass(1_000);
  assert.equal(capture.now().ageMs - after.ageMs, 1_000);
});

test("where no uptime is told, age goes by the monotonic clock", () => {
  const at = { wall: 0, mono: 0 };
  const capture = new CaptureClock({ now: () => at.wall, monotonic: () => at.mono });
  at.wall += 28_800_000;
  at.mono += 5;
  assert.deepEqual(capture.now(), { monoMs: 5, ageMs: 5 });
});
