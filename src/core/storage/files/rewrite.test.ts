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
