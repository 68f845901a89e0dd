// An erasure that was stored, whose answer is lost, and after which another process goes on at once.

import assert from "node:assert/strict";
import { test } from "node:test";
import type pg from "pg";
import { onlyNotifications } from "../../test/support/pool-notifications.ts";
import { noPostgres, withPostgres } from "../../test/support/test-postgres.ts";
import { erased, logsOf, message } from "../testing/log-store-contract-fixtures.ts";
import type { PostgresClient, PostgresPool } from "./pool.ts";
import { openPostgresStorage } from "./postgres.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const pool = server?.pool(await server.newDatabase()) as pg.Pool;

/** Loses the answer of the next commit once armed; `after` comes first. */
class LosesCommit implements PostgresPool {
  readonly on = () => undefined;
  readonly removeListener = () => undefined;
  after: (() => Promise<unknown>) | undefined;
  readonly #clients = new WeakMap<pg.PoolClient, PostgresClient>();

  async connect(): Promise<PostgresClient> {
    const client = await pool.connect();
    const known = this.#clients.get(client);
    if (known !== undefined) return known;
    const losing: PostgresClient = {
      release: (destroy) => client.release(destroy),
      on: onlyNotifications(client),
      query: async (statement) => {
        const answer = await client.query(statement);
        const { after } = this;
        if (statement.text !== "commit" || after === undefined) return answer;
        this.after = undefined;
        await after();
        throw new Error("Connection terminated unexpectedly");
      },
    };
    this.#clients.set(client, losing);
    return losing;
  }
}

test("an erasure whose answer is lost is no conflict with what was appended since, and keeps its head", {
  skip,
}, async () => {
  const losing = new LosesCommit();
  const open = (through: PostgresPool) =>
    openPostgresStorage({ pool: through, companion: "nova", durability: "process" });
  await using mine = await open(losing);
  await using theirs = await open(pool);
  const [log, other] = [logsOf(mine), logsOf(theirs)];
  await log.append("a", [message("m1"), message("m2")], { head: { title: "m1" } });
  losing.after = () => other.append("a", [message("m3")], { head: { title: "theirs" } });
  assert.equal(await log.erase("a", ["m1"], { expectedSeq: 2, head: { title: "" } }), 1);
  const { head, records } = (await other.tail("a", 9))!;
  assert.deepEqual(head, { title: "theirs" });
  assert.deepEqual(records[0], erased("m1", 1));
  assert.equal(losing.after, undefined);
});
