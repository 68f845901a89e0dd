import assert from "node:assert/strict";
import { test } from "node:test";
import { CaptureClock } from "./capture-clock.ts";

function clocks() {
  const at = { wall: 1_000_000_000_000, mono: 5_000, up: 90_000 };
  const pass = (ms: number) => {
    at.wall += ms;
    at.mono += ms;
    at.up += ms;
  };
  const clock = { now: () => at.wall, monotonic: () => at.mono, uptimeMs: () => at.up };
  return { at, pass, clock };
}

test("a sleep of 8 h ages everything by 8 h, is noted, and is no step of the wall clock", () => {
  const { at, pass, clock } = clocks();
  const capture = new CaptureClock(clock);
  const before = capture.now();
  at.wall += 28_800_000;
  at.up += 28_800_000;
  pass(10);
  const after = capture.now();
  assert.equal(after.monoMs - before.monoMs, 10);
  assert.equal(after.ageMs - before.ageMs, 28_800_010);
  const jumps = capture.jumpsSince(0).map(({ isSleep, byMs }) => [isSleep, byMs]);
  assert.deepEqual(jumps, [[true, 28_800_000]]);
});

test("a wall clock that drifts by 50 ms a second is not noted", () => {
  const { at, pass, clock } = clocks();
  const capture = new CaptureClock(clock);
  for (let i = 0; i < 60; i++) {
    pass(1_000);
    at.wall += 50;
    capture.now();
  }
  assert.deepEqual(capture.jumpsSince(0), []);
});

test("where no uptime is told, a jump of the wall clock is a step, and age goes by the monotonic clock", () => {
  const at = { wall: 0, mono: 0 };
  const capture = new CaptureClock({ now: () => at.wall, monotonic: () => at.mono });
  at.wall += 28_800_000;
  at.mono += 5;
  assert.deepEqual(capture.now(), { monoMs: 5, ageMs: 5 });
  const jumps = capture.jumpsSince(0).map(({ isSleep, byMs }) => [isSleep, byMs]);
  assert.deepEqual(jumps, [[false, 28_799_995]]);
});
