import assert from "node:assert/strict";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { faultyDisk } from "../../../../test/support/faulty-disk.ts";
import {
  homeFolder,
  type IndexedHomeOptions,
  killedCopy,
  openIndexed,
} from "../../../../test/support/indexed-home.ts";
import { saidProjection as projection } from "../../../../test/support/projections.ts";
import { type Disk, realDisk } from "../disk/disk.ts";
import type { LogStore } from "../log-store.ts";
import { fileNameOf } from "./file-name.ts";
import type { FileStorage } from "./file-storage.ts";
import { openFileStorage } from "./open-file-storage.ts";

/** A home that a process left in order, with one message in each of these chats. */
async function homeWith(t: TestContext, ...keys: readonly string[]): Promise<string> {
  const home = homeFolder(t);
  await using storage = await openFileStorage({ home });
  const logs = storage.logs("chats", projection);
  for (const key of keys) await say(logs, key);
  return home;
}

function say(logs: LogStore, key: string): Promise<number> {
  return logs.append(key, [{ id: `of ${key}`, content: `words of ${key}` }]);
}

async function listed(logs: LogStore): Promise<readonly string[]> {
  const { rows } = await logs.list({ limit: 100 });
  return rows.map(({ key }) => key).sort();
}

const pathOf = (home: string, key: string) => join(home, "chats", `${fileNameOf(key)}.jsonl`);

const openedOver = async (
  home: string,
  disk: Disk,
  onOpened?: IndexedHomeOptions["onOpened"],
): Promise<FileStorage> => (await openIndexed(home, { disk, onOpened })).storage;

test("a log that is made or deleted as soon as its collection is opened is listed as it is", async (t) => {
  const home = await homeWith(t, "a", "b");
  await using storage = await openFileStorage({ home });
  const logs = storage.logs("chats", projection);
  await Promise.all([say(logs, "c"), logs.delete("a")]);
  assert.deepEqual(await listed(logs), ["b", "c"]);
});

test("a run that could not compare the names with its index leaves that to the next", async (t) => {
  const home = await homeWith(t, "a", "b");
  rmSync(join(home, "index.db"));
  const disk = faultyDisk(realDisk, {
    fault: "EIO",
    at: 2,
    repeat: "forever", // the first one is of the opening
    call: "list",
    path: /chats$/,
  });
  const storage = await openedOver(home, disk);
  const logs = storage.logs("chats", projection);
  await assert.rejects(logs.list({ limit: 10 }), { code: "THROUGHLINE_UNAVAILABLE" });
  disk.heal();
  await storage.close();
  await using next = await openFileStorage({ home });
  assert.deepEqual(await listed(next.logs("chats", projection)), ["a", "b"]);
});

test("what a log held that could not be read at one start is found after the next", async (t) => {
  const home = await homeWith(t, "a", "b");
  const index = join(home, "index.db");
  {
    await using storage = await openedOver(home, realDisk);
    // As a process leaves it that dies before the index takes up what it appends.
    for (const end of ["", "-wal"]) copyFileSync(index + end, join(home, `old${end}`));
    await storage.logs("chats", projection).append("a", [{ id: "m2", content: "late words" }]);
  }
  for (const end of ["", "-wal"]) renameSync(join(home, `old${end}`), index + end);
  const database = new DatabaseSync(index);
  database.exec("delete from covered");
  database.close();
  const disk = faultyDisk(realDisk, {
    fault: "EIO",
    at: 1,
    repeat: "forever",
    call: "open",
    path: /a\.jsonl/,
  });
  {
    await using storage = await openedOver(home, disk);
    assert.deepEqual(await listed(storage.logs("chats", projection)), ["a", "b"]);
  }
  await using storage = await openedOver(home, realDisk);
  const hits = await storage.logs("chats", projection).search("late", { limit: 10 });
  assert.deepEqual(
    hits.map(({ key }) => key),
    ["a"],
  );
});

test("a lost index is filled as long as it has room: little of a long log waits for it at a time", async (t) => {
  const home = await homeWith(t, "a");
  const path = pathOf(home, "a");
  const said = Array.from({ length: 400 }, (_, n) => ({
    id: `m${n}`,
    content: "word ".repeat(80),
  }));
  {
    await using storage = await openFileStorage({ home, durability: "process" });
    const logs = storage.logs("chats", projection);
    for (let n = 0; n < 20; n++) {
      await logs.append(
        "a",
        said.map(({ id, content }) => ({ id: `${n}-${id}`, content })),
      );
    }
  }
  rmSync(join(home, "index.db"));
  let most = 0;
  const storage = await openedOver(home, realDisk, (index) => {
    const add = index.add.bind(index);
    index.add = (log, batches, from) => {
      most = Math.max(
        most,
        batches.reduce((sum, { start, end }) => sum + end - start, 0),
      );
      return add(log, batches, from);
    };
  });
  let passes = 0;
  const counting = setInterval(() => passes++, 0);
  const hits = await storage.logs("chats", projection).search("word", { limit: 1 });
  clearInterval(counting);
  assert.equal(hits.length, 1);
  const { size } = statSync(path);
  assert.ok(size > 3_000_000 && most < 1_500_000, `${most} of ${size} bytes`);
  assert.ok(passes >= 5, `others got their turn ${passes} times`);
  await storage.close();
});

const told = (storage: FileStorage) =>
  storage.repairs().map(({ key, kind, reason }) => [key, kind, reason.split(":")[0]]);

test("after a clean exit, a log that was put there is found, and one that was taken away is told of as lost, once", async (t) => {
  const other = await homeWith(t, "c:new");
  const home = await homeWith(t, "a", "b");
  rmSync(pathOf(home, "a"));
  copyFileSync(pathOf(other, "c:new"), pathOf(home, "c:new"));
  const start = async () => {
    await using storage = await openFileStorage({ home });
    const logs = storage.logs("chats", projection);
    assert.deepEqual(await listed(logs), ["b", "c:new"]);
    assert.equal((await logs.search("words", { limit: 10 })).length, 2);
    return told(storage);
  };
  const reason = "the file is not there, though record 1 had been stored";
  assert.deepEqual(await start(), [["chats/a", "older_copy", reason]]);
  assert.deepEqual(await start(), []);
});

test("an older copy of a file is reported, and the chat is listed as damaged from then on", async (t) => {
  const home = await homeWith(t, "a");
  const copy = readFileSync(pathOf(home, "a"));
  const start = async (use: (logs: LogStore) => Promise<unknown>) => {
    await using storage = await openFileStorage({ home });
    const logs = storage.logs("chats", projection);
    await use(logs);
    const [row] = (await logs.list({ limit: 5 })).rows;
    return [row?.damaged, storage.repairs().map(({ kind, after_seq }) => [kind, after_seq])];
  };
  await start((logs) => logs.append("a", [{ id: "more" }]));
  writeFileSync(pathOf(home, "a"), copy);
  const read = (logs: LogStore) => logs.tail("a", 5);
  assert.deepEqual(await start(read), [true, [["older_copy", 1]]]);
  assert.deepEqual(await start((logs) => logs.append("a", [{ id: "later" }])), [true, []]);
  assert.deepEqual(await start(read), [true, []]);
});

/** The home after a process that died, while it deleted these logs: their files are gone. */
async function homeOfDead(t: TestContext, ...deleted: readonly string[]): Promise<string> {
  const home = await homeWith(t, "a", "b");
  const disk = faultyDisk(realDisk, {
    fault: "EIO",
    at: 2,
    repeat: "forever", // the first one is of the opening
    call: "syncDirectory",
    path: /chats$/,
  });
  const storage = await openedOver(home, disk);
  const logs = storage.logs("chats", projection);
  for (const key of deleted) {
    await assert.rejects(logs.delete(key), { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
  }
  const left = killedCopy(t, home);
  disk.heal();
  await storage.close();
  return left;
}

test("a deletion that a crash cut short is told of, and not as a loss", async (t) => {
  const home = await homeOfDead(t, "a");
  await using storage = await openedOver(home, realDisk);
  assert.deepEqual(await listed(storage.logs("chats", projection)), ["b"]);
  const reason = "the file is not there, though record 1 had been stored";
  assert.deepEqual(told(storage), [["chats/a", "missing_log", reason]]);
  assert.match(storage.repairs()[0]?.reason ?? "", /deletion was cut short .*taken away/);
});

test("a log that is deleted while the index is compared is not told of as missing", async (t) => {
  const home = await homeOfDead(t);
  const [unlinked, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isOpen = false;
  const isHere = (path: string) => isOpen && path.endsWith("chats");
  // The file is gone from the listing, and the deletion goes on after it.
  const disk: Disk = {
    ...realDisk,
    unlink: (path) => realDisk.unlink(path).finally(unlinked.resolve),
    async list(path) {
      if (isHere(path)) await unlinked.promise;
      const listing = await realDisk.list(path);
      if (isHere(path)) looked.resolve();
      return listing;
    },
    async syncDirectory(path) {
      if (isHere(path)) await looked.promise;
      await realDisk.syncDirectory(path);
    },
  };
  await using storage = await openedOver(home, disk);
  isOpen = true;
  const logs = storage.logs("chats", projection);
  await logs.delete("a");
  assert.deepEqual(await listed(logs), ["b"]);
  assert.deepEqual(told(storage), []);
});

test("a file in chats/ that another program wrote is reported at every start, not at the first alone", async (t) => {
  const home = await homeWith(t, "a");
  writeFileSync(join(home, "chats", "nano.jsonl"), `\ufeff${rows}`);
  for (let start = 1; start <= 3; start++) {
    await using storage = await openFileStorage({ home });
    assert.deepEqual(await listed(storage.logs("chats", projection)), ["a"]);
    const kinds = storage.repairs().map(({ key, kind }) => `${key} ${kind}`);
    assert.deepEqual(kinds, ["chats/nano foreign_lines"], `start ${start}`);
  }
});

const rows = '{"text":"row 1"}\n{"text":"row 2"}\n';
const besides: readonly (readonly [name: string, content: string])[] = [
  ["train.jsonl", rows],
  ["marked.jsonl", `\ufeff${rows}`],
  ["zeros.jsonl", "\0".repeat(700)],
  ["empty.jsonl", ""],
];

test("in the folder of the home itself a file is a log by what it holds: others are neither opened nor reported", async (t) => {
  const home = homeFolder(t);
  for (const [name, content] of besides) writeFileSync(join(home, name), content);
  {
    await using storage = await openFileStorage({ home });
    const logs = storage.logs("", projection);
    await say(logs, "runs");
    await say(logs, "damaged");
    assert.deepEqual(await listed(logs), ["damaged", "runs"]);
  }
  const damaged = readFileSync(join(home, "damaged.jsonl"));
  damaged.writeUInt8(0, 0);
  writeFileSync(join(home, "damaged.jsonl"), damaged);
  copyFileSync(join(home, "runs.jsonl"), join(home, "runs-old.jsonl"));
  rmSync(join(home, "index.db"));
  await using storage = await openFileStorage({ home });
  // What a flipped bit left of a log of ours is one still: it is opened, and set aside.
  assert.deepEqual(await listed(storage.logs("", projection)), ["runs"]);
  assert.deepEqual(
    storage.repairs().map(({ key, kind }) => [key, kind]),
    [["/damaged", "torn_tail"]],
  );
  for (const [name, content] of besides) {
    assert.equal(readFileSync(join(home, name), "utf8"), content, name);
  }
});

test("a rewritten file that came back under its old name after a power cut is removed by the next start", async (t) => {
  const long = `of many letters ${"and more ".repeat(20)}`;
  const home = await homeWith(t, "a", "b:new", long);
  const cut = `${home}-cut`;
  t.after(() => rmSync(cut, { recursive: true }));
  {
    await using storage = await openFileStorage({ home });
    const logs = storage.logs("chats", projection);
    await listed(logs);
    await say(logs, "c"); // now its index covers all but what the journal holds
    cpSync(home, cut, { recursive: true, filter: (path) => !path.endsWith("lock.db") });
  }
  mkdirSync(`${pathOf(cut, "c")}.tmp-0`); // which cannot be removed, and keeps nothing from being served
  const returned = ["a", "b:new", long, "deleted"].map((key) => `${pathOf(cut, key)}.tmp-0`);
  for (const path of returned) writeFileSync(path, "words that were erased");
  await using storage = await openFileStorage({ home: cut });
  const logs = storage.logs("chats", projection);
  assert.deepEqual(await listed(logs), ["a", "b:new", "c", long].sort());
  await storage.close();
  assert.deepEqual(
    returned.filter((path) => existsSync(path)),
    [],
  );
});
