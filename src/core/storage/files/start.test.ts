// What a start trusts the index for, and what it looks at.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { setTimeout as delay, setImmediate as nextPass } from "node:timers/promises";
import { faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { homeFolder, killedCopy, openIndexed } from "../../../../test/support/indexed-home.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn, projection } from "../../../../test/support/storage-workload.ts";
import { type Disk, realDisk } from "../disk/disk.ts";
import type { LogStore } from "../log-store.ts";
import type { FileIndex } from "./index.ts";

const say = (logs: LogStore, key: string, id = "m1") =>
  logs.append(key, [{ id, content: `words of ${id} in ${key}` }]);

async function listed(logs: LogStore): Promise<readonly string[]> {
  const { rows } = await logs.list({ limit: 100 });
  return rows.map(({ key, seq }) => `${key}${seq}`).sort();
}

/** A home in which one process said something in these and ended, and the next one said more and was killed. */
async function killedHome(t: TestContext, ...keys: readonly string[]): Promise<string> {
  const home = homeFolder(t);
  const before = await openIndexed(home);
  for (const key of keys) await say(before.storage.logs("chats", projection), key);
  await before.storage.close();
  const { storage, index } = await openIndexed(home);
  const logs = storage.logs("chats", projection);
  await listed(logs);
  await index.sync();
  for (const key of keys) await say(logs, key, "m2");
  return killedCopy(t, home);
}

/** A disk whose folder of chats can be read only once `release` was called. */
function heldBack() {
  const held = Promise.withResolvers<void>();
  const read: string[] = [];
  const disk: Disk = {
    ...realDisk,
    async list(path) {
      read.push(path);
      if (path.endsWith("chats")) await held.promise;
      return realDisk.list(path);
    },
  };
  return { disk, read, release: held.resolve };
}

test("after a kill lists and searches have all that was stored, before the folder of chats is read", async (t) => {
  const home = await killedHome(t, "a", "b");
  const { disk, release } = heldBack();
  const { storage, coverage } = await openIndexed(home, { disk });
  const logs = storage.logs("chats", projection);
  assert.equal(coverage, "covered");
  const first = await Promise.race([listed(logs), delay(2_000).then(release)]);
  assert.deepEqual(first, ["a2", "b2"]);
  assert.equal((await logs.search("words", { limit: 9 })).length, 4);
  release();
});

test("after a kill, what other programs did to the folder is found while nobody waits for it", {
  timeout: 20_000,
}, async (t) => {
  const home = await killedHome(t, "a", "b");
  const other = await killedHome(t, "c");
  fs.rmSync(join(home, "chats", "a.jsonl"));
  fs.copyFileSync(join(other, "chats", "c.jsonl"), join(home, "chats", "c.jsonl"));
  const { storage } = await openIndexed(home);
  const logs = storage.logs("chats", projection);
  // Of the file that is gone, which is looked for last.
  const repaired = new Promise(storage.onRepair.bind(storage));
  await Promise.race([repaired, delay(10_000, undefined, { ref: false })]);
  assert.deepEqual(await listed(logs), ["b2", "c2"]);
});

test("after a clean end the folder of chats is not read, unless a name in it changed since", async (t) => {
  const home = homeFolder(t);
  const first = await openIndexed(home);
  const logs = first.storage.logs("chats", projection);
  await listed(logs);
  await say(logs, "a");
  await first.storage.close();
  for (const changes of [false, true]) {
    if (changes) fs.writeFileSync(join(home, "chats", "note.txt"), "");
    const { disk, read, release } = heldBack();
    release();
    const { storage, coverage } = await openIndexed(home, { disk });
    assert.deepEqual(await listed(storage.logs("chats", projection)), ["a1"]);
    assert.equal(coverage, changes ? "names" : "all");
    assert.equal(read.includes(join(home, "chats")), changes);
    await storage.close();
  }
});

for (const what of ["a deletion", "an erasure"] as const) {
  test(`a kill in the middle of ${what} has the next start compare the logs with the index`, async (t) => {
    const home = homeFolder(t);
    const disk = faultyDisk(realDisk, {
      fault: "EIO",
      at: 1,
      repeat: "forever",
      call: what === "a deletion" ? "unlink" : "rename",
      path: /chats\/a\.jsonl/,
    });
    const { storage, index } = await openIndexed(home, { disk });
    const logs = storage.logs("chats", projection);
    await listed(logs);
    await say(logs, "a");
    await index.sync();
    assert.equal((await openIndexed(killedCopy(t, home))).coverage, "covered");
    await assert.rejects(what === "a deletion" ? logs.delete("a") : logs.erase("a", ["m1"]));
    const next = await openIndexed(killedCopy(t, home));
    assert.equal(next.coverage, "unknown");
    assert.deepEqual(await listed(next.storage.logs("chats", projection)), ["a1"]);
    disk.heal();
  });
}

test("a log that was deleted leaves its collection covered", async (t) => {
  const home = homeFolder(t);
  const { storage, index } = await openIndexed(home);
  const logs = storage.logs("chats", projection);
  for (const key of ["a", "b"]) await say(logs, key);
  await listed(logs);
  await logs.delete("a");
  await index.sync();
  await nextPass();
  const next = await openIndexed(killedCopy(t, home));
  assert.equal(next.coverage, "covered");
  assert.deepEqual(await listed(next.storage.logs("chats", projection)), ["b1"]);
});

test("what only the journal had of a collection that was not opened is found when it is", async (t) => {
  const home = await killedHome(t, "a");
  const { storage } = await openIndexed(home);
  await storage.close();
  const next = await openIndexed(home);
  assert.equal(next.coverage, "unknown");
  assert.deepEqual(await listed(next.storage.logs("chats", projection)), ["a2"]);
});

test("what a power cut left in the journal alone is found in a collection that is opened after the index passed it", async (t) => {
  const home = await killedHome(t, "a");
  const path = join(home, "chats", "a.jsonl");
  const stored = fs.readFileSync(path, "utf8");
  fs.truncateSync(path, stored.lastIndexOf("\n", stored.indexOf("m2")) + 1);
  const { storage, index } = await openIndexed(home);
  const other = storage.logs("other", projection);
  await say(other, "x");
  await listed(other);
  await index.sync();
  const logs = storage.logs("chats", projection);
  assert.deepEqual(await listed(logs), ["a2"]);
  assert.equal((await logs.search("words", { limit: 9 })).length, 2);
});

for (const isRefused of [false, true]) {
  const what = isRefused
    ? "reports a chat that only the journal has and that"
    : "lists a chat that only the journal has";
  test(`an index that is lost soon after a power cut ${what}${isRefused ? " cannot be made" : ""}`, async (t) => {
    const home = await killedHome(t, "a");
    const { storage: before } = await openIndexed(home);
    await say(before.logs("chats", projection), "b");
    const cut = killedCopy(t, home);
    fs.rmSync(join(cut, "chats", "b.jsonl"));
    const fault = { fault: "EIO", at: 1, repeat: "forever", call: "open" } as const;
    const disk = faultyDisk(realDisk, {
      ...fault,
      path: isRefused ? /chats\/b\.jsonl/ : /no such/,
    });
    const { storage, index } = await openIndexed(cut, { disk });
    const logs = storage.logs("chats", projection);
    assert.deepEqual(await listed(logs), ["a2", "b1"]);
    await index.sync();
    await listed(logs);
    for (let pass = 0; pass < 3; pass++) await nextPass(); // the thread's mark is believed
    const database = new DatabaseSync(join(cut, "index.db"));
    database.exec("update logs set head = '{'");
    database.close();
    await assert.rejects(listed(logs));
    assert.deepEqual(await listed(logs), isRefused ? ["a2"] : ["a2", "b1"]);
    await index.sync();
    const reports = storage.repairs().map(({ key, kind }) => `${key}: ${kind}`);
    assert.deepEqual(reports, isRefused ? ["chats/b: unreadable_log"] : []);
    const next = await openIndexed(killedCopy(t, cut));
    assert.deepEqual(await listed(next.storage.logs("chats", projection)), ["a2", "b1"]);
    disk.heal();
  });
}

test("the journal keeps what the index could not take for good", async () => {
  const disk = new SimulatedDisk();
  let isFull = true;
  const filling = (index: FileIndex) => {
    const sync = index.sync.bind(index);
    index.sync = (position) => (isFull ? Promise.reject(new Error("full")) : sync(position));
  };
  const { storage, logs } = await openOn(disk, { prepare: filling });
  await logs.append("a", [{ id: "m1" }]);
  await storage.close();
  assert.equal((await disk.list("/home/journal")).length, 1);
  isFull = false;
  const next = await openOn(disk, { prepare: filling });
  await next.storage.close();
  assert.deepEqual(await disk.list("/home/journal"), []);
});

test("a home that is idle frees what its journal holds, and goes on with the same files", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs, timers } = await openOn(disk);
  await logs.append("a", [{ id: "m1" }]);
  const synced = () =>
    disk.operations.filter(({ call, path }) => call === "sync" && path.endsWith("a.jsonl")).length;
  const before = synced();
  await timers.pass(4_000);
  await logs.append("a", [{ id: "m2" }]);
  await timers.pass(4_000);
  assert.equal(synced(), before);
  await timers.pass(6_000);
  for (let i = 0; i < 100 && synced() === before; i++) await nextPass();
  assert.equal(synced(), before + 1);
  await logs.append("a", [{ id: "m3" }]);
  assert.equal((await disk.list("/home/journal")).length, 1);
  await storage.close();
});

test("of two collections, what one of them did after a kill does not hide what the journal had of the other", async (t) => {
  const home = await killedHome(t, "a");
  const first = await openIndexed(home);
  const other = first.storage.logs("other", projection);
  await say(other, "x");
  await first.index.catchUp();
  const next = await openIndexed(killedCopy(t, home));
  assert.deepEqual(await listed(next.storage.logs("chats", projection)), ["a2"]);
});
