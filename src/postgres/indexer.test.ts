// When words are stored, in a time that the test lets pass.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type pg from "pg";
import { serverOf } from "../../test/support/postgres-logs.ts";
import { databaseOf } from "../../test/support/test-database.ts";
import { noPostgres, withPostgres } from "../../test/support/test-postgres.ts";
import { found, message, messages } from "../testing/log-store-contract-fixtures.ts";
import { ensureSchema } from "./schema.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const url = (await server?.newDatabase()) ?? "";
const pool = server?.pool(url) as pg.Pool;
let count = 0;

before(async () => {
  pool?.setMaxListeners(0);
  if (skip === undefined) await ensureSchema(databaseOf(pool), true);
});

function newServer() {
  const companion = `companion-${++count}`;
  const own = serverOf(pool, companion);
  return {
    ...own,
    companion,
    /** How many records have words once all that this process began has ended. */
    async indexed(): Promise<number> {
      await own.calls.ended();
      const text = `select count(words)::int as count from throughline.records where companion = $1`;
      return (await pool.query(text, [companion])).rows[0].count;
    },
  };
}

test("words are stored 500 ms after the last append, not before", { skip }, async () => {
  const { log, timers, indexed } = newServer();
  await log.append("a", [message("m1")]);
  await timers.pass(400);
  await log.append("b", [message("m2")]);
  await timers.pass(499);
  assert.equal(await indexed(), 0);
  await timers.pass(1);
  assert.equal(await indexed(), 2);
  assert.equal(timers.count, 0);
});

for (const [records, words] of [
  [256, 0],
  [257, 257],
] as const) {
  test(`a search that finds ${records} records without words has ${words} of them stored first, and finds all`, {
    skip,
  }, async () => {
    const { companion, log, indexed } = newServer();
    await log.append("a", messages(1, records));
    const other = serverOf(pool, companion);
    assert.equal((await other.log.search("says", { limit: 1_000 })).length, records);
    assert.equal(await indexed(), words);
    assert.equal(other.timers.count, records === 256 ? 1 : 0);
  });
}

test("what a process that is gone left without words is done by one that searches, in its next pause", {
  skip,
}, async () => {
  const { companion, log, indexed } = newServer();
  await log.append("a", messages(1, 3));
  const other = serverOf(pool, companion);
  assert.deepEqual(await found(other.log, "m2"), ["m2"]);
  assert.equal(await indexed(), 0);
  await other.timers.pass(500);
  await other.calls.ended();
  assert.equal(await indexed(), 3);
});

test("closing waits for words that are being stored and begins none; search finds the rest", {
  skip,
}, async () => {
  const { companion, log, timers, calls, indexed } = newServer();
  await log.append("a", messages(1, 200));
  await timers.pass(500);
  await calls.close();
  const stored = await indexed();
  assert.equal(stored, 64);
  assert.equal((await serverOf(pool, companion).log.search("says", { limit: 300 })).length, 200);
});

test("a database that is full stores no words, and search finds all", { skip }, async () => {
  const { companion, log, indexed } = newServer();
  await log.append("a", messages(1, 300));
  await pool.query(`create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception using errcode = '53100'; end $$`);
  await pool.query(`create trigger full_disk before update on throughline.records
    execute function full_disk()`);
  const other = serverOf(pool, companion);
  assert.equal((await other.log.search("says", { limit: 1_000 })).length, 300);
  await pool.query("drop function full_disk cascade");
  assert.equal(await indexed(), 0);
  assert.equal((await other.log.search("says", { limit: 1_000 })).length, 300);
  assert.equal(await indexed(), 300);
});
