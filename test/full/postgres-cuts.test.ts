// F1, F5, R15: whichever message of the protocol the connection fails at, in either direction, the call
// ends as if nothing had happened, within its deadline. Where the database is gone for longer than that,
// the call says whether something may be stored, and an append again settles it.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  cutCalls,
  directions,
  endsAsWithoutFault,
  inCutWorld,
  saysWhetherStored,
} from "../support/postgres-cuts.ts";
import { testDatabase } from "../support/test-postgres.ts";

const { skip, url } = await testDatabase();

/** Half of it is how long a connection that says nothing is waited for. */
const timeoutMs = 4_800;

const faults = {
  "cut before": "is cut before any message",
  "cut after": "is cut after any message",
  freeze: "freezes at any message",
  delay: "holds back any message",
} as const;

let points = 0;
let unknown = 0;

describe("a failing connection", { concurrency: 12, skip }, () => {
  for (const [name, call] of Object.entries(cutCalls)) {
    for (const fault of ["cut before", "cut after", "freeze", "delay"] as const) {
      for (const direction of directions) {
        // An answer that comes too late is one that does not come.
        if (fault === "delay" && direction === "reply") continue;
        if (call.isOnlyCut && !fault.startsWith("cut")) continue;
        // A statement has more messages than these.
        const step = call.isOnlyCut ? 3 : 1;
        test(`${name} whose connection ${faults[fault]} (${direction}) ends as it does without`, () =>
          inCutWorld(url, timeoutMs, async (world) => {
            const hits = await endsAsWithoutFault(world, call, { direction, fault }, step);
            assert.ok(hits.length > 0);
            points += hits.length;
          }));
      }
    }
    if (call.isOnlyCut || (/lease$|others/.test(name) && !name.startsWith("an append"))) continue;
    for (const direction of directions) {
      test(`${name} whose database is gone from any message on (${direction}) says what is stored`, () =>
        inCutWorld(url, 2_000, async (world) => {
          const count = await saysWhetherStored(world, call, direction, 2);
          unknown += count;
        }));
    }
  }
});

test("every outcome is settled at more than 500 points, and at least 20 are unknown first", {
  skip,
}, (t) => {
  t.diagnostic(`${points} points settled at once; ${unknown} unknown until repeated`);
  assert.ok(points > 500, String(points));
  assert.ok(unknown >= 20, String(unknown));
});
