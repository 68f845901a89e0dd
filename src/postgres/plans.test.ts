// How many rows each statement of the driver reads where a database holds many chats and a long one.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import type pg from "pg";
import { noPostgres, withPostgres } from "../../test/support/test-postgres.ts";
import type { Storage } from "../core/storage/storage.ts";
import { contractProjection, message, removal } from "../testing/log-store-contract-fixtures.ts";
import { openPostgresStorage } from "./postgres.ts";
import { placesOf, scopeOf } from "./words.ts";

const skip =
  noPostgres() ?? (process.env["DATABASE_URL"] === undefined ? undefined : "a server of others");
const server = skip === undefined ? await withPostgres() : undefined;
const size = process.env["THROUGHLINE_FULL"] === "1" ? 1 : 0.1;
const [chats, length] = [100_000 * size, 200_000 * size];
const seed = randomBytes(4).readUInt32BE();
const key = "long";

/** The server sends with each answer how it was made, by a plan that does not know the values. */
const explaining = [
  ...["session_preload_libraries=auto_explain", "plan_cache_mode=force_generic_plan"],
  ...["auto_explain.log_min_duration=0", "auto_explain.log_analyze=on"],
  ...["auto_explain.log_timing=off", "auto_explain.log_format=json"],
  "auto_explain.log_level=notice",
].map((each) => `-c ${each}`);

interface PlanNode {
  readonly "Node Type": string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

interface Explained {
  readonly "Query Text": string;
  readonly Plan: PlanNode;
}

/** What all scans of a plan returned, and what they and the joins looked at in vain. */
function rowsRead(node: PlanNode): number {
  const found = node["Node Type"].endsWith("Scan") ? node["Actual Rows"] : 0;
  const removed =
    (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Join Filter"] ?? 0);
  const below = (node.Plans ?? []).map(rowsRead);
  return below.reduce((sum, rows) => sum + rows, (found + removed) * node["Actual Loops"]);
}

/** SQL that stores chats of one record each, and a long one, of which every hundredth record hides one. */
function fillings(): readonly string[] {
  const scope = scopeOf("default", "chats");
  const words = `'word' || n % 7 || case when n % 400 = 0 then ' rare ' else ' ' end || md5(n || '${seed}')`;
  const body = `json_build_object('id', 'm' || n, 'content', ${words})::text`;
  const lexemes = (place: string) =>
    `array_to_tsvector(array['~${scope}', ${place}] || string_to_array(${words}, ' '))`;
  const [, long] = placesOf(scope, key).split(" ");
  const other = `'=' || left(encode(sha256(convert_to('${scope}chat-' || n, 'UTF8')), 'hex'), 16)`;
  const logs = `insert into throughline.logs
    (companion, collection, key, seq, head, sorted_at, labels) select 'default', 'chats',`;
  const records = `insert into throughline.records
    (companion, collection, key, seq, id, body, hides, words) select 'default', 'chats',`;
  return [
    `${logs} 'chat-' || n, 1, '{}', lpad(n::text, 9, '0'), '{}' from generate_series(1, ${chats}) n`,
    `${logs} '${key}', ${length}, '{}', '999999999', '{}'`,
    `${records} 'chat-' || n, 1, 'm' || n, ${body}, null, ${lexemes(other)}
      from generate_series(1, ${chats}) n`,
    `${records} '${key}', n, 'm' || n, ${body}, case when n % 100 = 0 then 'm' || n - 50 end,
      ${lexemes(`'${long}'`)} from generate_series(1, ${length}) n`,
  ];
}

/** Calls of the driver, and the most rows that one statement of them may read. */
function calls(storage: Storage, round: number): Record<string, [number, () => Promise<unknown>]> {
  const logs = storage.logs("chats", contractProjection);
  const documents = storage.documents("session");
  const files = storage.files("chats");
  const held = Array.from({ length: 200 }, (_, i) => ({ collection: "chats", key: `chat-${i}` }));
  const ids = (count: number) => Array.from({ length: count }, (_, i) => `m${i * 7 + 1}`);
  const many = Array.from({ length: 300 }, (_, i) => message(`many-${round}-${i}`, `lorem ${i}`));
  const search = async (words: string, limit: number, where?: string) => {
    const found = await logs.search(words, where === undefined ? { limit } : { limit, key: where });
    assert.equal(found.length > 0, words !== "nothing");
  };
  /** Index, table and order of the hits: a common word costs what it finds, whatever the table holds. */
  const common = (3 * length) / 7 + 1_000;
  return {
    "find one": [3, () => logs.find(key, `m${length - 3}`)],
    "find fifty": [150, () => logs.findAll(key, ids(50))],
    tail: [110, () => logs.tail(key, 50)],
    "page before": [110, () => logs.page(key, { before: length - 5, limit: 50 })],
    "page after": [110, () => logs.page(key, { after: length - 500, limit: 50 })],
    read: [1_010, () => Array.fromAsync(logs.read(key, { after: length - 2_000 }))],
    list: [
      60,
      async () => {
        const { cursor = "" } = await logs.list({ limit: 50 });
        assert.equal((await logs.list({ limit: 50, cursor })).rows.length, 50);
      },
    ],
    "list a label": [60, async () => logs.list({ limit: 50, label: "unanswered" })],
    append: [10, () => logs.append(key, [message(`one-${round}`)])],
    "append again": [10, () => logs.append(key, [message(`one-${round}`)])],
    "append where it ends": [
      10,
      async () => {
        const { seq: expectedSeq = 0 } = (await logs.tail(key, 0)) ?? {};
        await logs.append(key, [message(`end-${round}`)], { expectedSeq });
      },
    ],
    "append many": [310, () => logs.append(key, many)],
    "append what hides": [10, () => logs.append(key, [removal(`hides-${round}`, "m78")])],
    "append to twenty": [
      200,
      () => Promise.all(held.slice(9, 29).map((at) => logs.append(at.key, [message(`a${round}`)]))),
    ],
    "search what was stored a moment ago": [2_000, () => search("lorem", 20)],
    "search a rare word": [length / 100, () => search("rare", 20)],
    "search all of a rare word": [(chats + length) / 25, () => search("rare", 1_000)],
    "search no word": [50, () => search("nothing", 20)],
    "search a common word": [common, () => search("word3", 20)],
    "search a rare word in a chat": [length / 100, () => search("rare", 20, key)],
    "search no word in a chat": [10, () => search("nothing", 20, key)],
    "search a common word in a chat": [common, () => search("word3", 20, key)],
    erase: [20, () => logs.erase(key, [`m${300 + round}`, `m${600 * round}`, `hides-${round}`])],
    documents: [
      10,
      async () => {
        await documents.write("state", { a: 1 }, { expectedRevision: 0 });
        await documents.write("state", { a: 2 }, { expectedRevision: 1 });
        await documents.write("state", { a: 3 });
        assert.deepEqual(
          [(await documents.read("state"))?.revision, await documents.keys()],
          [3, ["state"]],
        );
        await documents.delete("state");
      },
    ],
    files: [
      10,
      async () => {
        const hash = await files.put(key, randomBytes(1_000));
        await files.get(key, hash);
        assert.equal((await files.list(key)).length, 1);
        assert.deepEqual(await Array.fromAsync(files.keys()), [key]);
        await files.delete(key, [hash]);
      },
    ],
    leases: [
      2_600,
      async () => {
        const leases = await Promise.all(held.map((name) => storage.leases.acquire(name)));
        await once(heartbeats, "beat");
        await Promise.all(leases.map((lease) => lease.release()));
      },
    ],
    "delete a chat": [10, () => logs.delete(`chat-${500 + round}`)],
    // By 10,000 records: each is found by its number, and removed by its place.
    "delete the long chat": [20_000, async () => round === 2 && logs.delete(key)],
  };
}

const heartbeats = new EventTarget();

test(`each statement reads what it answers: ${chats} chats, one of them with ${length} messages`, {
  skip: skip ?? false,
  timeout: 600_000,
}, async (t) => {
  t.diagnostic(`seed ${seed}`);
  const url = (await server?.newDatabase()) ?? "";
  const admin = server?.pool(url) as pg.Pool;
  const pool = server?.pool(url, { options: explaining.join(" "), max: 4 }) as pg.Pool;
  const plans: Explained[] = [];
  /** Heartbeats go over the connection that listens, which stays out of the pool. */
  const prepared = new Set(["throughline_lease_beat"]);
  pool.on("connect", (client) => {
    client.on("notice", ({ message: said = "" }) => {
      if (!said.includes("plan:")) return;
      const plan: Explained = JSON.parse(said.slice(said.indexOf("{")));
      plans.push(plan);
      if (plan["Query Text"].includes("was_alive")) heartbeats.dispatchEvent(new Event("beat"));
    });
  });
  const open = () => openPostgresStorage({ pool, durability: "process" });
  await (await open()).close();
  for (const text of fillings()) await admin.query(text);
  for (const round of [1, 2]) {
    if (round === 2) await admin.query("analyze");
    await using storage = await open();
    for (const [call, [most, run]] of Object.entries(calls(storage, round))) {
      plans.length = 0;
      await run();
      for (const { Plan, "Query Text": text } of plans) {
        const read = rowsRead(Plan);
        const when = round === 1 ? "before ANALYZE" : "after ANALYZE";
        assert.ok(read <= most, `${call}, ${when}: one statement reads ${read} rows\n${text}`);
      }
    }
    const clients = await Promise.all([1, 2, 3].map(() => pool.connect()));
    for (const client of clients) {
      const { rows } = await client.query("select name from pg_prepared_statements");
      for (const { name } of rows) prepared.add(name);
      client.release();
    }
  }
  const sources = globSync("src/postgres/*.ts")
    .map((path) => readFileSync(path, "utf8"))
    .join("");
  const named = [...sources.matchAll(/name: "(throughline_\w+)"/g)].map(([, name]) => name);
  assert.deepEqual(
    named.filter((name) => !prepared.has(name ?? "")),
    ["throughline_tell"],
  );
});
