// What a start makes of the journal of a process that was killed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextPass } from "node:timers/promises";
import { crashImages, processDeathImage } from "../../../../test/support/crash-images.ts";
import {
  bytesOf,
  callsOn,
  idsOn,
  logOf,
  openLarge,
  record,
  segmentsOn,
  write,
} from "../../../../test/support/journal-world.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";

const opensOf = (disk: SimulatedDisk, from = 0) =>
  callsOn(disk, from).filter((call) => /^open .*\.jsonl$/.test(call));

test("a start after a kill opens no log but those that are asked for, and all others a little later", async () => {
  const disk = new SimulatedDisk();
  const { logs } = await openLarge(disk);
  for (let i = 0; i < 50; i++) await logs.append(`k${i}`, [record("m")]);
  const image = processDeathImage(disk);
  const opened = await openLarge(image, ({ covered }) => covered.set("chats", null));
  assert.deepEqual(opensOf(image), []);
  assert.equal((await opened.logs.tail("k7", 1))?.seq, 1);
  assert.deepEqual([...new Set(opensOf(image))], [`open ${logOf("k7")}`]);
  await opened.timers.pass(6_000);
  const logsOpened = () => new Set(opensOf(image)).size;
  for (let i = 0; i < 1_000 && logsOpened() < 50; i++) await nextPass();
  assert.equal(logsOpened(), 50);
  await opened.storage.close();
  assert.deepEqual(await segmentsOn(image), []);
  assert.equal((await idsOn(image, ["k3"])).flat().length, 1);
});

test("a log whose sync failed before a kill is written again before its segment goes", async () => {
  const disk = new SimulatedDisk();
  const { logs } = await openLarge(disk);
  await logs.append("a", [record("m1")]);
  const image = processDeathImage(disk);
  const from = image.operations.length;
  const { storage } = await openLarge(image);
  await storage.close();
  const calls = callsOn(image, from).filter((call) => call.endsWith(logOf("a")));
  const written = calls.lastIndexOf(`write ${logOf("a")}`);
  assert.ok(written >= 0 && written < calls.lastIndexOf(`sync ${logOf("a")}`), calls.join());
});

const foreign = Buffer.from(`{"role":"user","content":"${"of another program ".repeat(50)}"}\n`);

/** What somebody did to the file of a log after a kill, and what the recovery must leave. */
const changes: readonly (readonly [
  says: string,
  file: (kept: Buffer, fork: Buffer) => Buffer | undefined,
  ids: readonly string[],
])[] = [
  ["was removed", () => undefined, []],
  ["was replaced by an older copy", () => Buffer.alloc(0), []],
  ["was replaced by the file of another program", () => foreign, []],
  ["lacks what was not synced", (kept) => kept, ["m0", "m1"]],
  ["goes on otherwise", (_, fork) => fork, ["m0", "of a fork"]],
];
for (const [says, fileOf, ids] of changes) {
  test(`a start after a kill meets a log that ${says}`, async () => {
    const disk = new SimulatedDisk();
    const one = await openOn(disk);
    await one.logs.append("a", [record("m0")]);
    await one.storage.close();
    const kept = await bytesOf(disk, logOf("a"));
    const other = processDeathImage(disk);
    const two = await openOn(other);
    await two.logs.append("a", [record("of a fork")]);
    await two.storage.close();
    await (await openOn(disk)).logs.append("a", [record("m1")]);
    const image = processDeathImage(disk);
    const file = fileOf(kept, await bytesOf(other, logOf("a")));
    await image.unlink(logOf("a"));
    if (file !== undefined) await write(image, logOf("a"), file);
    const from = image.operations.length;
    const { storage, logs } = await openOn(image);
    const found = await Array.fromAsync(logs.read("a")).catch(() => []);
    assert.deepEqual(
      found.map(({ id }) => id),
      ids,
    );
    // An empty file is no log, and is removed.
    const isNone = file === undefined || file.length === 0;
    if (isNone) await assert.rejects(bytesOf(image, logOf("a")), { code: "ENOENT" });
    else if (ids.length === 0) assert.ok((await bytesOf(image, logOf("a"))).equals(file));
    await storage.close();
    // One that somebody removed is not made again, not even for a moment.
    const isUnlinked = callsOn(image, from).includes(`unlink ${logOf("a")}`);
    assert.equal(isUnlinked, file?.length === 0);
  });
}

test("what a process at level process left unsynced is synced before anything is added to it", async () => {
  const disk = new SimulatedDisk();
  const unsynced = await openOn(disk, { durability: "process" });
  for (const id of ["m0", "m1"]) await unsynced.logs.append("a", [record(id)]);
  // Killed, and so is the next one, which writes to another log.
  await (await openOn(disk)).logs.append("b", [record("n1")]);
  const { logs } = await openOn(disk);
  await logs.append("a", [record("m2")]);
  for (const image of crashImages(disk)) {
    assert.deepEqual(await idsOn(image, ["a", "b"]), [["m0", "m1", "m2"], ["n1"]], image.label);
  }
});
