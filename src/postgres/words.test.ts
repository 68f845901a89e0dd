// Which records of a database have words: those that search may find, as soon as they are stored.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { serverOf } from "../../test/support/postgres-logs.ts";
import { databaseOf } from "../../test/support/test-database.ts";
import { testDatabase } from "../../test/support/test-postgres.ts";
import { found, message, removal } from "../testing/log-store-contract-fixtures.ts";
import { ensureSchema } from "./schema.ts";

const { skip, pool } = await testDatabase();
let count = 0;

before(async () => {
  pool?.setMaxListeners(0);
  if (skip === undefined) await ensureSchema(databaseOf(pool));
});

const tea = (id: string) => message(id, "tea");

test("records of which nobody may be told have no words: hidden ones and erased ones", {
  skip,
}, async () => {
  const companion = `companion-${++count}`;
  const { log } = serverOf(pool, companion);
  const numbers = async () => {
    const text =
      "select seq::int from throughline.records where companion = $1 and words is not null order by seq";
    return (await pool.query(text, [companion])).rows.map(({ seq }) => seq);
  };
  await log.append("a", ["1", "2", "3", "4"].map(tea));
  assert.deepEqual(await numbers(), [1, 2, 3, 4]);
  await log.append("a", [removal("r", "1")]);
  await log.append("a", [removal("s", "2"), tea("5"), removal("t", "5")]);
  assert.deepEqual(await numbers(), [3, 4]);
  await log.erase("a", ["3", "r"]);
  assert.deepEqual(await numbers(), [1, 4]);
  assert.deepEqual(await found(log, "tea"), ["4", "1"]);
});
