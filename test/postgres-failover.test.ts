// F2: one failover under writers. Thirty: test/full/postgres-failover.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { failOver } from "./support/postgres-failovers.ts";
import { postgresPrograms } from "./support/test-postgres.ts";

test("what was acknowledged is there exactly once after a failover to a synchronous standby", {
  skip: postgresPrograms() === undefined && "the PostgreSQL package for this machine is not there",
}, async () => {
  const { acknowledged, resumedMs, keptLease } = await failOver(1);
  assert.equal(resumedMs.length, 1);
  assert.ok(acknowledged >= 4 * 22, String(acknowledged));
  assert.ok(keptLease);
});
