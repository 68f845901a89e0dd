// Appends that go to the database together: each is stored or refused as if it had gone alone.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { serverOf } from "../../test/support/postgres-logs.ts";
import { databaseOf } from "../../test/support/test-database.ts";
import { testDatabase } from "../../test/support/test-postgres.ts";
import { WatchedPool } from "../../test/support/watched-pool.ts";
import type { Loss } from "../../test/support/wrapped-pool.ts";
import { errorName } from "../core/errors.ts";
import { nameText } from "../core/storage/leases.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import {
  everything,
  message,
  messages,
  numbered,
  refuses,
} from "../testing/log-store-contract-fixtures.ts";
import { seededRandom } from "../testing/random.ts";
import { ensureSchema } from "./schema.ts";

const { skip, pool } = await testDatabase({ max: 8 });
let count = 0;

before(async () => {
  pool?.setMaxListeners(0);
  if (skip === undefined) await ensureSchema(databaseOf(pool));
});

/** One server with logs `a` to `f` of two messages each, and what it asks of the database. */
async function withSixLogs(timeoutMs?: number) {
  const watched = new WatchedPool(pool);
  const companion = `companion-${++count}`;
  const opened = serverOf(watched, companion, timeoutMs);
  const { log } = opened;
  for (const key of "abcdef") {
    await log.append(key, messages(1, 2), { head: { updated_at: "2026-01-01", by: key } });
  }
  watched.asked.length = 0;
  return { ...opened, log, watched, companion };
}

/** Sends an append to `a` and holds it back, so that those that come gather. */
function held({ log, watched }: { readonly log: LogStore; readonly watched: WatchedPool }) {
  const { promise: after, resolve: letGo } = Promise.withResolvers<void>();
  watched.decide("throughline_append_", { after });
  return { first: log.append("a", messages(3, 3)), letGo };
}

/** Does something while somebody else writes the log `b`. */
async function whileLocked(companion: string, work: () => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const lock = "select 1 from throughline.logs where companion = $1 and key = 'b' for update";
    await client.query(lock, [companion]);
    await work();
    await client.query("commit");
  } finally {
    client.release(true);
  }
}

const groups = ({ asked }: WatchedPool) =>
  asked.filter((name) => name === "throughline_append_group").length;

test("appends that come while one is on its way go together, by one statement", {
  skip,
}, async () => {
  const opened = await withSixLogs();
  const { log, watched } = opened;
  const { first, letGo } = held(opened);
  const others = [..."bcdef"].map((key, i) => log.append(key, messages(3, 3 + i)));
  letGo();
  assert.deepEqual(await Promise.all([first, ...others]), [3, 3, 4, 5, 6, 7]);
  assert.equal(watched.asked.length, 2, String(watched.asked));
  assert.equal(groups(watched), 1);
  for (const [i, key] of [..."bcdef"].entries()) {
    assert.deepEqual(await everything(log, key), numbered(messages(1, 3 + i)));
  }
});

test("what stands against one append of a group stands against no other", { skip }, async () => {
  const opened = await withSixLogs();
  const { log } = opened;
  const { first, letGo } = held(opened);
  const atWrongSeq = log.append("b", messages(3, 3), { expectedSeq: 1 });
  const ofUsedId = log.append("c", [message("m2", "other words")]);
  const repeated = log.append("d", messages(1, 2));
  const ofNewLog = log.append("new", messages(1, 4), { expectedSeq: 0 });
  const plain = log.append("e", messages(3, 3), { expectedSeq: 2 });
  const inPart = log.append("f", messages(2, 4));
  letGo();
  await Promise.all([
    refuses("THROUGHLINE_CONFLICT", atWrongSeq),
    refuses("THROUGHLINE_ID_CONFLICT", ofUsedId),
  ]);
  const seqs = await Promise.all([first, repeated, ofNewLog, plain, inPart]);
  assert.deepEqual(seqs, [3, 2, 4, 3, 4]);
  for (const [key, last] of Object.entries({ a: 3, b: 2, c: 2, d: 2, e: 3, f: 4, new: 4 })) {
    assert.deepEqual(await everything(log, key), numbered(messages(1, last)), key);
  }
});

test("an append under a lease that was lost is fenced in a group, the others are stored", {
  skip,
}, async () => {
  const opened = await withSixLogs();
  const { log, epochs, companion } = opened;
  const epoch = `update throughline.logs set epoch = $3, owner = 'p'
    where companion = $1 and key = $2`;
  for (const [key, newest] of [
    ["b", 7],
    ["c", 8],
    ["d", 7],
  ]) {
    await pool.query(epoch, [companion, key, newest]);
    epochs.set(nameText({ collection: "chats", key: String(key) }), 7);
  }
  const { first, letGo } = held(opened);
  const ours = log.append("b", messages(3, 3));
  const fenced = log.append("c", messages(3, 3));
  const without = log.append("e", messages(3, 3));
  const atTheEnd = log.append("d", messages(3, 3), { expectedSeq: 2 });
  letGo();
  await refuses("THROUGHLINE_FENCED", fenced);
  assert.deepEqual(await Promise.all([first, ours, without, atTheEnd]), [3, 3, 3, 3]);
  assert.deepEqual(await everything(log, "c"), numbered(messages(1, 2)));
});

test("a log that somebody is writing keeps no other append waiting", { skip }, async () => {
  const opened = await withSixLogs();
  const { log, companion, watched } = opened;
  const { first, letGo } = held(opened);
  let locked: Promise<number> | undefined;
  await whileLocked(companion, async () => {
    locked = log.append("b", messages(3, 3));
    const others = [..."cdef"].map((key) => log.append(key, messages(3, 3)));
    letGo();
    assert.deepEqual(await Promise.all([first, ...others]), [3, 3, 3, 3, 3]);
    // The first, the group without the locked one, and perhaps that one alone.
    assert.ok(watched.asked.length <= 3, String(watched.asked));
  });
  assert.equal(await locked, 3);
});

test("a record that the database refuses takes no other append with it", { skip }, async () => {
  const opened = await withSixLogs();
  const { log, companion } = opened;
  await pool.query(`alter table throughline.records add constraint no_poison
    check (companion <> '${companion}' or id <> 'poison')`);
  const { first, letGo } = held(opened);
  const poison = log.append("b", [message("poison")]);
  const others = [..."cdef"].map((key) => log.append(key, messages(3, 3)));
  letGo();
  await refuses("THROUGHLINE_CONFIGURATION", poison);
  assert.deepEqual(await Promise.all([first, ...others]), [3, 3, 3, 3, 3]);
  await pool.query("alter table throughline.records drop constraint no_poison");
});

for (const [loss, again] of [
  ["request", undefined],
  ["reply", undefined],
  ["reply", "request"],
] satisfies [Loss, Loss | undefined][]) {
  const twice = again === undefined ? "" : ", and then what settles it,";
  test(`a group whose ${loss}${twice} is lost is stored once, and each append ends as it would`, {
    skip,
  }, async () => {
    const opened = await withSixLogs();
    const { log, watched } = opened;
    const { first, letGo } = held(opened);
    watched.decide("throughline_append_group", { loss });
    if (again !== undefined) watched.decide("throughline_records_known", { loss: again });
    const atWrongSeq = log.append("b", messages(3, 3), { expectedSeq: 1 });
    const others = [..."cdef"].map((key) => log.append(key, messages(3, 4), { expectedSeq: 2 }));
    letGo();
    await refuses("THROUGHLINE_CONFLICT", atWrongSeq);
    assert.deepEqual(await Promise.all([first, ...others]), [3, 4, 4, 4, 4]);
    for (const key of "cdef") {
      assert.deepEqual(await everything(log, key), numbered(messages(1, 4)), key);
    }
    assert.deepEqual(await everything(log, "b"), numbered(messages(1, 2)));
    // What may still be at work on it is ended first.
    assert.ok(watched.asked.some((text) => text.startsWith("select pg_terminate_backend")));
  });
}

test("what waits for its group ends within its own deadline, however many wait", {
  skip,
}, async () => {
  const opened = await withSixLogs(300);
  const { log, watched, timers } = opened;
  const keys = Array.from({ length: 400 }, (_, i) => `key-${i}`);
  watched.connect = () => new Promise(() => undefined);
  const codes: unknown[] = [];
  for (const key of keys) {
    log.append(key, messages(1, 1)).catch((error) => codes.push(errorName(error)));
  }
  await timers.pass(299);
  assert.equal(codes.length, 0);
  // One after the other, 13 groups would have taken 300 ms each.
  await timers.pass(1);
  assert.deepEqual(
    codes,
    keys.map(() => "THROUGHLINE_UNAVAILABLE"),
  );
});

test("what a lost group stored under a lease is stored, whoever holds the log when it is looked for", {
  skip,
}, async () => {
  const opened = await withSixLogs();
  const { log, epochs, companion, watched } = opened;
  const setEpoch = (epoch: number) =>
    pool.query("update throughline.logs set epoch = $2 where companion = $1 and key = 'b'", [
      companion,
      epoch,
    ]);
  await setEpoch(7);
  epochs.set(nameText({ collection: "chats", key: "b" }), 7);
  const { first, letGo } = held(opened);
  watched.decide("throughline_append_group", { loss: "reply", meanwhile: () => setEpoch(8) });
  const others = [..."bc"].map((key) => log.append(key, messages(3, 3)));
  letGo();
  assert.deepEqual(await Promise.all([first, ...others]), [3, 3, 3]);
  await refuses("THROUGHLINE_FENCED", log.append("b", messages(4, 4)));
});

test("a group of which nobody knows whether it was stored is answered only when that is certain", {
  skip,
}, async () => {
  const opened = await withSixLogs();
  const { log, watched } = opened;
  const { first, letGo } = held(opened);
  const { promise: after, resolve: confirm } = Promise.withResolvers<void>();
  watched.decide("throughline_append_group", { loss: "reply" });
  for (const _ of "bc") watched.decide("select pg_logical_emit_message", { after });
  let answered = 0;
  const others = [..."bc"].map((key) => log.append(key, messages(3, 3)).finally(() => answered++));
  letGo();
  await first;
  const isConfirming = () => watched.asked.at(-1)?.startsWith("select pg_logical_emit_message");
  for (let turns = 0; turns < 100_000 && !isConfirming(); turns++) await nextTurn();
  assert.ok(isConfirming());
  assert.equal(answered, 0);
  confirm();
  assert.deepEqual(await Promise.all(others), [3, 3]);
});

test("nobody waits for more than 50 ms for an append that hangs", { skip }, async () => {
  const opened = await withSixLogs();
  const { log, timers, watched } = opened;
  const { first, letGo } = held(opened);
  const others = [..."bc"].map((key) => log.append(key, messages(3, 3)));
  await timers.pass(49);
  assert.equal(groups(watched), 0);
  await timers.pass(1);
  assert.deepEqual(await Promise.all(others), [3, 3]);
  const { promise: after, resolve: letGroupGo } = Promise.withResolvers<void>();
  watched.decide("throughline_append_", { after });
  const second = log.append("d", messages(3, 3));
  letGo();
  await first;
  // The first is back, but it is the second that is waited for now.
  const third = log.append("e", messages(3, 3));
  const asked = watched.asked.length;
  await nextTurn();
  assert.equal(watched.asked.length, asked);
  letGroupGo();
  assert.deepEqual(await Promise.all([second, third]), [3, 3]);
});

test("a group sets heads, labels and words as an append alone does", {
  skip,
}, async () => {
  const opened = await withSixLogs();
  const { log } = opened;
  const label = 'a "quoted", back\\slashed {label} é\u0000';
  const heads = {
    b: { updated_at: "2026-02-02", labels: [label, "other"], "with\u0000": "\ud800" },
    c: { updated_at: "2026-02-03", labels: [] },
    d: undefined,
  };
  const { first, letGo } = held(opened);
  const appends = Object.entries(heads).map(([key, head]) =>
    log.append(key, [message("m3", "whales")], head === undefined ? {} : { head }),
  );
  letGo();
  await Promise.all([first, ...appends]);
  const labelled = await log.list({ limit: 10, label });
  assert.deepEqual(
    labelled.rows.map(({ key, head }) => [key, head]),
    [["b", heads.b]],
  );
  const { rows } = await log.list({ limit: 2 });
  assert.deepEqual(
    rows.map(({ key }) => key),
    ["c", "b"],
  );
  assert.deepEqual((await log.tail("d", 0))?.head, { updated_at: "2026-01-01", by: "d" });
  const hits = await log.search("whales", { limit: 10 });
  assert.deepEqual(hits.map(({ key }) => key).sort(), ["b", "c", "d"]);
});

test("more than fit into a group go as several, and a log's appends stay in order", {
  skip,
}, async () => {
  const { log, watched } = await withSixLogs();
  const keys = Array.from({ length: 80 }, (_, i) => `key-${i}`);
  for (const key of keys) await log.append(key, messages(1, 1));
  watched.asked.length = 0;
  const twice = keys.flatMap((key) => [
    log.append(key, messages(2, 2), { expectedSeq: 1 }),
    log.append(key, messages(3, 3), { expectedSeq: 2 }),
  ]);
  assert.deepEqual(
    await Promise.all(twice),
    keys.flatMap(() => [2, 3]),
  );
  assert.ok(groups(watched) >= 5, String(groups(watched)));
  assert.ok(watched.asked.length < 20, String(watched.asked.length));
});

test("an append that begins a log under a lease is not one of a group", { skip }, async () => {
  const opened = await withSixLogs();
  const { log, watched, epochs, companion } = opened;
  await pool.query(
    `insert into throughline.logs (companion, collection, key, seq, head, sorted_at, labels, epoch)
     values ($1, 'chats', 'new', 0, '{}', '', '{}', 7)`,
    [companion],
  );
  epochs.set(nameText({ collection: "chats", key: "new" }), 7);
  const { first, letGo } = held(opened);
  const others = [log.append("new", messages(1, 2)), log.append("b", messages(3, 3))];
  letGo();
  assert.deepEqual(await Promise.all([first, ...others]), [3, 2, 3]);
  assert.equal(watched.asked.length, 3, String(watched.asked));
  assert.deepEqual(await everything(log, "new"), numbered(messages(1, 2)));
});

test("two servers that append to the same logs at once lose nothing and double nothing", {
  skip,
}, async () => {
  const random = seededRandom(7);
  const companion = `companion-${++count}`;
  const servers = [serverOf(pool, companion), serverOf(pool, companion)];
  const keys = [..."abcdefgh"];
  const stored = new Map(keys.map((key) => [key, [] as string[]]));
  let conflicts = 0;
  const calls = Array.from({ length: 600 }, async (_, i) => {
    const key = keys[random(keys.length)] ?? "";
    const ids = Array.from({ length: 1 + random(3) }, (_, n) => `m${i}-${n}`);
    const options = random(4) === 0 ? { expectedSeq: random(60) } : {};
    for (let turns = random(40); turns > 0; turns--) await nextTurn();
    const store = servers[random(2)]?.log;
    try {
      await store?.append(
        key,
        ids.map((id) => message(id)),
        options,
      );
      stored.get(key)?.push(...ids);
    } catch (error) {
      assert.equal(errorName(error), "THROUGHLINE_CONFLICT");
      conflicts++;
    }
  });
  await Promise.all(calls);
  assert.ok(conflicts > 0);
  for (const key of keys) {
    const records = await everything(servers[0]!.log, key);
    assert.deepEqual(records.map(({ id }) => id).sort(), stored.get(key)?.sort());
    assert.deepEqual(
      records.map(({ seq }) => seq),
      records.map((_, i) => i + 1),
    );
  }
});
