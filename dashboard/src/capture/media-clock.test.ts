import assert from "node:assert/strict";
import { test } from "node:test";
import { MediaClock } from "./media-clock.ts";

test("chunks that come late by 1 to 60 ms are placed to within 5 ms", () => {
  const clock = new MediaClock();
  let worst = 0;
  for (let chunk = 1; chunk <= 600; chunk++) {
    const endMs = chunk * 100;
    const lateMs = 1 + ((chunk * 37) % 60);
    const offset = clock.offset(endMs, 5_000 + endMs + lateMs);
    if (chunk > 20) worst = Math.max(worst, Math.abs(offset - 5_000));
  }
  assert.ok(worst <= 5, `${worst} ms`);
});

test("an audio thread that runs 0.1 % slow is followed, to within 3 ms", () => {
  const clock = new MediaClock();
  for (let chunk = 1; chunk <= 6_000; chunk++) {
    const nowMs = chunk * 100.1;
    const offset = clock.offset(chunk * 100, nowMs);
    assert.ok(chunk * 100 + offset >= nowMs - 3 && chunk * 100 + offset <= nowMs);
  }
});

test("after an audio thread stood still for 250 ms its sound is placed right again within 2 s", () => {
  const clock = new MediaClock();
  for (let chunk = 1; chunk <= 100; chunk++) {
    const stoodMs = chunk > 50 ? 250 : 0;
    const offset = clock.offset(chunk * 100, chunk * 100 + stoodMs + (chunk % 3));
    if (chunk > 70) assert.ok(offset >= 250 && offset <= 252, `chunk ${chunk}: ${offset} ms`);
  }
});
