// F7: 20 at once, and killed at every statement.
import assert from "node:assert/strict";
import { test } from "node:test";
import type pg from "pg";
import { databaseOf } from "../../test/support/test-database.ts";
import { testDatabase } from "../../test/support/test-postgres.ts";
import { WrappedPool } from "../../test/support/wrapped-pool.ts";
import { errorName, isThroughlineError } from "../core/errors.ts";
import { contractProjection, found, message } from "../testing/log-store-contract-fixtures.ts";
import { openPostgresStorage } from "./postgres.ts";
import { ensureSchema, schemaVersion } from "./schema.ts";

const { skip, server, url, pool } = await testDatabase();
const durability = "process";

/** Asserts that what the database has is whole: the storage needs nothing more. */
async function assertWhole(): Promise<void> {
  await using storage = await openPostgresStorage({ pool, durability });
  const log = storage.logs("chats", contractProjection);
  await log.append("telegram:42", [message("m1")]);
  assert.equal((await log.tail("telegram:42", 1))?.seq, 1);
  assert.deepEqual(await found(log, "m1"), ["m1"]);
  await storage.files("chats").put("telegram:42", Buffer.from("a picture"));
  await storage.documents("notes").write("a", { text: "b" });
}

/** A pool of a process that is killed when this statement was done. */
function dyingPool(statements: number) {
  let left = statements;
  const state = { isDead: false };
  const dying = new WrappedPool(pool, async (client, statement) => {
    const answer = await client.query(statement);
    if (--left > 0) return answer;
    state.isDead = true;
    const { processID } = client as unknown as { processID: number };
    await pool.query("select pg_terminate_backend($1, 5000)", [processID]);
    throw new Error("killed");
  });
  const { connect } = dying;
  dying.connect = async () => {
    // As a server refuses a login, which nobody tries again.
    if (state.isDead) throw Object.assign(new Error("dead"), { severity: "FATAL", code: "28000" });
    return connect.call(dying);
  };
  return { dying, state };
}

async function dropSchema(): Promise<void> {
  await pool.query("drop schema if exists throughline cascade");
}

test("a creation of the schema killed after any statement leaves nothing or all; the next start completes it", {
  skip,
}, async () => {
  const alive = databaseOf(pool);
  const step = process.env["THROUGHLINE_FULL"] === "1" ? 1 : 6;
  for (let statements = 1, died = true; died; statements += step) {
    await dropSchema();
    const { dying, state } = dyingPool(statements);
    const outcome = await ensureSchema(databaseOf(dying)).then(() => "created", errorName);
    died = state.isDead;
    assert.equal(outcome === "created", !died, `statement ${statements}: ${outcome}`);
    const [row] = (await pool.query("select to_regnamespace('throughline') as there")).rows;
    if (row.there === null) await ensureSchema(alive);
    await assertWhole();
  }
});

const starts = process.env["THROUGHLINE_FULL"] === "1" ? 20 : 6;

test(`${starts} processes that start on an empty database at once all open it`, {
  skip,
}, async () => {
  await dropSchema();
  const opened = await Promise.all(
    Array.from({ length: starts }, (_, index) => {
      const own = server?.pool(url, { max: 2 }) as pg.Pool;
      return openPostgresStorage({ pool: own, companion: `companion-${index}`, durability });
    }),
  );
  const logs = opened.map((storage) => storage.logs("chats", contractProjection));
  assert.deepEqual(
    await Promise.all(logs.map((log) => log.append("telegram:42", [message("m1")]))),
    logs.map(() => 1),
  );
  await Promise.all(opened.map((storage) => storage.close()));
  assert.equal((await pool.query("select number from throughline.migrations")).rowCount, 1);
});

test("a role that may not create the schema is told that", { skip }, async (t) => {
  await dropSchema();
  await pool.query("drop role if exists throughline_lesser");
  await pool.query("create role throughline_lesser login");
  t.after(() => pool.query("drop owned by throughline_lesser; drop role throughline_lesser"));
  const lesserUrl = new URL(url);
  lesserUrl.username = "throughline_lesser";
  const lesser = server?.pool(lesserUrl.href) as pg.Pool;
  await assert.rejects(openPostgresStorage({ pool: lesser, durability }), {
    name: "ThroughlineError",
    code: "THROUGHLINE_CONFIGURATION",
    message: /^the schema is not there, and this role may not create it: .* \(42501\)$/,
  });
});

test("beside a later version that only added something, this one works on", { skip }, async () => {
  await dropSchema();
  await ensureSchema(databaseOf(pool));
  await pool.query("insert into throughline.migrations values ($1, $2)", [
    schemaVersion + 1,
    schemaVersion,
  ]);
  await pool.query("alter table throughline.logs add column more text");
  await assertWhole();
});

test("a schema that a later version changed is refused as newer, and left untouched", {
  skip,
}, async () => {
  await dropSchema();
  await ensureSchema(databaseOf(pool));
  await pool.query("insert into throughline.migrations values ($1, $1)", [schemaVersion + 1]);
  await assert.rejects(openPostgresStorage({ pool, durability }), (error) =>
    isThroughlineError(error, "THROUGHLINE_NEWER_FORMAT"),
  );
});
