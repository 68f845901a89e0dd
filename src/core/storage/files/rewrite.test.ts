// A log that is rewritten without the content of some records.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";

test("erasing in a log of records of 1 MB keeps every other record, also after a restart", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk, "process");
  const contents = Array.from({ length: 20 }, (_, n) => `${n} ${"€".repeat(340_000)}`);
  for (const [n, content] of contents.entries()) {
    await logs.append("a", [{ id: `m${n}`, content }]);
  }
  assert.equal(await logs.erase("a", ["m3"]), 1);
  const expected = contents.map((content, n) => (n === 3 ? undefined : content));
  const found = async (reader: typeof logs) =>
    (await Array.fromAsync(reader.read("a"))).map((record) => record["content"]);
  assert.deepEqual(await found(logs), expected);
  await storage.close();
  const again = await openOn(disk);
  assert.deepEqual(await found(again.logs), expected);
  assert.deepEqual(again.storage.repairs(), []);
  await again.storage.close();
});

test("what a killed copy of a log left is gone once the log is erased in, or deleted", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk);
  const left = `/home/chats/a.jsonl.tmp-0`;
  for (const id of ["m1", "m2"]) await logs.append("a", [{ id, content: `the words of ${id}` }]);
  const names = async () => (await disk.list("/home/chats")).map(({ name }) => name);
  await disk.link("/home/chats/a.jsonl", left); // as a kill leaves it: in a folder that no start sweeps
  await logs.erase("a", ["m1"]);
  assert.deepEqual(await names(), ["a.jsonl"]);
  await disk.link("/home/chats/a.jsonl", left);
  await logs.delete("a");
  assert.deepEqual(await names(), []);
  await storage.close();
});
