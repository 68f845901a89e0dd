import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import { oncePerPass } from "./lease.ts";

/** A check that counts, and a clock that stands. */
function counted(failure?: Error) {
  const seen = { checks: 0, now: 5_000, failure };
  const look = oncePerPass(
    () => {
      seen.checks++;
      if (seen.failure !== undefined) throw seen.failure;
    },
    () => seen.now,
  );
  return { seen, look };
}

test("one look is enough for a pass of the event loop, microtasks included", async () => {
  const { seen, look } = counted();
  look();
  look();
  await Promise.resolve();
  look();
  assert.equal(seen.checks, 1);
});

test("the next pass looks again, each of them", async () => {
  const { seen, look } = counted();
  for (let pass = 1; pass <= 3; pass++) {
    look();
    assert.equal(seen.checks, pass);
    await nextPass();
  }
});

test("a pass of 10 ms looks again, although no other begins", () => {
  const { seen, look } = counted();
  look();
  seen.now += 9.9;
  look();
  assert.equal(seen.checks, 1);
  seen.now += 0.1;
  look();
  assert.equal(seen.checks, 2);
});

test("what a check threw is thrown each time it is asked, and holds for nobody", () => {
  const { seen, look } = counted(new Error("moved away"));
  assert.throws(look, /moved away/);
  assert.throws(look, /moved away/);
  seen.failure = undefined;
  look();
  assert.equal(seen.checks, 3);
});
