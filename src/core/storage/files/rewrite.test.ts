// A log that is rewritten without the content of some records, or deleted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crashImages } from "../../../../test/support/crash-images.ts";
import { faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { idsOn, record, unknown } from "../../../../test/support/journal-world.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";

test("erasing in a log of records of 1 MB keeps every other record, also after a restart", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk, { durability: "process" });
  const contents = Array.from({ length: 6 }, (_, n) => `${n} ${"€".repeat(340_000)}`);
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

test("a deletion that is repeated because it was not made durable is for good", async () => {
  const disk = new SimulatedDisk();
  const faulty = faultyDisk(disk, { fault: "EIO", at: 2, call: "syncDirectory", path: /chats$/ });
  const { storage, logs } = await openOn(faulty);
  await logs.append("a", [record("m1")]);
  await assert.rejects(logs.delete("a"), unknown);
  await logs.delete("a");
  for (const image of crashImages(disk)) assert.deepEqual(await idsOn(image), [[]]);
  await storage.close();
});
