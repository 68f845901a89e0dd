// What a start makes of the journal of a process that was killed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crashImages, processDeathImage } from "../../../../test/support/crash-images.ts";
import {
  bytesOf,
  callsOn,
  folder,
  idsOn,
  logOf,
  openLarge,
  record,
  write,
} from "../../../../test/support/journal-world.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn } from "../../../../test/support/storage-workload.ts";

for (const [says, boot, most] of [
  ["in the same run of the machine looks at the logs of the last changes only", "same", 2],
  ["in another run of the machine looks at every log in the journal", "other", 50],
] as const) {
  test(`a start after a kill ${says}`, async () => {
    const disk = new SimulatedDisk();
    const { logs } = await openLarge(disk, "same");
    for (let i = 0; i < 50; i++) await logs.append(`k${i}`, [record("m")]);
    const image = processDeathImage(disk);
    const opened = await openLarge(image, boot);
    const calls = callsOn(image);
    const recovered = calls.findLastIndex((call) => call.startsWith(`sync ${folder}`));
    const compared = calls.indexOf("list /home/chats", recovered); // with the index, which is lost
    const looked = calls.slice(recovered, compared).filter((call) => call.startsWith("open "));
    assert.ok(looked.length > 0 && looked.length <= most, `${looked.length} logs`);
    if (boot === "other") assert.equal(looked.length, most);
    await opened.storage.close();
  });
}

test("the index takes up what the journal has without opening a log", async () => {
  const disk = new SimulatedDisk();
  const one = await openLarge(disk, "same");
  await one.logs.append("old", [record("m1")]);
  await one.storage.close();
  const { logs } = await openLarge(disk, "same");
  for (const key of ["old", "new", "old"])
    await logs.append(key, [record(`of ${key}`)]).catch(() => 0);
  await logs.append("old", [record("m3")]);
  for (let i = 0; i < 50; i++) await logs.append(`k${i}`, [record("m")], { head: { n: i } });
  const image = processDeathImage(disk);
  const opened = await openLarge(image, "same");
  const { rows } = await opened.logs.list({ limit: 100 });
  assert.equal(rows.length, 52);
  assert.deepEqual(
    ["old", "new", "k49"].map((key) => rows.find((row) => row.key === key)?.seq),
    [3, 1, 1],
  );
  assert.equal(rows.find(({ key }) => key === "k7")?.head["n"], 7);
  const logsOpened = callsOn(image).filter((call) => /^open .*\.jsonl$/.test(call));
  // The last change is compared with its log; what came before the journal is read from its log.
  assert.deepEqual([...new Set(logsOpened)].sort(), [
    `open ${logOf("k49")}`,
    `open ${logOf("old")}`,
  ]);
  assert.equal((await opened.logs.search("words", { limit: 100 })).length, 54);
  assert.equal((await opened.logs.find("k3", "m"))?.seq, 1);
  await opened.storage.close();
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
    const { storage, logs } = await openOn(image);
    const found = await Array.fromAsync(logs.read("a")).catch(() => []);
    assert.deepEqual(
      found.map(({ id }) => id),
      ids,
    );
    if (file === undefined) await assert.rejects(bytesOf(image, logOf("a")), { code: "ENOENT" });
    else if (ids.length === 0) assert.ok((await bytesOf(image, logOf("a"))).equals(file));
    await storage.close();
  });
}

test("what a process without a journal left unsynced is synced before anything is added to it", async () => {
  const disk = new SimulatedDisk();
  const unsynced = await openOn(disk, "process");
  await unsynced.logs.append("a", [record("m1")]);
  // Killed, and so is the next one, which writes to another log.
  await (await openOn(disk)).logs.append("b", [record("n1")]);
  const { logs } = await openOn(disk);
  await logs.append("a", [record("m2")]);
  for (const image of crashImages(disk)) {
    assert.deepEqual(await idsOn(image, ["a", "b"]), [["m1", "m2"], ["n1"]], image.label);
  }
});

test("NUL bytes that version 0.1 left at the end of a log are cut off", async () => {
  const disk = new SimulatedDisk();
  const { storage, logs } = await openOn(disk);
  await logs.append("a", [record("m1")]);
  await storage.close();
  const bytes = await bytesOf(disk, logOf("a"));
  await write(disk, logOf("a"), Buffer.concat([bytes, Buffer.alloc(8_192 - bytes.length)]));
  const opened = await openOn(processDeathImage(disk));
  assert.equal(await opened.logs.append("a", [record("m2")]), 2);
  assert.deepEqual(opened.storage.repairs(), []);
  await opened.storage.close();
});
