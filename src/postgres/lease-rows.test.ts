// What a cluster leaves in the database, and what it does when the database is away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "../../test/support/test-postgres.ts";
import type { JsonObject } from "../core/json.ts";
import type { Logger } from "../core/logger.ts";
import type { Timers } from "../core/timers.ts";
import { contractProjection, messages } from "../testing/log-store-contract-fixtures.ts";
import { openPostgresStorage, type PostgresPool } from "./postgres.ts";

const { skip: reason, server, url, pool: admin } = await testDatabase();
const skip = reason === undefined ? {} : { skip: reason };
let count = 0;

const chat = { collection: "chats", key: "telegram:42" };

/** Connections that can be taken away. */
class CutPool implements PostgresPool {
  isCut = false;
  readonly #pool: PostgresPool | undefined;

  constructor() {
    const pool = server?.pool(url, { application_name: `cut-${++count}`, max: 4 });
    pool?.on("error", () => undefined);
    this.#pool = pool;
  }

  async connect() {
    if (this.isCut || this.#pool === undefined) throw new Error("the database is away");
    return this.#pool.connect();
  }

  on(event: "error", listener: (error: Error) => void) {
    return this.#pool?.on(event, listener);
  }
}

async function join(options: {
  readonly companion: string;
  readonly pool?: PostgresPool;
  readonly leaseMs?: number;
  readonly timeoutMs?: number;
  readonly timers?: Timers;
  readonly logger?: Logger;
}) {
  const pool = options.pool ?? new CutPool();
  return openPostgresStorage({ durability: "process", ...options, pool });
}

/** A companion that no other test has. */
function newCompanion(): string {
  return `companion-${++count}`;
}

async function rows(text: string, values: unknown[]): Promise<readonly Record<string, unknown>[]> {
  return (await admin.query(text, values)).rows;
}

const endConnections = `select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = $1`;

async function leaseRows(companion: string) {
  return rows("select key, seq::int, owner, wanted from throughline.logs where companion = $1", [
    companion,
  ]);
}

test(
  "a lease on a name without a log has a row while it is held, and none when it is free",
  skip,
  async () => {
    const companion = newCompanion();
    await using storage = await join({ companion });
    const lease = await storage.leases.acquire(chat);
    const owner = storage.cluster.processId;
    assert.deepEqual(await leaseRows(companion), [{ key: chat.key, seq: 0, owner, wanted: false }]);
    await lease.release();
    assert.deepEqual(await leaseRows(companion), []);
  },
);

test(
  "a log keeps its row when its lease is free, without an owner and wanted by nobody",
  skip,
  async () => {
    const companion = newCompanion();
    await using a = await join({ companion });
    await using b = await join({ companion });
    await a.logs("chats", contractProjection).append(chat.key, messages(1, 2));
    const lease = await a.leases.acquire(chat);
    const waiting = b.leases.acquire(chat);
    while ((await leaseRows(companion))[0]?.["wanted"] !== true); // until b has asked
    await lease.release();
    await (await waiting).release();
    const free = { key: chat.key, seq: 2, owner: null, wanted: false };
    assert.deepEqual(await leaseRows(companion), [free]);
  },
);

test(
  "a name that a holder left a day ago is removed when a process joins, one of an hour ago is not",
  skip,
  async () => {
    const companion = newCompanion();
    const processes = `insert into throughline.processes (companion, process, alive_until)
      select $1, process, now() - ago::interval from (values
      ('long dead', '25 hours'), ('dead', '1 hour')) as each (process, ago)`;
    const names = `insert into throughline.logs
      (companion, collection, key, seq, head, sorted_at, labels, epoch, owner)
      select $1, 'chats', key, seq, '{}', '', '{}', 1, owner from (values
      ('old', 0, 'long dead'), ('new', 0, 'dead'), ('log', 1, 'long dead')) as each (key, seq, owner)`;
    await (await join({ companion })).close();
    await rows(processes, [companion]);
    await rows(names, [companion]);
    await using _ = await join({ companion });
    assert.deepEqual((await leaseRows(companion)).map(({ key }) => key).sort(), ["log", "new"]);
  },
);

test(
  "a name that this process took without hearing so is taken again at once, under a new epoch",
  skip,
  async () => {
    const companion = newCompanion();
    await using storage = await join({ companion, leaseMs: 600_000 });
    const text = `insert into throughline.logs
    (companion, collection, key, seq, head, sorted_at, labels, epoch, owner)
    values ($1, 'chats', $2, 0, '{}', '', '{}', 9000000000000000, $3)`;
    await rows(text, [companion, chat.key, storage.cluster.processId]);
    const lease = await storage.leases.acquire(chat);
    assert.equal(lease.epoch, 9_000_000_000_000_001);
  },
);

test(
  "a lease is released though a process that waits writes to its row at that moment",
  skip,
  async () => {
    const companion = newCompanion();
    await using storage = await join({ companion });
    await storage.logs("chats", contractProjection).append(chat.key, messages(1, 1));
    const lease = await storage.leases.acquire(chat);
    const waiting = await admin.connect();
    try {
      await waiting.query("begin");
      const note = "update throughline.logs set wanted = true where companion = $1";
      await waiting.query(note, [companion]);
      const released = lease.release();
      const blocked = `select pid from pg_stat_activity
      where wait_event_type = 'Lock' and query like '%with freed as%'`;
      while ((await rows(blocked, [])).length === 0);
      await waiting.query("commit");
      await released;
    } finally {
      waiting.release();
    }
    assert.equal((await leaseRows(companion))[0]?.["owner"], null);
  },
);

test("a storage says what it holds, waits for and was refused", skip, async () => {
  const companion = newCompanion();
  await using a = await join({ companion });
  await using b = await join({ companion });
  const log = a.logs("chats", contractProjection);
  const lease = await a.leases.acquire(chat);
  const waiting = b.leases.acquire(chat);
  while ((await leaseRows(companion))[0]?.["wanted"] !== true); // until b has asked
  assert.equal(a.figures().leases, 1);
  const gone = "update throughline.processes set alive_until = '-infinity' where process = $1";
  await rows(gone, [a.cluster.processId]);
  b.cluster.leases.missed(); // it asks again
  await waiting;
  const refused = log.append(chat.key, messages(1, 1));
  await assert.rejects(refused, { code: "THROUGHLINE_FENCED" });
  const { postgres_fenced_total: fenced, postgres_retries_total: retries } = a.figures();
  assert.deepEqual([fenced, retries, a.figures().lease_waits_total], [1, 0, 0]);
  const {
    leases,
    lease_waits_total: waits,
    postgres_missed_notifications_total: missed,
  } = b.figures();
  assert.deepEqual([leases, waits, missed], [1, 1, 0]);
  assert.deepEqual(Object.keys(a.figures()), Object.keys(b.figures()));
  await lease.release();
});

test(
  "a process that joined and took a name while another waited for its row keeps the name",
  skip,
  async () => {
    const companion = newCompanion();
    await using storage = await join({ companion });
    await storage.logs("chats", contractProjection).append(chat.key, messages(1, 1));
    const client = await admin.connect();
    await client.query("begin");
    await client.query("select from throughline.logs where companion = $1 for update", [companion]);
    const asking = storage.leases.tryAcquire(chat);
    const waits = `select from pg_stat_activity
      where application_name = $1 and wait_event_type = 'Lock'`;
    while ((await rows(waits, [`cut-${count}`])).length === 0);
    const joins =
      "insert into throughline.processes values ($1, 'late', now() + interval '1 hour')";
    await rows(joins, [companion]);
    const takes = `update throughline.logs set owner = 'late',
      epoch = (extract(epoch from clock_timestamp()) * 1000000)::bigint where companion = $1`;
    await client.query(takes, [companion]);
    await client.query("commit");
    client.release();
    assert.equal(await asking, undefined);
    assert.deepEqual(
      (await leaseRows(companion)).map(({ owner }) => owner),
      ["late"],
    );
  },
);

test("what is published is in no table, however long it is, and is heard whole", skip, async () => {
  const companion = newCompanion();
  await using a = await join({ companion });
  await using b = await join({ companion });
  const texts = ["secret ".repeat(1_500), "秘密".repeat(1_500), "secret".repeat(150_000)];
  const heard: unknown[] = [];
  const { promise: done, resolve } = Promise.withResolvers<void>();
  b.cluster.subscribe(({ text }) => {
    heard.push(text);
    if (heard.length === texts.length) resolve();
  });
  for (const text of texts) a.cluster.publish({ text });
  await done;
  assert.deepEqual(heard, texts);
  const tables = await rows(
    "select table_name from information_schema.tables where table_schema = 'throughline'",
    [],
  );
  assert.ok(tables.some(({ table_name: name }) => name === "records"));
  for (const { table_name: name } of tables) {
    const text = `select 1 from throughline.${name} as each where each::text ~ 'secret|秘密'`;
    assert.deepEqual(await rows(text, []), [], String(name));
  }
});

test(
  "a lease that cannot be freed is released here, and taken again when the database is back",
  skip,
  async () => {
    const companion = newCompanion();
    const pool = new CutPool();
    await using storage = await join({ companion, pool, leaseMs: 600_000, timeoutMs: 2_000 });
    const lease = await storage.leases.acquire(chat);
    pool.isCut = true;
    await rows(endConnections, [`cut-${count}`]);
    await lease.release();
    pool.isCut = false;
    const again = await storage.leases.acquire(chat);
    assert.equal(again.epoch > lease.epoch, true);
  },
);

test("a process whose connections are all in use keeps its leases", skip, async () => {
  const companion = newCompanion();
  const pool = new CutPool();
  await using storage = await join({ companion, pool, leaseMs: 3_000, timeoutMs: 60_000 });
  const lease = await storage.leases.acquire(chat);
  const taken = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
  const waiting = storage.logs("chats", contractProjection).tail(chat.key, 1);
  const times = new Set<string>(); // each heartbeat moves it
  const until = "select alive_until::text as at from throughline.processes where companion = $1";
  while (times.size < 5 && !lease.lost.aborted)
    times.add(String((await rows(until, [companion]))[0]?.["at"]));
  assert.equal(lease.lost.aborted, false);
  for (const client of taken) client.release();
  assert.equal(await waiting, undefined);
  await lease.release();
});

test("what others send on the channel of a companion is passed over", skip, async () => {
  const companion = newCompanion();
  await using a = await join({ companion });
  await using b = await join({ companion });
  const [listening] = await rows(
    "select query from pg_stat_activity where application_name = $1 and query like 'listen%'",
    [`cut-${count}`],
  );
  const channel = String(listening?.["query"]).split('"')[1] ?? "";
  const heard: JsonObject[] = [];
  const { promise: done, resolve } = Promise.withResolvers<void>();
  b.cluster.subscribe((message) => {
    heard.push(message);
    resolve();
  });
  for (const payload of ["", "hello", '["freed","chats","none"]', '["message","x"]']) {
    await rows("select pg_notify($1, $2)", [channel, payload]);
  }
  a.cluster.publish({ n: 1 });
  await done;
  assert.match(channel, /^throughline_[0-9a-f]{40}$/);
  assert.deepEqual(heard, [{ n: 1 }]);
});

test("what a process of one companion publishes reaches no process of another", skip, async () => {
  const other = newCompanion();
  await using a = await join({ companion: newCompanion() });
  await using b = await join({ companion: other });
  await using besideB = await join({ companion: other });
  const heard: JsonObject[] = [];
  const { promise: done, resolve } = Promise.withResolvers<void>();
  b.cluster.subscribe((message) => {
    heard.push(message);
    if (message["n"] === 2) resolve();
  });
  a.cluster.publish({ n: 1 });
  await a.close(); // by then it is sent
  besideB.cluster.publish({ n: 2 });
  await done;
  assert.deepEqual(heard, [{ n: 2 }]);
});
