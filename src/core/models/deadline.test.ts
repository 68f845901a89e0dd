import assert from "node:assert/strict";
import { test } from "node:test";
import { Deadline } from "./deadline.ts";

const limits = { firstTokenTimeoutMs: 120_000, idleTimeoutMs: 60_000, totalTimeoutMs: 300_000 };
type Step = "first" | "more" | "pause" | number;
const rows: readonly [string, readonly Step[], string | undefined][] = [
  ["119.999 s of silence", [119_999], undefined],
  ["120 s of silence", [120_000], "did not answer within 120 s"],
  ["a sign of life at 119 s and 119 s more", [119_000, "first", 119_000], undefined],
  ["an answer that pauses for 59.999 s", [1, "more", 59_999, "more", 59_999], undefined],
  ["an answer that pauses for 60 s", [1, "more", 60_000], "fell silent for 60 s"],
  ["a reader that is busy for 200 s", [1, "more", "pause", 200_000], undefined],
  [
    "an answer that never ends",
    [50_000, "more", 50_000, "more", 50_000, "more", 50_000, "more", 50_000, "more", 50_000],
    "did not end its answer within 300 s",
  ],
];
for (const [what, steps, missed] of rows) {
  test(`${what} is ${missed === undefined ? "in time" : `"${missed}"`}`, (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const deadline = new Deadline(limits);
    for (const step of steps) {
      if (typeof step === "number") t.mock.timers.tick(step);
      else if (step === "first") deadline.expectFirst();
      else if (step === "more") deadline.expectMore();
      else deadline.pause();
    }
    assert.equal(deadline.missed, missed);
    assert.equal(deadline.signal.aborted, missed !== undefined);
  });
}

test("a stopped deadline never fires, so that nothing keeps the process alive", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const deadline = new Deadline(limits);
  deadline.stop();
  t.mock.timers.tick(10_000_000);
  assert.equal(deadline.signal.aborted, false);
});
