// F2, R15: the primary is killed again and again under writers, and its synchronous standby takes over.
import assert from "node:assert/strict";
import { test } from "node:test";
import { failOver } from "../support/postgres-failovers.ts";
import { postgresPrograms } from "../support/test-postgres.ts";

const failovers = Number(process.env["THROUGHLINE_FAILOVERS"] ?? 10);

/** The goal; a busy machine may take five times as long. */
const resumeMs = 5_000;

test(`what was acknowledged is there exactly once after ${failovers} failovers, and writes resume`, {
  skip: postgresPrograms() === undefined && "the PostgreSQL package for this machine is not there",
}, async (t) => {
  const { resumedMs, standbyMs, ...counts } = await failOver(failovers);
  const own = resumedMs.map((ms, i) => ms - (standbyMs[i] ?? 0));
  const inTime = resumedMs.filter((ms) => ms <= resumeMs).length;
  const slowest = Math.round(Math.max(...resumedMs));
  t.diagnostic(JSON.stringify(counts));
  t.diagnostic(
    `writes resumed within ${resumeMs} ms in ${inTime} of ${failovers}, after ${slowest} ms at most, ` +
      `${Math.round(Math.max(...own))} ms at most after the new standby was there`,
  );
  assert.equal(resumedMs.length, failovers);
  assert.ok(slowest <= 5 * resumeMs, `${slowest} ms`);
  assert.ok(counts.keptLease);
});
