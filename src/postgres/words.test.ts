// Which records of a database have words: those that search may find, as soon as they are stored.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type pg from "pg";
import { serverOf } from "../../test/support/postgres-logs.ts";
import { databaseOf } from "../../test/support/test-database.ts";
import { noPostgres, withPostgres } from "../../test/support/test-postgres.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import { found, message, removal } from "../testing/log-store-contract-fixtures.ts";
import { ensureSchema } from "./schema.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const pool = server?.pool((await server?.newDatabase()) ?? "") as pg.Pool;
let count = 0;

before(async () => {
  pool?.setMaxListeners(0);
  if (skip === undefined) await ensureSchema(databaseOf(pool));
});

const tea = (id: string) => message(id, "tea");

const cases: readonly [
  says: string,
  write: (log: LogStore) => Promise<unknown>,
  /** Numbers of the records of log `a` that have words. */
  words: readonly number[],
  finds: readonly string[],
][] = [
  ["a batch", (log) => log.append("a", [tea("1"), tea("2")]), [1, 2], ["2", "1"]],
  [
    "a removal in a later append",
    async (log) => {
      await log.append("a", [tea("1"), tea("2")]);
      await log.append("a", [removal("r", "1")]);
    },
    [2],
    ["2"],
  ],
  [
    "a removal that is erased",
    async (log) => {
      await log.append("a", [tea("1"), removal("r", "1"), tea("2"), removal("s", "2")]);
      await log.erase("a", ["r"]);
    },
    [1],
    ["1"],
  ],
  [
    "an erased message",
    async (log) => {
      await log.append("a", [tea("1"), tea("2")]);
      await log.erase("a", ["1"]);
    },
    [2],
    ["2"],
  ],
];

for (const [says, write, words, finds] of cases) {
  test(`${says}: records ${JSON.stringify(words)} have words`, { skip }, async () => {
    const companion = `companion-${++count}`;
    await write(serverOf(pool, companion).log);
    const { rows } = await pool.query(
      "select seq::int from throughline.records where companion = $1 and words is not null order by seq",
      [companion],
    );
    assert.deepEqual(
      rows.map(({ seq }) => seq),
      words,
    );
    assert.deepEqual(await found(serverOf(pool, companion).log, "tea"), finds);
  });
}
