// One log that cannot be read: the others are listed, searched and written, and the one is reported.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type DiskFault, faultyDisk } from "../../../../test/support/faulty-disk.ts";
import { homeFolder } from "../../../../test/support/indexed-home.ts";
import { SimulatedDisk } from "../../../../test/support/simulated-disk.ts";
import { openOn, projection } from "../../../../test/support/storage-workload.ts";
import type { LogStore } from "../log-store.ts";
import { openFileStorage } from "./open-file-storage.ts";

const say = (logs: LogStore, key: string, id = "m1") =>
  logs.append(key, [{ id, content: `words of ${key}` }], {
    head: { updated_at: key === "a" ? "2" : "1" }, // "a" is the newest
  });

const listed = async (logs: LogStore) =>
  (await logs.list({ limit: 10 })).rows.map(({ key }) => key).sort();
const found = async (logs: LogStore, limit: number) =>
  (await logs.search("words", { limit })).map(({ key }) => key);

const unreadable = { code: "THROUGHLINE_UNAVAILABLE" };

for (const call of ["open", "read", "size"] as const) {
  test(`a log whose file gives EIO at each ${call} keeps nobody from the others`, async () => {
    const inner = new SimulatedDisk();
    const first = await openOn(inner);
    for (const key of ["a", "b"]) await say(first.logs, key);
    await first.storage.close();
    const fault: DiskFault = { fault: "EIO", at: 1, repeat: "forever", call, path: /a\.jsonl/ };
    const disk = faultyDisk(inner, fault);
    const { storage, logs } = await openOn(disk);
    assert.deepEqual(await listed(logs), ["b"]);
    assert.deepEqual(await found(logs, 10), ["b"]);
    await assert.rejects(logs.tail("a", 1), unreadable);
    assert.equal(await say(logs, "b", "m2"), 2);
    assert.deepEqual(
      storage.repairs().map(({ key, kind }) => [key, kind]),
      [["chats/a", "unreadable_log"]],
    );
    assert.match(storage.repairs()[0]?.reason ?? "", /EIO/);
    disk.heal();
    assert.equal(await say(logs, "a", "m2"), 2, "works again as soon as the disk does");
    assert.deepEqual(await listed(logs), ["a", "b"]);
    await storage.close();
  });
}

/** A home with two logs, the index of which knows both. */
async function homeOfTwo(t: TestContext): Promise<string> {
  const home = homeFolder(t);
  await using storage = await openFileStorage({ home });
  for (const key of ["a", "b"]) await say(storage.logs("chats", projection), key);
  return home;
}

for (const kind of ["folder", "link"]) {
  test(`a ${kind} in the place of a log is reported, and keeps nobody from the others`, async (t) => {
    const home = await homeOfTwo(t);
    const path = join(home, "chats", "a.jsonl");
    fs.renameSync(path, join(home, "a.kept"));
    if (kind === "folder") fs.mkdirSync(path);
    else fs.symlinkSync(join(home, "a.kept"), path);
    for (const start of [1, 2]) {
      await using storage = await openFileStorage({ home });
      const logs = storage.logs("chats", projection);
      assert.deepEqual(await listed(logs), ["a", "b"], `start ${start}`);
      assert.deepEqual(await found(logs, 10), ["b"]);
      assert.deepEqual(await found(logs, 1), ["b"], "hits that cannot be read count for no limit");
      const reports = storage.repairs().map((report) => [report.key, report.kind]);
      assert.deepEqual(reports, [["chats/a", "unreadable_log"]], `start ${start}`);
      assert.match(storage.repairs()[0]?.reason ?? "", new RegExp(`a\\.jsonl is a ${kind}`));
    }
    fs.rmSync(path, { recursive: true });
    fs.renameSync(join(home, "a.kept"), path);
    await using storage = await openFileStorage({ home });
    const logs = storage.logs("chats", projection);
    assert.deepEqual(await found(logs, 10), ["a", "b"]);
    assert.deepEqual(storage.repairs(), []);
  });
}

test("a search ends where one log cannot be read and another is damaged", {
  timeout: 5_000,
}, async (t) => {
  const home = await homeOfTwo(t);
  const chats = join(home, "chats");
  {
    await using storage = await openFileStorage({ home });
    const logs = storage.logs("chats", projection);
    for (const id of ["m2", "m3"]) await say(logs, "b", id);
  }
  const path = join(chats, "b.jsonl");
  fs.writeFileSync(
    path,
    fs.readFileSync(path, "utf8").replace('"m2","seq":2,"content":"w', '"m2","seq":2,"content":"v'),
  );
  fs.rmSync(join(chats, "a.jsonl"));
  fs.mkdirSync(join(chats, "a.jsonl"));
  await using storage = await openFileStorage({ home });
  const logs = storage.logs("chats", projection);
  const hits = await logs.search("words", { limit: 2 });
  assert.deepEqual(
    hits.map(({ record }) => record.id),
    ["m3", "m1"],
  );
});
