// What is refused before a database is asked: no database is needed here.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PostgresPool } from "./pool.ts";
import { openPostgresStorage } from "./postgres.ts";

function lonelyPool() {
  let calls = 0;
  const count = () => {
    calls++;
    throw new Error("nobody is there");
  };
  const pool = { on: count, removeListener: count, connect: count } as unknown as PostgresPool;
  return { pool, calls: () => calls };
}

for (const durability of [null, "power_cut", "off", ""]) {
  test(`durability ${JSON.stringify(durability)} is refused before the pool is used`, async () => {
    const { pool, calls } = lonelyPool();
    const options = { pool, durability: durability as "process" };
    await assert.rejects(openPostgresStorage(options), {
      code: "THROUGHLINE_CONFIGURATION",
      message: /^durability must be /,
    });
    assert.equal(calls(), 0);
  });
}

test("a pool of one connection, which would listen, is refused before it is used", async () => {
  const { pool, calls } = lonelyPool();
  await assert.rejects(openPostgresStorage({ pool: { ...pool, options: { max: 1 } } }), {
    code: "THROUGHLINE_CONFIGURATION",
    message: /^the pool has max 1: at least 2/,
  });
  assert.equal(calls(), 0);
});

test("every option of a PostgreSQL storage that is undefined is as if absent", async () => {
  const connect = () => Promise.reject(new Error("nobody is there"));
  const pool = { on() {}, removeListener() {}, connect } as unknown as PostgresPool;
  const names = ["companion", "leaseMs", "durability", "migrate", "clock", "timers", "newId"];
  const absent = Object.fromEntries([...names, "logger"].map((name) => [name, undefined]));
  await assert.rejects(openPostgresStorage({ pool, timeoutMs: 50, ...absent }), {
    code: "THROUGHLINE_UNAVAILABLE",
  });
});
