// What search finds while words are missing, and where words are after they were stored.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import type pg from "pg";
import { DyingPool } from "../../test/support/dying-pool.ts";
import { onlyNotifications } from "../../test/support/pool-notifications.ts";
import { serverOf } from "../../test/support/postgres-logs.ts";
import { databaseOf } from "../../test/support/test-database.ts";
import { noPostgres, withPostgres } from "../../test/support/test-postgres.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import { found, message, removal } from "../testing/log-store-contract-fixtures.ts";
import type { PostgresClient, PostgresPool } from "./pool.ts";
import { ensureSchema } from "./schema.ts";
import { storeMissingWords } from "./unindexed.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const url = (await server?.newDatabase()) ?? "";
const pool = server?.pool(url, { max: 8 }) as pg.Pool;
let count = 0;

before(async () => {
  pool?.setMaxListeners(0);
  if (skip === undefined) await ensureSchema(databaseOf(pool), true);
});

function newCompanion(): string {
  return `companion-${++count}`;
}

type Server = ReturnType<typeof serverOf>;

/** The seqs of the records that have words, by log. */
async function indexed(companion: string): Promise<Record<string, number[]>> {
  const { rows } = await pool.query(
    `select key, array_agg(seq::int order by seq) as seqs from throughline.records
     where companion = $1 and words is not null group by key`,
    [companion],
  );
  return Object.fromEntries(rows.map(({ key, seqs }) => [key, seqs]));
}

/** Stores every word that is missing. */
async function storeAll({ place }: Server): Promise<void> {
  while (await storeMissingWords(place));
  const text = `select key from throughline.logs where companion = $1 and unindexed_after is not null`;
  assert.deepEqual((await pool.query(text, [place.companion])).rows, []);
}

test("search finds what another server appended and has not indexed: everywhere and in one log", {
  skip,
}, async () => {
  const companion = newCompanion();
  const [one, other] = [serverOf(pool, companion), serverOf(pool, companion)];
  await one.log.append("a", [message("a1", "tea"), message("a2", "coffee"), message("a3", "tea")]);
  await one.log.append("b", [message("b1", "green tea")], { head: { updated_at: "2026-01-01" } });
  assert.deepEqual(await indexed(companion), {});
  assert.deepEqual(await found(other.log, "tea"), ["b1", "a3", "a1"]);
  assert.deepEqual(await found(other.log, "tea", "a"), ["a3", "a1"]);
  assert.deepEqual(await found(other.log, "coffee green"), []);
  await storeAll(other);
  assert.deepEqual(await indexed(companion), { a: [1, 2, 3], b: [1] });
  await one.log.append("a", [message("a4", "more tea")]);
  assert.deepEqual(await indexed(companion), { a: [1, 2, 3], b: [1] });
  assert.deepEqual(await found(other.log, "tea"), ["b1", "a4", "a3", "a1"]);
  assert.deepEqual(await found(one.log, "tea", "a"), ["a4", "a3", "a1"]);
});

test("a process killed after any statement of storing words has lost none; the next stores the rest", {
  skip,
}, async () => {
  const companion = newCompanion();
  const alive = serverOf(pool, companion);
  const expected: string[] = [];
  for (let statements = 1, died = true; died; statements++) {
    await alive.log.append("a", [message(`a${statements}`, "tea")]);
    await alive.log.append(`b${statements}`, [message(`b${statements}`, "tea")]);
    expected.push(`a${statements}`, `b${statements}`);
    const dying = new DyingPool(pool, statements);
    await storeMissingWords({ ...alive.place, database: databaseOf(dying) }).catch(() => false);
    died = dying.isDead;
    assert.deepEqual((await found(alive.log, "tea")).sort(), [...expected].sort());
  }
  assert.ok(expected.length >= 12, "it died at least five times");
  await storeAll(alive);
  assert.equal(Object.values(await indexed(companion)).flat().length, expected.length);
  assert.deepEqual((await found(alive.log, "tea")).sort(), expected.sort());
});

test("erasing, hiding or deleting what has no words yet leaves none behind", { skip }, async () => {
  const companion = newCompanion();
  const here = serverOf(pool, companion);
  await here.log.append("a", [message("m1", "tea"), message("m2", "tea"), message("m3", "tea")]);
  await here.log.append("b", [message("m1", "tea")]);
  await here.log.erase("a", ["m1"]);
  await here.log.append("a", [removal("r", "m2")]);
  await here.log.delete("b");
  assert.deepEqual(await found(here.log, "tea"), ["m3"]);
  await storeAll(here);
  assert.deepEqual(await indexed(companion), { a: [3] });
  assert.deepEqual(await found(here.log, "tea"), ["m3"]);
});

test("erasing a removal shows what it hid, with words and without", { skip }, async () => {
  const companion = newCompanion();
  const here = serverOf(pool, companion);
  await here.log.append("a", [message("m1", "tea")]);
  await here.log.append("a", [removal("r1", "m1"), message("m2", "tea"), removal("r2", "m2")]);
  await here.log.erase("a", ["r1"]);
  assert.deepEqual(await found(here.log, "tea"), ["m1"]);
  await storeAll(here);
  assert.deepEqual(await found(here.log, "tea"), ["m1"]);
  await here.log.erase("a", ["r2"]);
  assert.deepEqual(await found(here.log, "tea"), ["m2", "m1"]);
});

/** What may happen between reading records and storing their words; and what has words then. */
const meanwhile: readonly [
  says: string,
  event: (log: LogStore, here: Server) => Promise<unknown>,
  words: readonly number[],
  finds: readonly string[],
][] = [
  ["nothing", async () => undefined, [1, 2], ["m2", "m1"]],
  ["another append", (log) => log.append("a", [message("m3", "tea")]), [1, 2], ["m3", "m2", "m1"]],
  ["an erasure", (log) => log.erase("a", ["m1"]), [2], ["m2"]],
  ["a removal", (log) => log.append("a", [removal("r", "m1")]), [2], ["m2"]],
  ["a deletion", (log) => log.delete("a"), [], []],
  [
    "a deletion and a new log of the same key",
    async (log) => {
      await log.delete("a");
      await log.append("a", [message("n1", "tea"), message("n2", "milk"), message("n3", "tea")]);
    },
    [],
    ["n3", "n1"],
  ],
  ["the same by another process", (_, here) => storeMissingWords(here.place), [1, 2], ["m2", "m1"]],
];

for (const [says, event, words, finds] of meanwhile) {
  test(`${says}, between reading records and storing their words: seqs ${JSON.stringify(words)} have words, search finds ${JSON.stringify(finds)}`, {
    skip,
  }, async () => {
    const companion = newCompanion();
    const here = serverOf(pool, companion);
    await here.log.append("a", [message("m1", "tea"), message("m2", "tea")]);
    const paused = new PausingPool("for update skip locked", () => event(here.log, here));
    await storeMissingWords({ ...here.place, database: databaseOf(paused) });
    assert.equal(paused.hasPaused, true);
    assert.deepEqual((await indexed(companion))["a"] ?? [], words);
    assert.deepEqual(await found(here.log, "tea"), finds);
    await storeAll(here);
    assert.deepEqual(await found(here.log, "tea"), finds);
    assert.deepEqual(await found(here.log, "tea", "a"), finds);
  });
}

test("a log that is being written is passed over, and found in all the same", {
  skip,
}, async () => {
  const companion = newCompanion();
  const here = serverOf(pool, companion);
  await here.log.append("a", [message("m1", "tea")]);
  const client = await pool.connect();
  await client.query("begin");
  await client.query("select 1 from throughline.logs where companion = $1 for update", [companion]);
  assert.equal(await storeMissingWords(here.place), false);
  assert.deepEqual(await found(here.log, "tea"), ["m1"]);
  await client.query("commit");
  client.release();
  await storeAll(here);
  assert.deepEqual(await indexed(companion), { a: [1] });
});

test("1,000 records of a log and 100 logs of one get their words in turns of at most 64 records", {
  skip,
}, async () => {
  const companion = newCompanion();
  const here = serverOf(pool, companion);
  const many = Array.from({ length: 1_000 }, (_, i) => message(`m${i + 1}`, "tea"));
  await here.log.append("a", many);
  await Promise.all(
    Array.from({ length: 100 }, (_, i) => here.log.append(`b${i}`, [message("m", "tea")])),
  );
  let before = 0;
  for (let more = true; more; ) {
    more = await storeMissingWords(here.place);
    const now = Object.values(await indexed(companion)).flat().length;
    assert.ok(now > before && now <= before + 64, `${before} records have words, then ${now}`);
    before = now;
  }
  assert.equal(before, 1_100);
});

/** A pool that does something else before the first statement with this text. */
class PausingPool implements PostgresPool {
  readonly on = () => undefined;
  readonly removeListener = () => undefined;
  hasPaused = false;
  readonly #text: string;
  readonly #event: () => Promise<unknown>;

  constructor(text: string, event: () => Promise<unknown>) {
    this.#text = text;
    this.#event = event;
  }

  async connect(): Promise<PostgresClient> {
    const client = await pool.connect();
    return {
      release: (destroy) => client.release(destroy),
      on: onlyNotifications(client),
      query: async (statement) => {
        if (!this.hasPaused && statement.text.includes(this.#text)) {
          this.hasPaused = true;
          await this.#event();
        }
        return client.query(statement);
      },
    };
  }
}

test("of two logs with two records of 600,000 bytes each, the words are stored log by log, all in the end", {
  skip,
}, async () => {
  const companion = newCompanion();
  const here = serverOf(pool, companion);
  const long = (id: string) => message(id, `tea ${"x".repeat(600_000)}`);
  await here.log.append("a", [long("a1"), long("a2")]);
  await here.log.append("b", [long("b1"), long("b2")]);
  assert.equal(await storeMissingWords(here.place), true);
  assert.deepEqual(Object.values(await indexed(companion)), [[1, 2]]);
  await storeAll(here);
  assert.deepEqual(await indexed(companion), { a: [1, 2], b: [1, 2] });
});
