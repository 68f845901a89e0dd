// Files of an open home that another program removes, replaces or links: nothing is answered as stored
// that is not in the file that the name leads to.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { homeFolder, openedHome } from "../../../../test/support/indexed-home.ts";
import { secondLater } from "../../../../test/support/second-later.ts";
import { projection } from "../../../../test/support/storage-workload.ts";
import type { LogStore } from "../log-store.ts";

async function openEmpty(t: TestContext) {
  const { home, storage } = await openedHome(t);
  const logs = storage.logs("chats", projection);
  return { place: homeFolder(t), home, storage, logs, path: join(home, "chats", "a.jsonl") };
}

async function openHome(t: TestContext) {
  const made = await openEmpty(t);
  for (const id of ["m1", "m2"]) await say(made.logs, id);
  return made;
}

const say = (logs: LogStore, id: string) => logs.append("a", [{ id, content: `says ${id}` }]);

async function idsIn(logs: LogStore): Promise<readonly string[]> {
  return (await Array.fromAsync(logs.read("a"))).map(({ id }) => id);
}

const bytesOf = (path: string) => fs.readFileSync(path, "latin1");

const replacements: readonly (readonly [string, (path: string) => void])[] = [
  ["sed -i", (path) => execFileSync("sed", ["-i", "s/nothing/nothing/", path])],
  [
    "mv and cp",
    (path) => {
      fs.renameSync(path, `${path}.old`);
      fs.copyFileSync(`${path}.old`, path);
    },
  ],
];
for (const [name, replace] of replacements) {
  test(`an append to a log whose file was replaced by ${name} is refused, and the next one goes into the new file`, async (t) => {
    const { logs, path } = await openHome(t);
    replace(path);
    const before = bytesOf(path);
    await assert.rejects(say(logs, "m3"), {
      code: "THROUGHLINE_UNAVAILABLE",
      message: /a\.jsonl.* was removed or replaced/,
    });
    assert.equal(bytesOf(path), before);
    assert.equal(await say(logs, "m3"), 3);
    assert.deepEqual(await idsIn(logs), ["m1", "m2", "m3"]);
    assert.match(bytesOf(path), /says m3/);
  });
}

test("a log in whose place an older copy was put goes on from that copy, and is reported", async (t) => {
  const { logs, path, storage } = await openHome(t);
  fs.copyFileSync(path, `${path}.backup`);
  await say(logs, "m3");
  fs.renameSync(`${path}.backup`, path);
  await assert.rejects(say(logs, "m4"), { code: "THROUGHLINE_UNAVAILABLE" });
  assert.equal(await say(logs, "m4"), 3);
  assert.deepEqual(await idsIn(logs), ["m1", "m2", "m4"]);
  assert.deepEqual(
    storage.repairs().map(({ kind }) => kind),
    ["older_copy"],
  );
});

test("an append to a log whose file was removed is refused until the file is back", async (t) => {
  const { logs, path } = await openHome(t);
  fs.renameSync(path, `${path}.away`);
  await assert.rejects(say(logs, "m3"), { code: "THROUGHLINE_UNAVAILABLE" });
  await assert.rejects(say(logs, "m3"), { code: "THROUGHLINE_UNAVAILABLE", message: /not there/ });
  assert.equal(fs.existsSync(path), false);
  fs.renameSync(`${path}.away`, path);
  assert.equal(await say(logs, "m3"), 3);
  assert.match(bytesOf(path), /says m3/);
});

test("erasing in a log whose file was replaced is refused, and what was put there stays", async (t) => {
  const { logs, path } = await openHome(t);
  execFileSync("sed", ["-i", "s/nothing/nothing/", path]);
  const { ino } = fs.statSync(path);
  await assert.rejects(logs.erase("a", ["m1"]), { code: "THROUGHLINE_UNAVAILABLE" });
  assert.equal(fs.statSync(path).ino, ino);
  assert.equal(await logs.erase("a", ["m1"]), 1);
  assert.doesNotMatch(bytesOf(path), /says m1/);
});

test("the files of a backup that was made with links a second ago are not written by the home they came from", async (t) => {
  const { logs, place, home, path } = await openHome(t);
  const backup = join(place, "backup");
  execFileSync("cp", ["-al", home, backup]);
  const kept = bytesOf(join(backup, "chats", "a.jsonl"));
  secondLater(t);
  assert.equal(await say(logs, "m3"), 3, "the file has the same bytes: nothing has to be refused");
  assert.equal(bytesOf(join(backup, "chats", "a.jsonl")), kept);
  assert.match(bytesOf(path), /says m3/);
});

test("a file that is put where a log was just looked for is not written over, and the next append goes into it", async (t) => {
  const { path } = await openHome(t);
  const { logs, path: own } = await openEmpty(t);
  assert.equal(await logs.tail("a", 0), undefined);
  fs.mkdirSync(dirname(own), { recursive: true });
  fs.copyFileSync(path, own);
  const before = bytesOf(own);
  await assert.rejects(say(logs, "m3"), { code: "THROUGHLINE_UNAVAILABLE" });
  assert.equal(bytesOf(own), before);
  assert.equal(await say(logs, "m3"), 3);
  assert.deepEqual(await idsIn(logs), ["m1", "m2", "m3"]);
});
