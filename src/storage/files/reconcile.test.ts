import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { LogProjection, LogStore } from "../log-store.ts";
import { fileNameOf } from "./file-name.ts";
import { openFileStorage } from "./open-file-storage.ts";

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

test("without its index a home lists every log", async (t) => {
  const home = await homeWith(t, "a", "b");
  rmSync(join(home, "index.db"));
  await using storage = await openFileStorage({ home });
  assert.deepEqual(await listed(storage.logs("chats", projection)), ["a", "b"]);
});
