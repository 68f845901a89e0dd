// Rule 25 and F4, F5, F6: errors by their class, raised by a real server; deadlines; settings.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type pg from "pg";
import { databaseOf } from "../../test/support/test-database.ts";
import { testDatabase } from "../../test/support/test-postgres.ts";
import { systemClock } from "../core/clock.ts";
import { silentLogger } from "../core/logger.ts";
import { systemTimers, type Timers } from "../core/timers.ts";
import {
  contractProjection,
  listed,
  message,
  refuses,
} from "../testing/log-store-contract-fixtures.ts";
import type { Database } from "./database.ts";
import { errorClass, errorCode } from "./error-class.ts";
import type { PostgresClient, PostgresPool } from "./pool.ts";
import { openPostgresStorage } from "./postgres.ts";

const { skip, server, url, pool } = await testDatabase();
const newPool = (options?: pg.PoolConfig) => server?.pool(url, options) as pg.Pool;
const shared = databaseOf(pool);
const now = () => performance.now();

/** Raises this error on the server the first time, and answers the second. */
async function raisedOnce(database: Database, sqlState: string): Promise<number> {
  let runs = 0;
  await database.attempt(async (connection) => {
    runs++;
    if (runs > 1) return;
    const text = `do $$ begin raise exception 'raised' using errcode = '${sqlState}'; end $$`;
    await connection.store({ text });
  });
  return runs;
}

for (const [sqlState, what] of [
  ["40001", "a serialization failure"],
  ["40P01", "a deadlock"],
  ["08006", "a connection failure"],
  ["57P01", "an administrator's shutdown"],
  ["57P02", "a crash shutdown"],
  ["57P03", "a server that starts"],
  ["53300", "too many connections"],
  ["55P03", "a lock that is not available"],
  ["25006", "a server that takes no writes"],
] as const) {
  test(`after ${what} (${sqlState}) the work is done again, and ends well`, { skip }, async () => {
    assert.equal(await raisedOnce(shared, sqlState), 2);
  });
}

for (const [sqlState, what, code] of [
  ["53100", "a full disk", "THROUGHLINE_UNAVAILABLE"],
  ["53200", "no memory", "THROUGHLINE_UNAVAILABLE"],
  ["57014", "a statement that took too long", "THROUGHLINE_UNAVAILABLE"],
  ["58030", "a disk that fails", "THROUGHLINE_UNAVAILABLE"],
  ["42501", "a missing right", "THROUGHLINE_CONFIGURATION"],
  ["42P01", "a missing table", "THROUGHLINE_CONFIGURATION"],
] as const) {
  test(`${what} (${sqlState}) is ${code} at once, and is not tried again`, { skip }, async () => {
    await refuses(code, raisedOnce(shared, sqlState));
  });
}

test("an error of a socket, which has a code of five letters too, is a lost connection", () => {
  assert.equal(errorClass(Object.assign(new Error("write"), { code: "EPIPE" })), "reconnect");
});

for (const code of [
  ...["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_GET_ISSUER_CERT"],
  ...["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "CERT_REVOKED"],
  ...["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID", "ERR_TLS_CERT_ALTNAME_INVALID", "INVALID_CA"],
  ...["HOSTNAME_MISMATCH", "CRL_HAS_EXPIRED", "PATH_LENGTH_EXCEEDED", "INVALID_PURPOSE"],
]) {
  test(`a certificate that is refused with ${code} is a mistake of somebody, and TLS is named`, () => {
    const error = Object.assign(new Error("no"), { code });
    assert.deepEqual([errorClass(error), errorCode(error)], ["surface", `TLS ${code}`]);
  });
}

for (const sslmode of ["prefer", "require", "verify-full"]) {
  test(`a server without TLS is CONFIGURATION at once with sslmode=${sslmode}, and TLS is named`, {
    skip,
  }, async () => {
    const started = now();
    const pool = server?.pool(`${url}?sslmode=${sslmode}`) as pg.Pool;
    await assert.rejects(databaseOf(pool).query({ text: "select 1" }), {
      code: "THROUGHLINE_CONFIGURATION",
      message: "the database failed (TLS NOT_SUPPORTED)",
    });
    assert.ok(now() - started < 5_000);
  });
}

test("a terminated backend costs a caller nothing: the call goes on over another one", {
  skip,
}, async () => {
  let runs = 0;
  const rows = await shared.attempt(async (connection) => {
    if (++runs === 1) {
      const pid = connection.backend?.pid;
      await pool.query("select pg_terminate_backend($1, 5000)", [pid]);
    }
    return connection.run({ text: "select 1 as one" });
  });
  assert.deepEqual([runs, rows[0]?.["one"]], [2, 1]);
});

test("of two transactions that wait for each other, both end well", { skip }, async () => {
  await pool.query("create table pairs (id int primary key, n int)");
  await pool.query("insert into pairs values (1, 0), (2, 0)");
  const meet = Promise.withResolvers<void>();
  let met = 0;
  const change = (database: Database, ids: readonly number[]) =>
    database.transaction(async (connection) => {
      for (const id of ids) {
        await connection.run({ text: "update pairs set n = n + 1 where id = $1", values: [id] });
        if (++met === 2) meet.resolve();
        await meet.promise;
      }
    });
  const database = shared;
  await Promise.all([change(database, [1, 2]), change(database, [2, 1])]);
  const { rows } = await pool.query("select n from pairs order by id");
  assert.deepEqual(rows, [{ n: 2 }, { n: 2 }]);
});

test("a statement that takes longer than its deadline of 150 ms is UNAVAILABLE, and over", {
  skip,
}, async () => {
  const started = now();
  await refuses(
    "THROUGHLINE_UNAVAILABLE",
    databaseOf(newPool({ max: 1 }), 300).query({ text: "select pg_sleep(20) as slow_statement" }),
  );
  assert.ok(now() - started < 5_000);
  // The server hears of it over a connection of its own.
  const running =
    "select 1 from pg_stat_activity where query like '%slow_statement' and state = 'active'";
  while ((await pool.query(running)).rows.length > 0) {
    assert.ok(now() - started < 10_000, "the statement goes on");
    await setTimeout(20);
  }
});

test("a database without fsync is refused, and opened at the durability `process`", {
  skip: skip ?? (process.env["DATABASE_URL"] === undefined ? false : "a server of others"),
}, async () => {
  await refuses("THROUGHLINE_CONFIGURATION", openPostgresStorage({ pool }));
  await (await openPostgresStorage({ pool, durability: "process" })).close();
});

test("a database without synchronous commits is refused, and the message says so", {
  skip,
}, async () => {
  const weak = newPool({ options: "-c synchronous_commit=off" });
  await assert.rejects(openPostgresStorage({ pool: weak }), /synchronous_commit/);
});

for (const [aheadMs, what, says] of [
  [1_500, "opens", undefined],
  [-1_500, "opens", undefined],
  [10_000, "warns", /^this machine's clock is \d+(\.\d+)? s ahead of the database's/],
  [-10_000, "warns", /^this machine's clock is \d+(\.\d+)? s behind the database's/],
  [65_000, "is refused", /s ahead of the database's: set both by NTP$/],
  [-65_000, "is refused", /s behind the database's: set both by NTP$/],
] as const) {
  test(`a server whose clock is ${aheadMs} ms ahead of the database's ${what}`, {
    skip,
  }, async () => {
    const said: string[] = [];
    const logger = { ...silentLogger, warn: (_: object, message: string) => said.push(message) };
    const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    const opening = openPostgresStorage({ pool, durability: "process", logger, clock });
    if (what === "is refused") {
      await assert.rejects(opening, { code: "THROUGHLINE_CONFIGURATION", message: says });
      return;
    }
    await (await opening).close();
    assert.equal(said.length, says === undefined ? 0 : 1);
    if (says !== undefined) assert.match(said[0] ?? "", says);
  });
}

test("a server that does not get what it notifies itself is refused, and leaves no connection taken", {
  skip,
}, async () => {
  const own = newPool();
  const soon = (ms: number) => (ms === 5_000 ? 50 : ms);
  const timers: Timers = { after: (ms, ...more) => systemTimers.after(soon(ms), ...more) };
  // It passes on statements and answers, as a pooler does that gives each transaction another connection.
  const connect = async (): Promise<PostgresClient> => {
    const client = await own.connect();
    const release = (destroy?: boolean) => client.release(destroy);
    return { query: (statement) => client.query(statement), release, on: () => undefined };
  };
  const deaf: PostgresPool = { connect, on: () => undefined };
  await assert.rejects(openPostgresStorage({ pool: deaf, durability: "process", timers }), {
    code: "THROUGHLINE_CONFIGURATION",
    message: /PgBouncer must be in session mode/,
  });
  assert.equal(own.idleCount, own.totalCount);
});

test("a document that was set aside is kept until it is deleted or its copies are forgotten", {
  skip,
}, async () => {
  await using storage = await openPostgresStorage({
    pool,
    companion: "aside",
    durability: "process",
  });
  const documents = storage.documents("session");
  const setAside = () => storage.documents("quarantine").read("session/state");
  for (const forget of ["forgetCopies", "delete"] as const) {
    await documents.write("state", { mood: "wrong" });
    assert.equal(await documents.read("state", () => "it is wrong"), undefined);
    assert.deepEqual((await setAside())?.value, { mood: "wrong" });
    await documents[forget]("state");
    assert.equal(await setAside(), undefined);
  }
});

test("each of two companions sees nothing of the other's logs, documents, files and leases", {
  skip,
}, async () => {
  const open = (companion: string) =>
    openPostgresStorage({ pool, companion, durability: "process" });
  await using ada = await open("ada");
  await using bob = await open("bob");
  const [logA, logB] = [ada, bob].map((each) => each.logs("chats", contractProjection));
  const [documentsA, documentsB] = [ada, bob].map((each) => each.documents("session"));
  await logA?.append("telegram:42", [message("m1", "the same words")]);
  await documentsA?.write("state", { mood: 1 });
  assert.equal(await logB?.tail("telegram:42", 1), undefined);
  assert.deepEqual(await logB?.search("same words", { limit: 10 }), []);
  assert.deepEqual(logB && (await listed(logB)), []);
  assert.equal(await logB?.find("telegram:42", "m1"), undefined);
  assert.deepEqual(await documentsB?.keys(), []);
  await ada.files("chats").put("telegram:42", Buffer.from("a picture"));
  assert.deepEqual(await bob.files("chats").list("telegram:42"), []);
  assert.deepEqual(await Array.fromAsync(bob.files("chats").keys()), []);
  const lease = await ada.leases.acquire({ collection: "chats", key: "telegram:42" });
  assert.notEqual(
    await bob.leases.tryAcquire({ collection: "chats", key: "telegram:42" }),
    undefined,
  );
  assert.equal(await logB?.append("telegram:42", [message("m1", "other words")]), 1);
  assert.equal(await logB?.delete("telegram:42"), true);
  assert.equal(await documentsB?.delete("state"), false);
  assert.equal((await logA?.tail("telegram:42", 1))?.seq, 1);
  assert.equal((await documentsA?.read("state"))?.revision, 1);
  assert.equal((await ada.files("chats").list("telegram:42")).length, 1);
  assert.equal(lease.lost.aborted, false);
});

test("an idle connection that ends is logged by the storage that was opened last on the pool", {
  skip,
}, async () => {
  const pool = newPool();
  const said: string[] = [];
  const opened = (companion: string) => {
    const warn = (_: object, says: string) => said.push(`${companion}: ${says}`);
    const logger = { ...silentLogger, warn };
    return openPostgresStorage({ pool, durability: "process", companion, logger });
  };
  await (await opened("first")).close();
  const last = await opened("last");
  pool.emit("error", new Error("lost"));
  await last.close();
  assert.deepEqual(said, ["last: an idle connection to the database ended"]);
});
