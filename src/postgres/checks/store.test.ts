import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type pg from "pg";
import { fakeIo, runCli, temporaryDirectory } from "../../../test/support/command-line.ts";
import { noPostgres, withPostgres } from "../../../test/support/test-postgres.ts";
import { parsePostgresUrl } from "../../cli/store-location.ts";
import { checkDatabase } from "./database.ts";
import { checkStore } from "./store.ts";

const password = "s3cr3t";
const says = "postgres://me@127.0.0.1:1/x?companion=default cannot be reached (ECONNREFUSED)";

for (const flags of [[], ["--json"]]) {
  test(`doctor ${flags.join("")} ends with 1 when the database cannot be reached, and repeats no password`, async (t) => {
    const home = join(temporaryDirectory(t), "home");
    const store = `postgres://me:${password}@127.0.0.1:1/x`;
    const { code, out, err } = await runCli(["doctor", "--store", store, ...flags], { home });
    assert.deepEqual([code, err], [1, ""]);
    assert.ok(!out.includes(password));
    if (flags.length === 0) {
      assert.ok(out.includes(`\nFAILED   ${says}\n`), out);
      assert.match(out, /\n\nThe store could not be checked, .* damaged\.\n$/);
    } else {
      const { damaged, failed, checks } = JSON.parse(out);
      assert.deepEqual({ damaged, failed }, { damaged: false, failed: true });
      const check = checks.find(({ id }: { id: string }) => id === "store");
      assert.deepEqual(check, { id: "store", status: "failed", says });
    }
  });
}

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;

/** A companion in a database of its own, and a way to change what that holds. */
async function kept(t: TestContext) {
  const home = join(temporaryDirectory(t), "home");
  const url = (await server?.newDatabase()) ?? "";
  const store = `${url}?durability=process`;
  const chat = await runCli(["chat", "--store", store], { home, io: fakeIo("hello\nagain\n") });
  assert.equal(chat.code, 0, chat.err);
  return { home, store, pool: server?.pool(url) as pg.Pool };
}

interface Found {
  readonly damaged: boolean;
  readonly failed: boolean;
  readonly checks: readonly {
    readonly id: string;
    readonly status: string;
    readonly says: string;
  }[];
}

async function examined(store: string, home: string) {
  const { code, out } = await runCli(["doctor", "--json", "--store", store], { home });
  const { damaged, failed, checks } = JSON.parse(out) as Found;
  return { code, damaged, failed, check: (id: string) => checks.find((each) => each.id === id) };
}

test("doctor reads every log; it names a missing record, a missing right and a schema that it cannot read", {
  skip,
}, async (t) => {
  const { home, store, pool } = await kept(t);
  const whole = await examined(store, home);
  assert.deepEqual([whole.code, whole.damaged, whole.failed], [0, false, false]);
  assert.match(whole.check("store.schema")?.says ?? "", /^version 3; this program knows 3$/);
  assert.match(whole.check("store.logs")?.says ?? "", /all of them read$/);
  await pool.query("delete from throughline.records where collection = 'chats' and seq = 2");
  const missing = await examined(store, home);
  assert.deepEqual([missing.code, missing.damaged], [1, true]);
  assert.match(missing.check("store.logs")?.says ?? "", /record 2 is missing/);
  await pool.query("create role throughline_reader login");
  t.after(() => pool.query("drop owned by throughline_reader; drop role throughline_reader"));
  await pool.query(`grant usage on schema throughline to throughline_reader;
    grant all on all tables in schema throughline to throughline_reader;
    revoke delete on throughline.files from throughline_reader`);
  const reading = new URL(store);
  reading.username = "throughline_reader";
  const lesser = await examined(reading.href, home);
  assert.deepEqual([lesser.code, lesser.failed], [1, true]);
  assert.match(
    lesser.check("store.open")?.says ?? "",
    /this role may not delete on throughline.files/,
  );
  await pool.query("alter table throughline.records rename column body to content");
  const strange = await examined(store, home);
  assert.deepEqual([strange.code, strange.damaged, strange.failed], [1, false, true]);
  assert.match(strange.check("store.open")?.says ?? "", /42703/);
});

test("doctor waits for a locked table no longer than its deadline, and says that it could not ask", {
  skip,
  timeout: 60_000,
}, async (t) => {
  const { store, pool } = await kept(t);
  const client = await pool.connect();
  await client.query("begin; lock table throughline.migrations in access exclusive mode");
  const limits = { statementMs: 200, silenceMs: 20_000 };
  const [check] = await checkStore(parsePostgresUrl(store, "--store"), limits);
  client.release(true);
  assert.equal(check?.status, "failed");
  assert.match(check.says, /cannot be asked \(57014\)$/);
});

test("a database that hangs while doctor asks it is given up, and its connection closed", {
  timeout: 20_000,
}, async () => {
  const released: unknown[] = [];
  const client = {
    on: () => client,
    query: () => new Promise(() => undefined),
    release: (how: unknown) => released.push(how),
  };
  const pool = { connect: async () => client } as unknown as pg.Pool;
  const location = parsePostgresUrl("postgres://me@db/x", "--store");
  const asked = checkDatabase(pool, location, { statementMs: 4_500, silenceMs: 50 });
  await assert.rejects(asked, { message: "no answer within 50 ms" });
  assert.deepEqual(released, [true]);
});
