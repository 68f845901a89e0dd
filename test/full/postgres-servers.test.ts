// `throughline serve --store` as a cluster.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { inKeptDirectory } from "../support/kill-harness.ts";
import { killUnderLoad } from "../support/server-cluster-load.ts";
import {
  actAndKill,
  loseLoneServer,
  loseServers,
  stopAndWake,
} from "../support/server-cluster-scenes.ts";
import { noPostgres, withPostgres } from "../support/test-postgres.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
/** A new database: to serve from, and to look into. */
async function make() {
  const url = (await server?.newDatabase()) ?? "";
  return { store: `${url}?durability=process`, pool: server?.pool(url) ?? assert.fail() };
}
const serverKills = Number(process.env["THROUGHLINE_SERVER_KILLS"] ?? 10);
const clientKills = Math.ceil(serverKills / 2);
const seed = Number(process.env["THROUGHLINE_SEED"] ?? randomInt(1_000_000));

/** A lease of a process that died is over by then, and what waited for it had its turn. */
const failoverMs = 10_000 + 5_000;

test(`what 4 servers of 200 chats acknowledged is there once and in order after ${serverKills} kills of one and ${clientKills} of clients, and of all amid 40 turns; no two turns of a chat overlap, none is stuck`, {
  skip,
}, async (t) => {
  const { store } = await make();
  await inKeptDirectory(`seed ${seed}`, async (directory) => {
    const counts = await killUnderLoad({
      ...{ directory, store, servers: 4, clients: 4, workers: 12, chats: 200, hotChats: 12 },
      ...{ thinkMs: 300, serverKills, clientKills, answersBetween: 60, cutAtEnd: 40, seed },
      readEvery: serverKills,
    });
    t.diagnostic(`seed ${seed}: ${JSON.stringify(counts)}`);
    // The last cut meets 40; a kill of one server may fall between turns where the machine is slow.
    assert.ok(counts.turnsKilled >= 40 + serverKills / 5, "kills met turns that ran");
    assert.ok(counts.answered >= 50 * serverKills, "the clients were heard");
    assert.ok(counts.readBack >= 2 * counts.answered);
    assert.ok(counts.slowestFailoverMs < failoverMs + counts.slowestStartMs);
  });
});

test("C6: a server that was stopped in two turns, of which another took over one, writes nothing when it wakes, and goes on serving", {
  skip,
}, async (t) => {
  const { store, pool } = await make();
  await inKeptDirectory("stopped", async (directory) => {
    const waitedMs = await stopAndWake({ directory, store }, pool);
    t.diagnostic(`taken over after ${Math.round(waitedMs)} ms`);
    assert.ok(waitedMs < failoverMs);
  });
});

test("a server that is killed beside a living one is no restart; when all were killed for 2 s it is a crash_recovery", {
  skip,
}, async () => {
  const { store, pool } = await make();
  await inKeptDirectory("killed", (directory) => loseServers({ directory, store }, pool));
});

for (const [where, isShared] of [
  ["in files", false],
  ["on PostgreSQL", true],
] as const) {
  test(`a lone server with its chats ${where}, killed and started again after 2 s, is a crash_recovery`, {
    skip: isShared ? skip : false,
  }, async () => {
    const store = isShared ? (await make()).store : undefined;
    await inKeptDirectory("lone", (directory) => loseLoneServer({ directory, store }));
  });
}

test("of 10 acts a second at each of 4 servers, 2 of them killed in between, no wound and no person is lost, nothing is felt twice, and a kill loses at most the small feelings of 100 ms", {
  skip,
}, async (t) => {
  const { store, pool } = await make();
  await inKeptDirectory(`seed ${seed}`, async (directory) => {
    const counts = await actAndKill({ directory, store, rounds: 150, seed }, pool);
    t.diagnostic(`seed ${seed}: ${JSON.stringify(counts)}`);
    assert.ok(counts.kills >= 3 && counts.wounds >= 1 && counts.persons >= 1);
  });
});
