import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";

/** A disk, and the names of the chats whose files are open, in the order of their opening. */
function watchedDisk() {
  const disk = new SimulatedDisk();
  const inner = disk.open.bind(disk);
  const open: string[] = [];
  let opened = 0;
  disk.open = async (path, how) => {
    const file = await inner(path, how);
    const [, name] = /chats\/(\w+)\.jsonl$/.exec(path) ?? [];
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
  return { disk, open, count: () => opened };
}

test("of many logs the least used are closed, and the others stay open", async () => {
  const { disk, open, count } = watchedDisk();
  const { storage, logs } = await openOn(disk, "power-cut", undefined, 4, undefined, 1_000_000);
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
