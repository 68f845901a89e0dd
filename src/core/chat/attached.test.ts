// The files of messages go where their messages go.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { changed } from "../../../test/support/changed.ts";
import { kept } from "../../../test/support/kept-storage.ts";
import { stoppingStorage } from "../../../test/support/stopping-storage.ts";
import type { JsonObject } from "../json.ts";
import { hashOf } from "../storage/file-store.ts";
import { openMemoryStorage } from "../storage/memory/memory-storage.ts";
import type { Storage } from "../storage/storage.ts";
import { openThroughline } from "../throughline.ts";
import type { Chats } from "./chats.ts";
import { pendingId } from "./waiting.ts";

const chat = "telegram:42";
const bytesOf = (name: string) => Buffer.from(`the picture ${name}`);
const attachment = (name: string) => ({
  name: `${name}.png`,
  type: "image/png",
  size: bytesOf(name).length,
  sha256: hashOf(bytesOf(name)),
});

/** Stores a message with files, as a turn does. */
async function send(chats: Chats, id: string, names: readonly string[], chatId = chat) {
  for (const name of names) await chats.files.put(chatId, bytesOf(name));
  const attachments = names.map(attachment);
  await chats.append(chatId, [{ id, role: "user", content: `see ${id}`, attachments }]);
}

async function filesIn(chats: Chats, chatId = chat): Promise<readonly string[]> {
  const found = await chats.files.list(chatId);
  const all = await Promise.all(found.map(({ sha256 }) => chats.files.get(chatId, sha256)));
  return all.map((bytes) => String(Buffer.from(bytes ?? [])).replace("the picture ", "")).sort();
}

async function opened(t: TestContext, storage: Storage | "memory" = "memory") {
  const throughline = await openThroughline({ storage });
  t.after(() => throughline.close());
  return throughline;
}

test("a file stays while any message of its chat names it, if only by its hash", async (t) => {
  const { chats } = await opened(t);
  await send(chats, "m1", ["own", "one"]);
  const { sha256 } = attachment("one");
  const attachments = [{ name: "again", type: "image/png", sha256 }];
  await chats.append(chat, [{ id: "m2", role: "user", content: "again", attachments }]);
  const receipt = await chats.erase(chat, "m1");
  assert.deepEqual(receipt.removed[0], { place: "attachments", count: 1 });
  assert.deepEqual(await filesIn(chats), ["one"]);
  await chats.erase(chat, "m2");
  assert.deepEqual(await filesIn(chats), []);
});

test("files that cannot be removed are named in the receipt; the words are gone, and a repeat removes the files", async (t) => {
  const storage = openMemoryStorage();
  let isBroken = true;
  const away = () => Promise.reject(new Error("away"));
  const isAway = (name: unknown) => isBroken && (name === "delete" || name === "list");
  const files: Storage["files"] = (collection) =>
    changed(storage.files(collection), (name) => (isAway(name) ? away : undefined));
  const { chats } = await opened(t, { ...kept(storage), files });
  await send(chats, "m1", ["one"]);
  const first = await chats.forget(chat);
  assert.deepEqual(first.unreachable, ["attachments: not removed; repeat this"]);
  await assert.rejects(chats.messages(chat), { code: "THROUGHLINE_NOT_FOUND" });
  isBroken = false;
  assert.deepEqual(await filesIn(chats), ["one"]);
  const second = await chats.forget(chat);
  assert.deepEqual(second.removed.at(-1), { place: "attachments", count: 1 });
  assert.deepEqual([second.unreachable, await filesIn(chats)], [[], []]);
  // A new chat of the same id is not taken for what was left of the old one.
  await send(chats, "m2", ["two"]);
  const next = await opened(t, kept(storage));
  assert.deepEqual(await filesIn(next.chats), ["two"]);
});

for (const hasLog of [true, false]) {
  test(`a forgetting that is killed at any write leaves nothing after the next start${hasLog ? "" : ", of a chat without a log"}`, async (t) => {
    let isWhole = false;
    for (let write = 1; !isWhole; write++) {
      for (const when of ["before", "after"] as const) {
        const storage = openMemoryStorage();
        const first = await opened(t, kept(storage));
        if (hasLog) await send(first.chats, "m1", ["one", "two"]);
        else await first.chats.files.put(chat, bytesOf("one"));
        await send(first.chats, "m2", ["one"], "other");
        const dying = await opened(t, stoppingStorage(storage, { write, when }));
        const receipt = await dying.chats.forget(chat).catch(() => undefined);
        isWhole = receipt !== undefined;
        const { chats } = await opened(t, kept(storage));
        // A call that died before anything was stored was never begun.
        const isBegun = (await chats.forgottenAt(chat)) !== undefined;
        assert.equal(isBegun, write > 1 || when === "after");
        if (isBegun) {
          assert.deepEqual(await filesIn(chats), [], `write ${write}`);
          assert.equal((await chats.state(chat)).head, undefined);
        } else assert.notDeepEqual(await filesIn(chats), []);
        assert.deepEqual(await filesIn(chats, "other"), ["one"]);
        assert.equal((await chats.tombstones.after(0)).begun.size, 0);
      }
    }
  });
}

test("a message that waits for its turn keeps its files, and erasing it removes them", async (t) => {
  const { chats } = await opened(t);
  await send(chats, "m1", ["shared"]);
  await chats.change(chat, (transaction) => {
    const attachments = [attachment("shared"), attachment("own")];
    const said: JsonObject = { role: "user", content: "wait", attachments };
    transaction.control("pending_input", said, pendingId("m2"));
    transaction.set({ pending: ["m2"] });
  });
  await chats.files.put(chat, bytesOf("own"));
  await chats.erase(chat, "m1");
  assert.deepEqual(await filesIn(chats), ["own", "shared"]);
  await chats.erase(chat, "m2");
  assert.deepEqual(await filesIn(chats), []);
});

test("an erasure whose files cannot be removed erases nothing and can be repeated", async (t) => {
  const storage = openMemoryStorage();
  const { chats } = await opened(t, kept(storage));
  await send(chats, "m1", ["one"]);
  const dying = await opened(t, stoppingStorage(storage, { write: 1, when: "before" }));
  await assert.rejects(dying.chats.erase(chat, "m1"));
  assert.deepEqual(await filesIn(chats), ["one"]);
  const later = await opened(t, stoppingStorage(storage, { write: 1, when: "after" }));
  await assert.rejects(later.chats.erase(chat, "m1"), "the files are gone, and the message is not");
  assert.equal((await chats.message(chat, "m1")).content, "see m1");
  assert.equal((await chats.erase(chat, "m1")).erased, true);
  assert.deepEqual(await filesIn(chats), []);
});

test("taking back and clearing keep the files until the message is erased or the chat forgotten", async (t) => {
  const { chats } = await opened(t);
  await send(chats, "m0", ["taken"]);
  await send(chats, "m1", ["cleared"]);
  await chats.takeBack(chat, ["m0"]);
  await chats.clear(chat);
  assert.deepEqual(await filesIn(chats), ["cleared", "taken"]);
  for (const id of ["m0", "m1"]) await chats.erase(chat, id);
  assert.deepEqual(await filesIn(chats), []);
});

test("a fork has the files of the messages that it copies, and erasing one reaches both chats", async (t) => {
  const { chats } = await opened(t);
  await send(chats, "m1", ["one"]);
  await send(chats, "m2", ["hidden"]);
  await chats.takeBack(chat, ["m2"]);
  await send(chats, "m3", ["two", "one"]);
  await send(chats, "m4", ["later"]);
  await chats.fork(chat, "m3", "fork");
  assert.deepEqual(await filesIn(chats, "fork"), ["one", "two"]);
  const { copies } = await chats.erase(chat, "m3");
  assert.deepEqual(copies, ["fork"]);
  assert.deepEqual(await filesIn(chats, "fork"), ["one"]);
  assert.deepEqual(await filesIn(chats), ["hidden", "later", "one"]);
  await chats.forget(chat);
  assert.deepEqual(await filesIn(chats, "fork"), ["one"]);
});

test("a fork that is killed at any write leaves no file of it after the next start", async (t) => {
  let isWhole = false;
  for (let write = 1; !isWhole; write++) {
    for (const when of ["before", "after"] as const) {
      const storage = openMemoryStorage();
      const first = await opened(t, kept(storage));
      await send(first.chats, "m1", ["one", "two"]);
      const dying = await opened(t, stoppingStorage(storage, { write, when }));
      isWhole = (await dying.chats.fork(chat, "m1", "fork").catch(() => undefined)) !== undefined;
      const { chats } = await opened(t, kept(storage));
      const isThere = (await chats.state("fork")).head !== undefined;
      assert.deepEqual(await filesIn(chats, "fork"), isThere ? ["one", "two"] : []);
      assert.deepEqual(await filesIn(chats), ["one", "two"]);
    }
  }
});
