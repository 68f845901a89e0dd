// A few of the ends of a process, of which test/full/ tries all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertNothingLost, recordAndEnd } from "./support/moments-exits.ts";

// Case 13.
test("a process that exits in the turn of record(), or in the 20th disk call of a save, keeps every moment, whole", async () => {
  const ends = await Promise.all([
    recordAndEnd({ end: "exit", afterMs: 0 }),
    recordAndEnd({ end: "exit in a step", step: 20 }),
  ]);
  for (const ended of ends) assertNothingLost(ended);
});

test("a process that gets SIGTERM in the turn of record() keeps every moment, whole", async () => {
  assertNothingLost(await recordAndEnd({ end: "signal" }));
});

// F1, case 10.
test("a process killed in the 8th or 40th disk call of its saves, or in its spill, leaves nothing that looks whole and is not", async () => {
  const ends = await Promise.all([
    recordAndEnd({ end: "kill in a step", step: 8 }),
    recordAndEnd({ end: "kill in a step", step: 40 }),
    recordAndEnd({ end: "kill in a spill", step: 1, half: true }),
  ]);
  for (const { signal, isReached } of ends) {
    assert.deepEqual([signal, isReached], ["SIGKILL", true]);
  }
});
