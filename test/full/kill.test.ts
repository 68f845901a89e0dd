import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { inKeptDirectory } from "../support/kill-harness.ts";
import { killUnderLoad } from "../support/server-cluster-load.ts";

const serverKills = Number(process.env["THROUGHLINE_KILLS"] ?? 100);
const seed = Number(process.env["THROUGHLINE_SEED"] ?? randomInt(1_000_000));

test(`everything answered over HTTP is there after ${serverKills} kills under load of 4 clients in 6 chats`, async (t) => {
  await inKeptDirectory(`seed ${seed}`, async (directory) => {
    const counts = await killUnderLoad({
      ...{ directory, servers: 1, clients: 4, workers: 1, chats: 6, hotChats: 6, cutAtEnd: 4 },
      ...{ thinkMs: 10, serverKills, clientKills: serverKills / 10, readEvery: 20, seed },
      answersBetween: 8,
    });
    t.diagnostic(`seed ${seed}: ${JSON.stringify(counts)}`);
    assert.ok(counts.late <= 1 + counts.terms / 20, `${counts.late} servers ended late`);
    assert.ok(counts.answered >= serverKills, "the clients were heard");
    assert.ok(counts.readBack >= counts.answered);
  });
});
