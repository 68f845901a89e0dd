import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import { faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";

/** A disk, the names of the chats whose files are open, in the order of their opening, and what was asked to open. */
function watchedDisk() {
  const disk = new SimulatedDisk();
  const inner = disk.open.bind(disk);
  const open: string[] = [];
  const asked: string[] = [];
  let opened = 0;
  disk.open = async (path, how) => {
    const [, name] = /chats\/(\w+)\.jsonl$/.exec(path) ?? [];
    if (name !== undefined) asked.push(`${how} ${name}`);
    const file = await inner(path, how);
    if (name === undefined) return file;
    open.push(name);
    opened++;
    const close = file.close.bind(file);
    file.close = () => {
      open.splice(open.indexOf(name), 1);
      return close();
    };
    return file;
  };
  return { disk, open, asked, count: () => opened };
}

test("of many logs the least used are closed, and the others stay open", async () => {
  const { disk, open, count } = watchedDisk();
  const { storage, logs } = await openOn(disk, { maxOpen: 4, segmentBytes: 1_000_000 });
  const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
  for (const key of keys) await logs.append(key, [{ id: "m1" }]);
  assert.deepEqual(open, keys.slice(-4));
  const before = count();
  for (const key of keys.slice(-4)) await logs.append(key, [{ id: "m2" }]);
  assert.equal(count(), before);
  await logs.append("k0", [{ id: "m2" }]);
  assert.deepEqual(open, ["k17", "k18", "k19", "k0"]);
  await storage.close();
  assert.deepEqual(open, []);
});

test("a log that could not be cut back is not closed for others, and ends where it did", async () => {
  const path = /chats\/a\.jsonl/;
  const disk = faultyDisk(new SimulatedDisk(), [
    { fault: "EIO", at: 2, call: "write", path, does: "all" },
    { fault: "EIO", at: 1, call: "truncate", path },
  ]);
  const { storage, logs } = await openOn(disk, { maxOpen: 4, segmentBytes: 1_000_000 });
  await logs.append("a", [{ id: "m1" }]);
  await assert.rejects(logs.append("a", [{ id: "m2" }]), { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
  for (let n = 0; n < 8; n++) await logs.append(`k${n}`, [{ id: "m1" }]);
  const records = (await logs.page("a", { limit: 9 })).map(({ id }) => id);
  assert.deepEqual([records, storage.repairs()], [["m1"], []]);
  await storage.close();
});

test("a log that was just looked for in vain is not looked for again to begin it; later it is", async () => {
  const { disk, asked } = watchedDisk();
  const { storage, logs } = await openOn(disk);
  assert.equal(await logs.tail("k0", 0), undefined);
  await logs.append("k0", [{ id: "m1" }], { expectedSeq: 0 });
  assert.deepEqual(asked.splice(0), ["write k0", "create k0"]);
  assert.equal(await logs.tail("k1", 0), undefined);
  await nextPass();
  await logs.append("k1", [{ id: "m1" }], { expectedSeq: 0 });
  assert.deepEqual(asked.splice(0), ["write k1", "write k1", "create k1"]);
  await storage.close();
});

test("a log that was looked for in vain, begun and closed goes on, all in one pass of the event loop", async () => {
  const { disk, open } = watchedDisk();
  const { storage, logs } = await openOn(disk, { maxOpen: 4, segmentBytes: 1_000_000 });
  assert.equal(await logs.tail("k0", 0), undefined);
  for (let i = 0; i < 6; i++) await logs.append(`k${i}`, [{ id: "m1" }]);
  assert.ok(!open.includes("k0"));
  assert.equal(await logs.append("k0", [{ id: "m2" }]), 2);
  await storage.close();
});
