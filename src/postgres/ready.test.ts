import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import pg from "pg";
import { noPostgres, startPostgres } from "../../test/support/test-postgres.ts";
import { openPostgresStorage } from "./postgres.ts";

test("a storage is ready while its database answers, takes writes, and no longer", {
  skip: noPostgres(),
}, async (t) => {
  const server = await startPostgres();
  t.after(async () => {
    await server.stop();
    rmSync(server.directory, { recursive: true, force: true });
  });
  const pool = new pg.Pool({ connectionString: server.url, max: 3 });
  t.after(() => pool.end());
  pool.on("error", () => undefined); // its connections end with the server
  const storage = await openPostgresStorage({ pool, timeoutMs: 2_000 });
  await storage.ready();
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query("alter system set default_transaction_read_only = on");
  await admin.query("select pg_reload_conf()");
  const readOnly = { code: "THROUGHLINE_UNAVAILABLE", message: "the database takes no writes" };
  const isReadOnly = async () => {
    const { rows } = await admin.query("show default_transaction_read_only");
    return rows[0]?.default_transaction_read_only === "on";
  };
  while (!(await isReadOnly())) await new Promise(setImmediate);
  await assert.rejects(async () => {
    for (;;) await storage.ready(); // a connection reads the new setting a moment later
  }, readOnly);
  await admin.end();
  await server.crash();
  await assert.rejects(storage.ready(), {
    code: "THROUGHLINE_UNAVAILABLE",
    message: "the database does not answer",
  });
  await storage.close();
  await assert.rejects(storage.ready(), { code: "THROUGHLINE_CLOSED" });
});
