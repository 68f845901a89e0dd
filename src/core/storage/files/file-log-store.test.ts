// What the index has not taken up yet is found and listed all the same, and keeps nobody waiting.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import { openHome } from "../../../../test/support/bit-rot.ts";
import { crashImages } from "../../../../test/support/crash-images.ts";
import { faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { hookedDisk } from "../../../../test/support/hooked-disk.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { logsOf, message } from "../../../testing/log-store-contract-fixtures.ts";
import { openFileStorage } from "./open-file-storage.ts";

/** 60 logs, appended to so fast that the index has no time: 50 batches each. */
async function burst(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), "throughline-burst-"));
  const storage = await openFileStorage({ home, durability: "process" });
  t.after(async () => {
    await storage.close();
    rmSync(home, { recursive: true });
  });
  const log = logsOf(storage);
  await log.list({ limit: 1 });
  const keys = Array.from({ length: 60 }, (_, i) => `key-${i}`);
  const rounds = Array.from({ length: 50 }, (_, i) => i);
  const appends = rounds.flatMap((round) =>
    keys.map((key, i) => {
      const head = { updated_at: `2026-01-01T00:00:${round}.${100 + i}Z`, round };
      return log.append(key, [message(`m${round}`, `word${round} of ${key}`)], { head });
    }),
  );
  await Promise.all(appends);
  return { log, keys };
}

test("an append waits until the index has room, and stores nothing before", async () => {
  const { logs, index } = await openHome(new SimulatedDisk());
  await logs.append("a", [message("m1")]);
  const { promise, resolve } = Promise.withResolvers<void>();
  index.room = () => promise;
  let isStored = false;
  const appending = logs.append("a", [message("m2")]).then(() => {
    isStored = true;
  });
  for (let pass = 0; pass < 20; pass++) await nextPass();
  assert.equal(isStored, false);
  assert.equal((await logs.tail("a", 9))?.seq, 1);
  resolve();
  await appending;
  assert.equal((await logs.tail("a", 9))?.seq, 2);
});

test("lists, searches, pages and ids know at once what came in a burst", async (t) => {
  const { log, keys } = await burst(t);
  assert.equal((await log.search("word49", { limit: 100 })).length, 60);
  const { rows, cursor } = await log.list({ limit: 40 });
  const newest = [...keys].reverse();
  assert.deepEqual(
    rows.map(({ key, seq, head }) => [key, seq, head["round"]]),
    newest.slice(0, 40).map((key) => [key, 50, 49]),
  );
  const rest = await log.list({ limit: 40, ...(cursor === undefined ? {} : { cursor }) });
  assert.deepEqual(
    rest.rows.map(({ key }) => key),
    newest.slice(40),
  );
  Object.assign(rows[0]?.head ?? {}, { round: "changed by whoever asked" });
  assert.equal((await log.list({ limit: 1 })).rows[0]?.head["round"], 49);
  const page = await log.page("key-7", { before: 30, limit: 3 });
  assert.deepEqual(
    page.map(({ seq }) => seq),
    [27, 28, 29],
  );
  assert.equal((await log.find("key-7", "m20"))?.seq, 21);
});

test("a deletion that is repeated because it was not made durable is for good", async () => {
  const disk = new SimulatedDisk();
  const faulty = faultyDisk(disk, { fault: "EIO", at: 2, call: "syncDirectory", path: /chats$/ });
  const { storage, logs } = await openHome(faulty);
  await logs.append("a", [message("m1")]);
  await assert.rejects(logs.delete("a"), { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
  await logs.delete("a");
  for (const image of crashImages(disk)) {
    const left = await openHome(image);
    assert.deepEqual(await Array.fromAsync(left.logs.read("a")), []);
    await left.storage.close();
  }
  await storage.close();
});

test("records of one batch that are looked up together are read once", async () => {
  let reads = 0;
  const disk = hookedDisk(new SimulatedDisk(), (call) => {
    if (call === "read") reads++;
  });
  const { logs } = await openHome(disk);
  const records = Array.from({ length: 500 }, (_, i) => message(`m${i}`, "x".repeat(2_000)));
  await logs.append("a", records);
  reads = 0;
  await logs.find("a", "m0");
  const forOne = reads;
  reads = 0;
  const found = await logs.findAll(
    "a",
    records.map(({ id }) => id),
  );
  assert.equal(found.size, 500);
  assert.equal(reads, forOne);
});
