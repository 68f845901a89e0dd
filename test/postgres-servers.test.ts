// Servers on one database that are killed in the middle of turns: with leases of two seconds.
// test/full/postgres-servers.test.ts does it at full size, with those of the command line, and stops and wakes them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inKeptDirectory } from "./support/kill-harness.ts";
import { killUnderLoad } from "./support/server-cluster-load.ts";
import { noPostgres, withPostgres } from "./support/test-postgres.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const leaseMs = 2_000;

test("what 2 servers of 4 chats acknowledged is there once and in order after 1 kill of one and 1 of a client, and of both amid 2 turns", {
  skip,
}, async (t) => {
  const store = `${await server?.newDatabase()}?durability=process`;
  await inKeptDirectory("seed 1", async (directory) => {
    const counts = await killUnderLoad({
      ...{ directory, store, leaseMs, servers: 2, clients: 1, workers: 3, chats: 4, hotChats: 2 },
      ...{ thinkMs: 40, serverKills: 1, clientKills: 1, answersBetween: 6, cutAtEnd: 2, seed: 1 },
      readEvery: 1,
    });
    t.diagnostic(JSON.stringify(counts));
    assert.ok(counts.turnsKilled >= 2);
    assert.ok(counts.readBack >= 2 * counts.answered);
  });
});
