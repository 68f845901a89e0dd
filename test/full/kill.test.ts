import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import { inKeptDirectory, killUnderLoad } from "../support/kill-harness.ts";

const kills = Number(process.env["THROUGHLINE_KILLS"] ?? 100);
const seed = Number(process.env["THROUGHLINE_SEED"] ?? randomInt(1_000_000));

test(`everything answered over HTTP is there after ${kills} kills under load of 4 clients in 6 chats`, async (t) => {
  await inKeptDirectory(`seed ${seed}`, async (directory) => {
    const options = { kills, clients: 4, chats: 6, readEvery: 20, seed };
    const counts = await killUnderLoad(join(directory, "home"), options);
    t.diagnostic(`seed ${seed}: ${JSON.stringify(counts)}`);
    assert.ok(counts.kills >= kills);
    assert.ok(counts.late <= 1 + counts.terms / 20, `${counts.late} servers ended late`);
    assert.ok(counts.answered >= kills, "the clients were heard");
    assert.ok(counts.readBack >= counts.answered);
  });
});
