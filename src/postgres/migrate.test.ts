// F7: 20 at once, and killed at every statement.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type pg from "pg";
import { DyingPool } from "../../test/support/dying-pool.ts";
import { schemaOf } from "../../test/support/postgres-schema.ts";
import { databaseOf } from "../../test/support/test-database.ts";
import { noPostgres, withPostgres } from "../../test/support/test-postgres.ts";
import { errorName, isThroughlineError } from "../core/errors.ts";
import { contractProjection, found, message } from "../testing/log-store-contract-fixtures.ts";
import { migrate } from "./migrate.ts";
import { migrations } from "./migrations/migrations.ts";
import { openPostgresStorage } from "./postgres.ts";
import { lexemesOf, placesOf, scopeOf } from "./words.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const url = (await server?.newDatabase()) ?? "";
const pool = server?.pool(url) as pg.Pool;
const durability = "process";
const schemaFile = new URL("./schema.sql", import.meta.url);

async function migrated(): Promise<void> {
  await using storage = await openPostgresStorage({ pool, durability });
  const log = storage.logs("chats", contractProjection);
  await log.append("telegram:42", [message("m1")]);
  assert.equal((await log.tail("telegram:42", 1))?.seq, 1);
  assert.equal(await schemaOf(pool), readFileSync(schemaFile, "utf8"));
}

async function dropSchema(): Promise<void> {
  await pool.query("drop schema if exists throughline cascade");
}

test("a migration killed after any statement leaves nothing or all; the next start completes it", {
  skip,
}, async () => {
  const alive = databaseOf(pool);
  const step = process.env["THROUGHLINE_FULL"] === "1" ? 1 : 4;
  for (let statements = 1, died = true; died; statements += step) {
    await dropSchema();
    const dying = new DyingPool(pool, statements);
    const outcome = await migrate(databaseOf(dying), true).then(() => "migrated", errorName);
    died = dying.isDead;
    assert.equal(outcome === "migrated", !died, `statement ${statements}: ${outcome}`);
    const [row] = (await pool.query("select to_regnamespace('throughline') as there")).rows;
    if (row.there !== null) assert.equal(await schemaOf(pool), readFileSync(schemaFile, "utf8"));
    await migrate(alive, true);
    assert.equal(await schemaOf(pool), readFileSync(schemaFile, "utf8"));
  }
  await migrated();
});

test("a database of migration 2 keeps what it holds, its words too, wherever the step to 3 is killed", {
  skip,
}, async () => {
  await dropSchema();
  const alive = databaseOf(pool);
  await migrate(alive, true, migrations.slice(0, 2));
  const places = placesOf(scopeOf("default", "chats"), "a");
  await pool.query(
    "insert into throughline.logs values ('default', 'chats', 'a', 1, '{}', '', '{}')",
  );
  await pool.query(
    "insert into throughline.records values ('default', 'chats', 'a', 1, 'o1', $1, null, $2)",
    [JSON.stringify(message("o1", "tea")), lexemesOf("tea", places)],
  );
  for (let statements = 1, died = true; died; statements++) {
    const dying = new DyingPool(pool, statements);
    await migrate(databaseOf(dying), true).catch(() => undefined);
    died = dying.isDead;
    const { rows } = await pool.query("select max(number) as newest from throughline.migrations");
    assert.ok(rows[0].newest === 2 || rows[0].newest === migrations.length);
  }
  assert.equal(await schemaOf(pool), readFileSync(schemaFile, "utf8"));
  await using storage = await openPostgresStorage({ pool, durability });
  const log = storage.logs("chats", contractProjection);
  await log.append("a", [message("n2", "tea")]);
  assert.deepEqual(await found(log, "tea"), ["n2", "o1"]);
  assert.deepEqual(await found(log, "tea", "a"), ["n2", "o1"]);
});

test("20 processes that start on an empty database at once all open it", { skip }, async () => {
  await dropSchema();
  const opened = await Promise.all(
    Array.from({ length: 20 }, (_, index) => {
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
  assert.equal(
    (await pool.query("select name from throughline.migrations")).rowCount,
    migrations.length,
  );
});

test("schema.sql is the schema that the catalog has", { skip }, async () => {
  await dropSchema();
  await migrated();
});

test("without the right to migrate, an empty database is refused, and a migrated one is opened", {
  skip,
}, async () => {
  await dropSchema();
  await assert.rejects(openPostgresStorage({ pool, durability, migrate: false }), (error) =>
    isThroughlineError(error, "THROUGHLINE_CONFIGURATION"),
  );
  await migrated();
  const storage = await openPostgresStorage({ pool, durability, migrate: false });
  await storage.close();
});

test("a role that may not migrate is told that, and that the schema is older", {
  skip,
}, async () => {
  await dropSchema();
  await migrate(databaseOf(pool), true, migrations.slice(0, 2));
  await pool.query("drop role if exists throughline_lesser");
  await pool.query("create role throughline_lesser login");
  await pool.query("grant usage on schema throughline to throughline_lesser");
  await pool.query("grant select on throughline.migrations to throughline_lesser");
  const lesserUrl = new URL(url);
  lesserUrl.username = "throughline_lesser";
  const lesser = server?.pool(lesserUrl.href) as pg.Pool;
  await assert.rejects(openPostgresStorage({ pool: lesser, durability }), {
    name: "ThroughlineError",
    code: "THROUGHLINE_CONFIGURATION",
    message: /^the schema is older than this program, .* this role may not migrate it \(42501\)$/,
  });
  await pool.query("drop owned by throughline_lesser; drop role throughline_lesser");
});

test("the rights of the guide are enough, also on a table of a later version; without one a start says which", {
  skip,
}, async (t) => {
  const database = new URL((await server?.newDatabase()) ?? "");
  const as = (role: string) => {
    const at = new URL(database);
    at.username = role;
    return server?.pool(at.href) as pg.Pool;
  };
  const admin = server?.pool(database.href) as pg.Pool;
  const [owner, app] = [as("throughline_owner"), as("throughline_app")];
  const guide = readFileSync(new URL("../../docs/guides/postgresql.md", import.meta.url), "utf8");
  const section = guide.slice(
    guide.indexOf("## Least privilege"),
    guide.indexOf("**Migrations.**"),
  );
  const [create, grant] = [...section.matchAll(/```sql\n(.*?)```/gs)].map(([, text]) => text ?? "");
  for (const role of create?.match(/create role [^;]*;/g) ?? []) await admin.query(role);
  t.after(async () => {
    await admin.query("reassign owned by throughline_owner to current_user");
    for (const role of ["throughline_owner", "throughline_app"]) {
      await admin.query(`drop owned by ${role}`);
      await admin.query(`drop role ${role}`);
    }
  });
  await admin.query(`alter database ${database.pathname.slice(1)} owner to throughline_owner`);
  await (await openPostgresStorage({ pool: owner, durability })).close();
  await owner.query(grant ?? "");
  const storage = await openPostgresStorage({ pool: app, durability });
  await storage.files("chats").put("telegram:42", Buffer.from("a picture"));
  await storage.close();
  await owner.query("create table throughline.later (id text)");
  await app.query("insert into throughline.later values ('a')");
  for (const right of ["select", "insert", "update", "delete"]) {
    await owner.query(`revoke ${right} on throughline.files from throughline_app`);
    await assert.rejects(openPostgresStorage({ pool: app, durability }), {
      code: "THROUGHLINE_CONFIGURATION",
      message: new RegExp(`^this role may not .*${right} on throughline.files.*: grant it`),
    });
  }
});

test("beside a later version that only added something, this one works on", { skip }, async () => {
  await dropSchema();
  await migrated();
  await pool.query("insert into throughline.migrations values ($1, 'more', 1)", [
    migrations.length + 1,
  ]);
  await pool.query("alter table throughline.logs add column more text");
  const storage = await openPostgresStorage({ pool, durability });
  const log = storage.logs("chats", contractProjection);
  assert.equal(await log.append("telegram:42", [message("m2")]), 2);
  await storage.close();
});

test("a schema that a later version changed is refused as newer, and left untouched", {
  skip,
}, async () => {
  await dropSchema();
  await migrated();
  await pool.query("insert into throughline.migrations values ($1, 'other', $1)", [
    migrations.length + 1,
  ]);
  await assert.rejects(openPostgresStorage({ pool, durability }), (error) =>
    isThroughlineError(error, "THROUGHLINE_NEWER_FORMAT"),
  );
});
