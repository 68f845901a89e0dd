// F1: an answer of the database that is lost while another process writes. Every call whose connection is cut at any
// message: test/full/postgres-cuts.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "../../test/support/test-postgres.ts";
import { lostConnection, WrappedPool } from "../../test/support/wrapped-pool.ts";
import { erased, logsOf, message } from "../testing/log-store-contract-fixtures.ts";
import type { PostgresPool } from "./pool.ts";
import { openPostgresStorage } from "./postgres.ts";

const { skip, pool } = await testDatabase();

test("an erasure whose answer is lost is no conflict with what was appended since, and keeps its head", {
  skip,
}, async () => {
  /** Done after the next commit, whose answer is lost then. */
  let after: (() => Promise<unknown>) | undefined;
  const losing = new WrappedPool(pool, async (client, statement) => {
    const answer = await client.query(statement);
    const doAfter = after;
    if (statement.text !== "commit" || doAfter === undefined) return answer;
    after = undefined;
    await doAfter();
    throw lostConnection();
  });
  const open = (through: PostgresPool) =>
    openPostgresStorage({ pool: through, companion: "nova", durability: "process" });
  await using mine = await open(losing);
  await using theirs = await open(pool);
  const [log, other] = [logsOf(mine), logsOf(theirs)];
  await log.append("a", [message("m1"), message("m2")], { head: { title: "m1" } });
  after = () => other.append("a", [message("m3")], { head: { title: "theirs" } });
  assert.equal(await log.erase("a", ["m1"], { expectedSeq: 2, head: { title: "" } }), 1);
  const { head, records } = (await other.tail("a", 9))!;
  assert.deepEqual(head, { title: "theirs" });
  assert.deepEqual(records[0], erased("m1", 1));
  assert.equal(after, undefined);
});
