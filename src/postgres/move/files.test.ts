// The attachments of chats move with them.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { kept } from "../../../test/support/kept-storage.ts";
import { Stopped, stoppingStorage } from "../../../test/support/stopping-storage.ts";
import { moveUnderWay } from "../../core/chat/move-under-way.ts";
import { damagedFile, hashOf } from "../../core/storage/file-store.ts";
import { openMemoryStorage } from "../../core/storage/memory/memory-storage.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { openThroughline } from "../../core/throughline.ts";
import { copyCompanion } from "./copy-companion.ts";

const bytesOf = (name: string) => Buffer.from(`the picture ${name}`);

/** A storage in which pictures were sent, each with a message of its own, by chat. */
async function storageWith(t: TestContext, sent: Readonly<Record<string, readonly string[]>>) {
  const storage = openMemoryStorage();
  t.after(() => storage.close());
  const { chats } = await openThroughline({ storage: kept(storage) });
  for (const [chatId, names] of Object.entries(sent)) {
    for (const name of names) {
      const sha256 = await chats.files.put(chatId, bytesOf(name));
      const file = { name, type: "image/png", size: 9, sha256 };
      await chats.append(chatId, [{ id: name, role: "user", content: name, attachments: [file] }]);
    }
  }
  return { storage, chats };
}

async function filesOf(storage: Storage): Promise<Readonly<Record<string, readonly string[]>>> {
  const files = storage.files("chats");
  const found: Record<string, readonly string[]> = {};
  for (const key of (await Array.fromAsync(files.keys())).sort()) {
    const hashes = (await files.list(key)).map(({ sha256 }) => sha256);
    const all = await Promise.all(hashes.map((hash) => files.get(key, hash)));
    found[key] = all
      .map((bytes) =>
        Buffer.from(bytes ?? [])
          .toString()
          .slice(12),
      )
      .sort();
  }
  return found;
}

const sent = { a: ["one", "two"], b: ["one"] };

test("attachments are copied", async (t) => {
  const { storage: source } = await storageWith(t, sent);
  const { storage: target } = await storageWith(t, {});
  const first = await copyCompanion(source, target);
  assert.equal(first.files, 3);
  assert.deepEqual(await filesOf(target), sent);
});

test("a copy that is killed at any write is completed by the next one", async (t) => {
  const { storage: source } = await storageWith(t, sent);
  let isWhole = false;
  for (let write = 1; !isWhole; write++) {
    for (const when of ["before", "after"] as const) {
      const { storage: target } = await storageWith(t, {});
      const copying = copyCompanion(source, stoppingStorage(target, { write, when }));
      const outcome = await copying.catch((error: unknown) => error);
      isWhole = !(outcome instanceof Stopped);
      if (!isWhole && (await moveUnderWay(target)) !== undefined)
        await copyCompanion(source, target);
      else if (write === 1) continue; // nothing was written
      assert.deepEqual(await filesOf(target), sent, `${when} write ${write}`);
    }
  }
});

/** The same storage, in which one file is damaged. */
function damagedIn(storage: Storage, name: string): Storage {
  const damaged = hashOf(bytesOf(name));
  const files: Storage["files"] = (collection) => {
    const store = storage.files(collection);
    return {
      put: (...args) => store.put(...args),
      get: async (key, hash) => {
        if (hash === damaged) throw damagedFile(key, hash);
        return store.get(key, hash);
      },
      list: (key) => store.list(key),
      delete: (...args) => store.delete(...args),
      keys: () => store.keys(),
    };
  };
  return { ...kept(storage), files };
}

test("a damaged file refuses the copy, or is left out where damage is to be passed over", async (t) => {
  const { storage } = await storageWith(t, sent);
  const source = damagedIn(storage, "two");
  const { storage: target } = await storageWith(t, {});
  await assert.rejects(copyCompanion(source, target), { code: "THROUGHLINE_CORRUPT" });
  assert.equal((await copyCompanion(source, target, { damaged: "mark" })).files, 2);
  assert.deepEqual(await filesOf(target), { a: ["one"], b: ["one"] });
});
