// Jobs in this process: what a backup and a restore leave at every point at which they may end, and what
// a backup holds whatever the program that uses the home does at any point of it.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { faultyDisk } from "../../../test/support/faulty-disk.ts";
import { frozenDisk, hookedDisk, unsyncedDisk } from "../../../test/support/hooked-disk.ts";
import { systemClock } from "../../core/clock.ts";
import { silentLogger } from "../../core/logger.ts";
import { type Disk, realDisk } from "../../core/storage/disk/disk.ts";
import { openFileStorage } from "../../core/storage/files/open-file-storage.ts";
import { openThroughline } from "../../core/throughline.ts";
import { writeBackup } from "./backup.ts";
import { restoreBackup } from "./restore.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const quickDisk = unsyncedDisk(realDisk);

/** An hour ahead: no file counts as changed just now, so that what is unchanged is not copied again. */
const aheadClock = { ...systemClock, now: () => systemClock.now() + 3_600_000 };

/** Backs up a home that is in use. */
function backUp(
  home: string,
  directory: string,
  { disk = quickDisk, clock = systemClock }: { disk?: Disk; clock?: typeof systemClock } = {},
) {
  const ports = {
    home,
    directory,
    version: "0.0.0",
    disk,
    clock,
    logger: silentLogger,
    signal: new AbortController().signal,
    hasStore: false,
    progress: () => undefined,
  };
  return writeBackup(ports, true);
}

function restoreFrom(directory: string, home: string, disk: Disk = quickDisk) {
  const { signal } = new AbortController();
  return restoreBackup({ directory, home, disk, signal, progress: () => undefined });
}

/** A home with a chat, a document and a package. */
async function smallHome(t: TestContext) {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  await using storage = await openFileStorage({ home, durability: "process" });
  await using throughline = await openThroughline({ storage });
  await throughline.chats.append("a", [{ role: "user", content: "hello" }]);
  await storage.documents("session").write("session", { mood: "calm" });
  fs.mkdirSync(join(home, "feedback/one"), { recursive: true });
  fs.writeFileSync(join(home, "feedback/one/feedback.json"), "{}");
  return { folder, home };
}

/** Every file below a folder, by its path in it. */
function contents(folder: string): Record<string, string> {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return Object.fromEntries(
    paths.map((path) => [path.slice(folder.length + 1), fs.readFileSync(path, "latin1")]),
  );
}

/** Waits until a job has ended, or stands still. */
async function untilStill(job: Promise<unknown>, hasFrozen: () => boolean): Promise<boolean> {
  let hasEnded = false;
  job.then(() => {
    hasEnded = true;
  }, assert.fail);
  while (!hasEnded && !hasFrozen()) await wait(1);
  await wait(4); // what other calls were under way has ended
  return hasEnded;
}

test("a backup that is killed at any call leaves no directory or a complete one, and the next one works", async (t) => {
  const { folder, home } = await smallHome(t);
  await backUp(home, join(folder, "expected"));
  const { "backup.json": _, ...files } = contents(join(folder, "expected"));
  assert.deepEqual(Object.keys(files), [
    "chats/a.jsonl",
    "feedback/one/feedback.json",
    "session/session.json",
  ]);
  let absent = 0;
  let whole = 0;
  for (let at = 1; ; at++) {
    const directory = join(folder, `b${at}`, "backup");
    const { disk, hasFrozen } = frozenDisk(quickDisk, at);
    if (await untilStill(backUp(home, directory, { disk }), hasFrozen)) break;
    if (fs.existsSync(directory)) whole++;
    else {
      absent++;
      await backUp(home, directory);
    }
    const { "backup.json": list, ...others } = contents(directory);
    assert.ok(list);
    assert.deepEqual(others, files, `call ${at}`);
    assert.deepEqual(fs.readdirSync(join(folder, `b${at}`)), ["backup"], `call ${at}`);
  }
  assert.ok(absent > 20 && whole > 0, `${absent} ${whole}`);
});

test("a restore that is killed at any call leaves no home or a whole one, and the next one works", async (t) => {
  const { folder, home } = await smallHome(t);
  const backup = join(folder, "backup");
  await backUp(home, backup);
  const { "backup.json": _, ...files } = contents(backup);
  let absent = 0;
  let whole = 0;
  for (let at = 1; ; at++) {
    const restored = join(folder, `r${at}`, "home");
    if (at % 2 === 0) fs.mkdirSync(restored, { recursive: true }); // an empty one may be there
    const { disk, hasFrozen } = frozenDisk(quickDisk, at);
    if (await untilStill(restoreFrom(backup, restored, disk), hasFrozen)) break;
    if (fs.existsSync(join(restored, "chats"))) whole++;
    else {
      absent++;
      await restoreFrom(backup, restored);
    }
    assert.deepEqual(contents(restored), files, `call ${at}`);
    assert.deepEqual(fs.readdirSync(join(folder, `r${at}`)), ["home"], `call ${at}`);
  }
  assert.ok(absent > 15 && whole > 0, `${absent} ${whole}`);
});

test("a backup and a restore on a full disk say so, and leave nothing half done", async (t) => {
  const { folder, home } = await smallHome(t);
  const backup = join(folder, "backup");
  await backUp(home, backup);
  const call = ["write", "sync", "mkdir", "rename", "syncDirectory"] as const;
  for (const job of [
    (target: string, disk: Disk) => backUp(home, target, { disk }),
    (target: string, disk: Disk) => restoreFrom(backup, target, disk),
  ]) {
    let failures = 0;
    for (let at = 1; ; at++) {
      const parent = join(folder, `f${at}`);
      const disk = faultyDisk(quickDisk, { fault: "ENOSPC", call, at });
      const error = await job(join(parent, "new"), disk).then(
        () => undefined,
        (cause) => cause,
      );
      const names = fs.existsSync(parent) ? fs.readdirSync(parent) : [];
      fs.rmSync(parent, { recursive: true, force: true });
      if (error === undefined) break;
      failures++;
      assert.equal(error.code, "ENOSPC");
      // Only the last sync may fail after it has appeared.
      assert.ok(names.length === 0 || names[0] === "new", `call ${at}: ${names}`);
    }
    assert.ok(failures > 12, String(failures));
  }
});

test("whatever is erased, forgotten or replaced at any call of a backup is not in it, and all that was said before is", async (t) => {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  await using storage = await openFileStorage({ home, durability: "process" });
  await using throughline = await openThroughline({ storage });
  const { chats } = throughline;
  const documents = storage.documents("notes");
  for (const kept of ["kept", "other"]) {
    await chats.append(kept, [{ role: "user", content: `${kept} words` }]);
  }
  let taken = 0;
  for (let at = 1; ; at += isFull ? 1 : 3) {
    const secret = `secret${at}x`;
    await chats.append("gone", [{ role: "user", content: secret }]);
    await chats.append("kept", [{ id: `m${at}`, role: "user", content: secret }]);
    await chats.append("kept", [{ role: "user", content: `said before ${at}` }]);
    await documents.write("note", { secret });
    await documents.write("note", { secret, again: true }); // the copy before it has the word too
    let calls = 0;
    let doneAt = Number.POSITIVE_INFINITY;
    const takeBack = async () => {
      await chats.forget("gone");
      await chats.erase("kept", `m${at}`);
      await documents.write("note", { secret: null });
      await documents.write("note", { secret: null, again: true });
      await chats.append("kept", [{ role: "user", content: "said after it" }]);
      doneAt = aheadClock.now();
    };
    const disk = hookedDisk(quickDisk, () => (++calls === at ? takeBack() : undefined));
    const directory = join(folder, `b${at}`);
    const { list } = await backUp(home, directory, { disk, clock: aheadClock });
    if (calls < at) break;
    const files = contents(directory);
    const said = files["chats/kept.jsonl"]?.split("\n") ?? [];
    const before = said.filter((line) => line.includes(`"content":"said before ${at}"`));
    assert.equal(before.length, 1, `call ${at}`);
    assert.deepEqual(list.damaged, [], `call ${at}`);
    assert.ok(files["chats/other.jsonl"]?.includes("other words"));
    if (doneAt < Date.parse(list.made_at)) {
      taken++;
      for (const [path, bytes] of Object.entries(files)) {
        if (path !== "backup.json") assert.ok(!bytes.includes(secret), `call ${at}: ${path}`);
      }
      assert.equal(files["chats/gone.jsonl"], undefined);
      assert.ok(!files["backup.json"]?.includes("gone"));
    }
    fs.rmSync(directory, { recursive: true });
  }
  assert.ok(taken > 10, String(taken));
});
