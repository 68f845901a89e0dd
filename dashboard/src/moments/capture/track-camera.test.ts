import assert from "node:assert/strict";
import { test } from "node:test";
import { CameraClock } from "./track-camera.ts";

test("pictures that come late by 1 to 60 ms are placed to within 5 ms", () => {
  const clock = new CameraClock();
  let worst = 0;
  for (let picture = 1; picture <= 600; picture++) {
    const takenMs = picture * 100;
    const lateMs = 1 + ((picture * 37) % 60);
    const offset = clock.offset(takenMs, 5_000 + takenMs + lateMs);
    if (picture > 20) worst = Math.max(worst, Math.abs(offset - 5_000));
  }
  assert.ok(worst <= 5, `${worst} ms`);
});

test("a camera that runs 0.1 % slow is followed, to within 3 ms", () => {
  const clock = new CameraClock();
  for (let picture = 1; picture <= 6_000; picture++) {
    const nowMs = picture * 100.1;
    const offset = clock.offset(picture * 100, nowMs);
    assert.ok(picture * 100 + offset >= nowMs - 3 && picture * 100 + offset <= nowMs);
  }
});

test("after a camera restarts its clock, 250 ms later, its pictures are placed right again within 2 s", () => {
  const clock = new CameraClock();
  for (let picture = 1; picture <= 100; picture++) {
    const laterMs = picture > 50 ? 250 : 0;
    const offset = clock.offset(picture * 100, picture * 100 + laterMs + (picture % 3));
    if (picture > 70) assert.ok(offset >= 250 && offset <= 252, `picture ${picture}: ${offset} ms`);
  }
});
