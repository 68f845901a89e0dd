// F6: a primary whose only synchronous standby is gone acknowledges nothing, although it can be read there.
import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { openPostgresStorage } from "../../src/postgres/postgres.ts";
import { logsOf, message, refuses } from "../../src/testing/log-store-contract-fixtures.ts";
import { PostgresPair } from "../support/postgres-pair.ts";
import { postgresPrograms } from "../support/test-postgres.ts";

test("nothing is acknowledged that the only standby, which is gone, does not have", {
  skip: postgresPrograms() === undefined && "the PostgreSQL package for this machine is not there",
}, async (t) => {
  const pair = await PostgresPair.start();
  const pool = new pg.Pool({ connectionString: pair.primary.url, max: 8 });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  const storage = await openPostgresStorage({ pool, timeoutMs: 800, durability: "process" });
  t.after(async () => {
    await pair.stop();
    await storage.close();
    await pool.end();
  });
  const log = logsOf(storage);
  const documents = storage.documents("session");
  await log.append("a", [message("m1")]);
  await log.append("b", [message("m1")]);
  await documents.write("state", { mood: 1 });
  await documents.write("old", { mood: 1 });
  await pair.standby.crash();
  const unknown = "THROUGHLINE_OUTCOME_UNKNOWN";
  await Promise.all([
    refuses(unknown, log.append("a", [message("m2")])),
    refuses(unknown, log.delete("b")),
    refuses(unknown, documents.write("state", { mood: 2 })),
    refuses(unknown, documents.delete("old")),
  ]);
  // It is there all the same: a failover would take it, and so nobody was told that it is stored.
  assert.equal((await log.tail("a", 0))?.seq, 2);
  assert.deepEqual((await documents.read("state"))?.value, { mood: 2 });
  await pair.addStandby();
  assert.equal(await log.append("a", [message("m2")]), 2);
});
