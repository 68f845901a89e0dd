import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../clock.ts";
import { randomId } from "../../ids.ts";
import { silentLogger } from "../../logger.ts";
import type { LogProjection, LogStore } from "../log-store.ts";
import { realDisk } from "./disk.ts";
import { fileNameOf } from "./file-name.ts";
import { FileStorage } from "./file-storage.ts";
import { openFileStorage } from "./open-file-storage.ts";
import { openSqliteIndex } from "./sqlite-index.ts";

const projection: LogProjection = {
  sortedAt: () => "",
  labels: () => [],
  text: (record) => String(record["content"]),
  hides: () => undefined,
};

/** A home that a process left in order, with one message in each of these chats. */
async function homeWith(t: TestContext, ...keys: readonly string[]): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), "throughline-reconcile-"));
  t.after(() => rmSync(home, { recursive: true }));
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

test("after a clean exit, a log that was taken away and one that was put there are found", async (t) => {
  const other = await homeWith(t, "c:new");
  const home = await homeWith(t, "a", "b");
  rmSync(pathOf(home, "a"));
  copyFileSync(pathOf(other, "c:new"), pathOf(home, "c:new"));
  await using storage = await openFileStorage({ home });
  const logs = storage.logs("chats", projection);
  assert.deepEqual(await listed(logs), ["b", "c:new"]);
  assert.equal((await logs.search("words", { limit: 10 })).length, 2);
});

test("a log that is made or deleted as soon as its collection is opened is listed as it is", async (t) => {
  const home = await homeWith(t, "a", "b");
  await using storage = await openFileStorage({ home });
  const logs = storage.logs("chats", projection);
  await Promise.all([say(logs, "c"), logs.delete("a")]);
  assert.deepEqual(await listed(logs), ["b", "c"]);
});

test("a log that was made in this run is listed after the index was lost in it", async (t) => {
  const home = await homeWith(t, "a");
  await using storage = await openFileStorage({ home });
  const logs = storage.logs("chats", projection);
  assert.deepEqual(await listed(logs), ["a"]);
  await say(logs, "b");
  storage.indexLost();
  assert.deepEqual(await listed(logs), ["a", "b"]);
});

test("after a clean exit, a home with the same names is listed without asking the index for its keys", async (t) => {
  const home = await homeWith(t, "a", "b");
  const wasAsked = async () => {
    const index = openSqliteIndex(join(home, "index.db"));
    let asked = false;
    const storage = await FileStorage.open({
      ...{ home, disk: realDisk, durability: "power-cut", verifyAll: false, maxOpen: 256 },
      ...{ clock: systemClock, newId: randomId, logger: silentLogger },
      indexIsClean: index.clean,
      openIndex: (...collection) => {
        const opened = index.open(...collection);
        const keys = opened.keys.bind(opened);
        opened.keys = () => {
          asked = true;
          return keys();
        };
        return opened;
      },
      guard: () => undefined,
      release: () => index.close(),
    });
    await listed(storage.logs("chats", projection));
    await storage.close();
    return asked;
  };
  assert.equal(await wasAsked(), false);
  rmSync(pathOf(home, "b"));
  assert.equal(await wasAsked(), true);
  assert.equal(await wasAsked(), false);
});

test("without its index a home lists every log", async (t) => {
  const home = await homeWith(t, "a", "b");
  rmSync(join(home, "index.db"));
  await using storage = await openFileStorage({ home });
  assert.deepEqual(await listed(storage.logs("chats", projection)), ["a", "b"]);
});
