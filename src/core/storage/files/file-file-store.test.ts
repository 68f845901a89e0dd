import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { homeFolder, openedHome } from "../../../../test/support/indexed-home.ts";
import { realDisk } from "../disk/disk.ts";
import { hashOf } from "../file-store.ts";
import { unlisted } from "../log-store.ts";
import { FileFileStore } from "./file-file-store.ts";
import { openFileStorage } from "./open-file-storage.ts";

const bytes = Buffer.from("a picture");
const hash = hashOf(bytes);

async function opened(t: TestContext) {
  const { home, storage } = await openedHome(t);
  return { home, files: storage.files("chats"), folder: join(home, "chats/a.files") };
}

test("a file lies beside the log of its chat, under its hash, readable by its owner alone", async (t) => {
  const { files, folder } = await opened(t);
  await files.put("a", bytes);
  const path = join(folder, hash);
  assert.deepEqual(fs.readFileSync(path), bytes);
  if (process.platform === "win32") return;
  assert.deepEqual(
    [fs.statSync(folder).mode & 0o777, fs.statSync(path).mode & 0o777],
    [0o700, 0o600],
  );
});

test("a damaged file is not answered; storing it again repairs it, and it can be deleted", async (t) => {
  const { files, folder } = await opened(t);
  for (const damage of ["A picture", "a pic", "a picture and more", "x".repeat(21 * 1024 * 1024)]) {
    await files.put("a", bytes);
    fs.writeFileSync(join(folder, hash), damage);
    await assert.rejects(files.get("a", hash), { code: "THROUGHLINE_CORRUPT" });
    assert.equal(await files.put("a", bytes), hash);
    assert.deepEqual(Buffer.from((await files.get("a", hash)) ?? []), bytes);
    fs.writeFileSync(join(folder, hash), damage);
    assert.equal(await files.delete("a"), 1);
    assert.equal(fs.existsSync(folder), false);
  }
});

test("a link in the place of a folder of files is neither written nor emptied", async (t) => {
  const { home, files, folder } = await opened(t);
  const elsewhere = join(home, "elsewhere");
  fs.mkdirSync(elsewhere);
  fs.writeFileSync(join(elsewhere, hash), bytes);
  fs.mkdirSync(join(home, "chats"), { recursive: true });
  fs.symlinkSync(elsewhere, folder);
  await assert.rejects(files.put("a", Buffer.from("other")), { code: "THROUGHLINE_UNAVAILABLE" });
  await assert.rejects(files.delete("a"), { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
  assert.deepEqual(fs.readdirSync(elsewhere), [hash]);
});

test("what somebody else put among the files is no file of ours, and goes with all of them", async (t) => {
  const { files, folder } = await opened(t);
  await files.put("a", bytes);
  fs.writeFileSync(join(folder, "notes.txt"), "mine");
  fs.symlinkSync("/nowhere", join(folder, "0".repeat(64)));
  assert.deepEqual(await files.list("a"), [{ sha256: hash, bytes: bytes.length }]);
  assert.equal(await files.delete("a", [hash]), 1);
  assert.equal(fs.existsSync(join(folder, "notes.txt")), true);
  await files.delete("a");
  assert.equal(fs.existsSync(folder), false);
});

test("a file that is removed while a list is made hides no other one", async (t) => {
  const { home, files } = await opened(t);
  const hashes = [];
  for (const text of ["1", "2", "3"]) hashes.push(await files.put("a", Buffer.from(text)));
  const gone = hashes.sort()[0] ?? "";
  const disk = {
    ...realDisk,
    list: async (path: string) =>
      (await realDisk.list(path)).toSorted((a) => (a.name === gone ? -1 : 1)),
    size: async (path: string) => {
      if (path.endsWith(gone)) fs.rmSync(path);
      return realDisk.size(path);
    },
  };
  const directory = join(home, "chats");
  const unsyncedNames = new Set<string>();
  const ports = { disk, unsyncedNames, newId: () => "1", guard: () => undefined };
  const listed = await new FileFileStore(ports, directory).list("a");
  assert.deepEqual(
    listed.map(({ sha256 }) => sha256),
    hashes.slice(1),
  );
});

test("a folder within the files of a chat is not removed: the deletion says so, and is repeated", async (t) => {
  const { files, folder } = await opened(t);
  await files.put("a", bytes);
  fs.mkdirSync(join(folder, "more"));
  await assert.rejects(files.delete("a"), { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
  fs.rmdirSync(join(folder, "more"));
  await files.delete("a");
  assert.equal(fs.existsSync(folder), false);
});

test("a start passes over the files, and lists no chat for them", async (t) => {
  const home = homeFolder(t);
  for (const _ of [1, 2]) {
    await using storage = await openFileStorage({ home });
    const logs = storage.logs("chats", unlisted);
    await storage.files("chats").put("a", bytes);
    await storage.files("chats").put("k".repeat(300), bytes);
    assert.deepEqual((await logs.list({ limit: 9 })).rows, []);
    assert.deepEqual(storage.repairs(), []);
    fs.rmSync(join(home, "index.db"), { force: true });
  }
});
