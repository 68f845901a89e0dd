import assert from "node:assert/strict";
import { test } from "node:test";
import { systemTimers } from "./timers.ts";

const delays: readonly [delayMs: number, waitsMs: number][] = [
  [1, 1],
  [99.2, 100],
  [3_000_000_000, 2_147_483_647],
];
for (const [delayMs, waitsMs] of delays) {
  test(`a timer of ${delayMs} ms is called once, after ${waitsMs} ms`, (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let calls = 0;
    systemTimers.after(delayMs, () => calls++);
    t.mock.timers.tick(waitsMs - 1);
    assert.equal(calls, 0);
    t.mock.timers.tick(1);
    t.mock.timers.tick(10_000);
    assert.equal(calls, 1);
  });
}

test("a timer that was cancelled is not called", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const cancel = systemTimers.after(10, () => assert.fail("called"));
  cancel();
  t.mock.timers.tick(10);
  cancel();
});
