// F1: whichever answer of the database is lost, the call ends as if nothing had happened, and nothing is
// stored twice. Every other call, and lost requests: test/full/postgres-lost-replies.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type pg from "pg";
import { endsAsWithoutLoss, storeCalls } from "../../test/support/lost-replies.ts";
import { databaseOf } from "../../test/support/test-database.ts";
import { noPostgres, withPostgres } from "../../test/support/test-postgres.ts";
import { lostConnection, WrappedPool } from "../../test/support/wrapped-pool.ts";
import { erased, logsOf, message } from "../testing/log-store-contract-fixtures.ts";
import type { PostgresPool } from "./pool.ts";
import { openPostgresStorage } from "./postgres.ts";
import { ensureSchema } from "./schema.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const pool = server?.pool(await server.newDatabase()) as pg.Pool;
if (skip === undefined) await ensureSchema(databaseOf(pool));

for (const name of ["an append that hides a message", "an erasure"]) {
  test(
    `${name} whose reply is lost at any statement ends as it does without a loss`,
    {
      skip,
    },
    () => endsAsWithoutLoss(pool, storeCalls[name]!, "reply"),
  );
}

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
