// A few of the ends of a process, of which test/full/ tries all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertNothingLost, recordAndEnd } from "./support/moments-exits.ts";

// Case 13.
test("a process that gets SIGTERM in the turn of record() keeps every moment, whole", async () => {
  assertNothingLost(await recordAndEnd({ end: "signal" }));
});

// F1, case 10.
test("a process that exits or is killed in a save leaves nothing that looks whole and is not", async () => {
  const ends = await Promise.all([
    recordAndEnd({ end: "exit", afterMs: 0 }),
    recordAndEnd({ end: "exit in a step", step: 20 }),
    recordAndEnd({ end: "kill in a step", step: 8 }),
    recordAndEnd({ end: "kill in a step", step: 30 }),
  ]);
  for (const { isReached } of ends.slice(1)) assert.equal(isReached, true);
});
