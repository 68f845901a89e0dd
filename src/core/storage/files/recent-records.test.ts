// The records in memory through the store that keeps them: what is shared is what the disk holds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hookedDisk } from "../../../../test/support/hooked-disk.ts";
import { randomText } from "../../../../test/support/random-text.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";
import { message } from "../../../testing/log-store-contract-fixtures.ts";
import { recentBytes } from "./recent-records.ts";

async function open() {
  const seen = { reads: 0 };
  let held: PromiseWithResolvers<void> | undefined;
  const disk = hookedDisk(new SimulatedDisk(), (call) => {
    if (call !== "read") return undefined;
    seen.reads++;
    return held?.promise;
  });
  const { logs, storage } = await openOn(disk);
  /** A shared page and how often the disk was read for it. The page without sharing must be the same. */
  const shared = async (key: string, options: { before?: number; limit: number }) => {
    seen.reads = 0;
    const page = await logs.page(key, { ...options, isShared: true });
    const { reads } = seen;
    assert.deepEqual(page, await logs.page(key, options));
    return { page, reads };
  };
  const fill = (key: string, from: number, count: number) =>
    Array.fromAsync({ length: count }, (_, i) =>
      logs.append(key, [message(`m${from + i}`, randomText(2_000))]),
    );
  /** Holds reads of the disk back. @returns what lets them go on. */
  const hold = () => {
    held = Promise.withResolvers();
    return held.resolve;
  };
  return { logs, storage, shared, fill, hold };
}

test("the newest records of a log that is read are read from the disk once, and appends add to them", async () => {
  const { logs, storage, shared, fill } = await open();
  await fill("a", 0, 300);
  assert.notEqual((await shared("a", { limit: 100 })).reads, 0);
  for (const limit of [1, 50, 100]) assert.equal((await shared("a", { limit })).reads, 0);
  await fill("a", 300, 40);
  const newest = await shared("a", { limit: 100 });
  assert.equal(newest.reads, 0);
  assert.equal(newest.page.at(-1)?.id, "m339");
  // Past what is kept of one log: page after page, and from the middle of what is kept.
  for (const before of [341, 330, 280, 250, 200, 100, 2, 1])
    await shared("a", { before, limit: 70 });
  await shared("a", { limit: 1_000 });
  await logs.append("a", [message("large", randomText(recentBytes.log + 1))]);
  await shared("a", { limit: 10 });
  await shared("a", { limit: 10 });
  await storage.close();
});

test("pages that follow each other to the beginning, at every length of a page, hold each record once", async () => {
  const { logs, storage, shared, fill } = await open();
  for (const limit of [1, 7, 50, 100]) {
    const key = `limit-${limit}`;
    await fill(key, 0, 100);
    for (const more of [0, 30]) {
      await fill(key, 100, more);
      const seqs: number[] = [];
      for (let before: number | undefined; before !== 1; before = seqs[0]) {
        const { page } = await shared(key, before === undefined ? { limit } : { before, limit });
        seqs.unshift(...page.map(({ seq }) => seq));
      }
      assert.deepEqual(
        seqs,
        Array.from({ length: 100 + more }, (_, i) => i + 1),
      );
      assert.equal((await shared(key, { limit: 1_000 })).page.length, 100 + more);
    }
    await logs.delete(key);
  }
  await storage.close();
});

test("a record that is too large for memory and is stored while a page is read is in the next page", async () => {
  const { logs, storage, shared, fill, hold } = await open();
  await fill("a", 0, 3);
  const release = hold();
  const reading = logs.page("a", { limit: 10, isShared: true });
  await logs.append("a", [message("large", randomText(recentBytes.log + 1))]);
  release();
  await reading;
  await fill("a", 3, 1);
  assert.equal((await shared("a", { limit: 10 })).page.length, 5);
  await storage.close();
});

test("an erasure, a removed log and a log that begins again leave nothing of before in memory", async () => {
  const { logs, storage, shared, fill } = await open();
  await fill("a", 0, 10);
  await shared("a", { limit: 10 });
  await logs.erase("a", ["m9"]);
  assert.equal((await shared("a", { limit: 10 })).page.at(-1)?.["kind"], "erased");
  await logs.delete("a");
  assert.deepEqual((await shared("a", { limit: 10 })).page, []);
  await fill("a", 20, 2);
  const { page } = await shared("a", { limit: 10 });
  assert.deepEqual(
    page.map(({ id }) => id),
    ["m20", "m21"],
  );
  await storage.close();
});

test("of all logs together a bounded part stays in memory: that of those read last", async () => {
  const { logs, storage, shared } = await open();
  const filling = randomText(50_000); // in no field that is searched
  const keys = Array.from({ length: 150 }, (_, i) => `log-${i}`);
  for (const key of keys) {
    await logs.append(
      key,
      ["m0", "m1", "m2", "m3", "m4"].map((id) => ({ id, filling })),
    );
  }
  const limit = 5; // 250 kB
  for (const key of keys) await shared(key, { limit });
  assert.equal((await shared("log-149", { limit })).reads, 0);
  assert.equal((await shared("log-100", { limit })).reads, 0);
  assert.notEqual((await shared("log-0", { limit })).reads, 0);
  await storage.close();
});
