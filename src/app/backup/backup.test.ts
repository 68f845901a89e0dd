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
import { makeBackup, writeBackup } from "./copy.ts";
import { restoreBackup } from "./restore.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
/** More than any job here has. */
const mostPoints = 500;
/** Kills, faults and changes come at each call of the disk, or at some; a kill always at the last, too. */
const step = isFull ? 1 : 9;
const quickDisk = unsyncedDisk(realDisk);

/** Backs up a home. @param options.isUsed a process is known to use it. */
function backUp(
  home: string,
  directory: string,
  options: {
    disk?: Disk;
    signal?: AbortSignal;
    isUsed?: boolean;
  } = {},
) {
  const { isUsed = true } = options;
  const { disk = quickDisk, signal = new AbortController().signal } = options;
  const ports = {
    home,
    directory,
    version: "0.0.0",
    disk,
    clock: systemClock,
    logger: silentLogger,
    signal,
    hasStore: false,
    progress: () => undefined,
  };
  return isUsed ? writeBackup(ports, true) : makeBackup(ports);
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
  fs.writeFileSync(join(home, "persona.md"), "You are Nova, and you like short answers.");
  fs.writeFileSync(join(home, "chats/b.jsonl.tmp-abc"), "half"); // another process may write it now
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

/** How many calls of the disk a job makes. */
async function callsOf(job: (disk: Disk) => Promise<unknown>): Promise<number> {
  let calls = 0;
  await job(hookedDisk(quickDisk, () => void calls++));
  return calls;
}

test("a backup or a restore that is killed at any call leaves nothing or all of it, and the next one works", async (t) => {
  const { folder, home } = await smallHome(t);
  const backup = join(folder, "expected");
  await backUp(home, backup);
  const { "backup.json": _, ...files } = contents(backup);
  assert.deepEqual(Object.keys(files), [
    "chats/a.jsonl",
    "feedback/one/feedback.json",
    "persona.md",
    "session/session.json",
  ]);
  for (const [name, job] of [
    ["backup", (target: string, disk?: Disk) => backUp(home, target, { disk: disk ?? quickDisk })],
    ["home", (target: string, disk?: Disk) => restoreFrom(backup, target, disk)],
  ] as const) {
    const ends = { absent: 0, whole: 0 };
    const calls = await callsOf((disk) => job(join(folder, `counted ${name}`), disk));
    for (let at = calls; at > 0; at -= step) {
      const target = join(folder, `${name}${at}`, name);
      // A restore may find an empty folder.
      if (name === "home" && at % 2 === 0 && at < calls) fs.mkdirSync(target, { recursive: true });
      const { disk, hasFrozen } = frozenDisk(quickDisk, at);
      assert.equal(await untilStill(job(target, disk), hasFrozen), false);
      const isWhole = fs.existsSync(join(target, "chats"));
      ends[isWhole ? "whole" : "absent"]++;
      if (!isWhole) await job(target);
      const { "backup.json": list, ...others } = contents(target);
      assert.equal(list !== undefined, name === "backup");
      assert.deepEqual(others, files, `call ${at}`);
      assert.deepEqual(fs.readdirSync(join(target, "..")), [name], `call ${at}`);
    }
    assert.ok(ends.absent > 15 / step && ends.whole > 0, JSON.stringify(ends));
  }
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
    for (let at = 1; at < mostPoints; at += step) {
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
    assert.ok(failures > 12 / step, String(failures));
  }
});

for (const what of [
  "taken back",
  "removed by a feature alone",
  "replaced by what speaks of a new message",
]) {
  test(`a backup holds nothing of before its time that is ${what}, at any moment of it, and all that was said`, async (t) => {
    const folder = temporaryDirectory(t);
    const home = join(folder, "home");
    await using storage = await openFileStorage({ home, durability: "process" });
    await using throughline = await openThroughline({ storage });
    const { chats } = throughline;
    const say = (chat: string, id: string, content: string) =>
      chats.append(chat, [{ id, role: "user", content }]);
    /** The same with a file, as a turn stores it. */
    const send = async (chat: string, id: string, content: string) => {
      const bytes = Buffer.from(`The file of ${content}`);
      const sha256 = await chats.files.put(chat, bytes);
      const file = { name: "file", type: "text/plain", size: bytes.length, sha256 };
      await chats.append(chat, [{ id, role: "user", content, attachments: [file] }]);
      return sha256;
    };
    const documents = storage.documents("notes");
    await say("other", "o", "other words");
    const isTakenBack = what === "taken back";
    /** Files of attachments that this test took away. */
    const deleted = new Set<string>();
    for (let at = 1; at < mostPoints; at += isFull ? 1 : 16) {
      const secret = `secret${at}x`;
      await send("gone", `g${at}`, secret);
      await say("kept", `m${at}`, secret);
      await say("kept", `b${at}`, `said before ${at}.`);
      await documents.write("note", { secret });
      await documents.write("note", { secret, again: true }); // the copy before it has the word too
      fs.mkdirSync(join(home, "feedback", `p${at}`), { recursive: true });
      fs.writeFileSync(join(home, "feedback", `p${at}`, "feedback.json"), "{}");
      let moments = 0;
      let noted = "";
      let doneAt = Number.POSITIVE_INFINITY;
      const change = async () => {
        if (isTakenBack) await takeBack();
        const hash = await send("kept", `n${at}`, `noted ${at}.`);
        noted = `chats/kept.files/${hash}`;
        await documents.write("state", { noted: `noted ${at}.` });
        if (what.startsWith("replaced")) return;
        // As a feature does it: what it keeps is removed, then it says so.
        fs.rmSync(join(home, "feedback"), { recursive: true });
        await storage.documents("forgotten").write("feature", { removed: at });
      };
      const takeBack = async () => {
        await chats.forget("gone");
        await chats.erase("kept", `m${at}`);
        await documents.write("note", { secret: null });
        await documents.write("note", { secret: null, again: true });
        doneAt = Date.now();
      };
      const disk = hookedDisk(quickDisk, (call, path) => {
        const isMoment = call === "list" || call === "unlink" || call === "open";
        if (!isMoment || (call !== "unlink" && !path.startsWith(home))) return;
        if (++moments === at) return change();
      });
      const directory = join(folder, `b${at}`);
      const { list } = await backUp(home, directory, { disk });
      if (moments < at) break;
      const files = contents(directory);
      const kept = files["chats/kept.jsonl"] ?? "";
      assert.equal(kept.split(`said before ${at}.`).length, 2, `moment ${at}`);
      assert.ok(files["chats/other.jsonl"]?.includes("other words"));
      const damaged = list.damaged.filter(({ path }) => !deleted.has(path));
      assert.deepEqual(damaged, [], `moment ${at}`);
      if (doneAt < Date.parse(list.made_at)) {
        for (const [path, bytes] of Object.entries(files)) {
          assert.ok(!bytes.includes(secret), `moment ${at}: ${path}`);
        }
        assert.deepEqual(namesOf(directory, "gone"), [], `moment ${at}`);
      }
      if (kept.includes(`noted ${at}.`)) assert.ok(files[noted], `moment ${at}: no file`);
      for (const chat of ["kept", "gone"]) {
        for (const { sha256 } of await chats.files.list(chat)) {
          deleted.add(`chats/${chat}.files/${sha256}`);
        }
        await chats.files.delete(chat);
      }
      // No document speaks of a message that the backup lacks, no mark of a removal that it undoes.
      if (files["notes/state.json"]?.includes(`noted ${at}.`)) {
        assert.ok(kept.includes(`noted ${at}.`), `moment ${at}`);
      }
      if (files["forgotten/feature.json"]?.includes(`"removed": ${at},`)) {
        assert.ok(!Object.keys(files).some((path) => path.startsWith("feedback/")), `moment ${at}`);
      }
      for (const path of [directory, join(home, "feedback")]) {
        fs.rmSync(path, { recursive: true, force: true });
      }
    }
  });
}

test("a message that came with a file and was erased while a backup was made leaves no gap in it: it is refused", async (t) => {
  const { folder, home } = await smallHome(t);
  await using throughline = await openThroughline({ home });
  const { chats } = throughline;
  let step: "send" | "erase" | "nothing" = "send";
  const disk = hookedDisk(quickDisk, async (call, path) => {
    if (call === "open" && path === join(home, "chats/a.jsonl") && step === "send") {
      step = "erase";
      const bytes = Buffer.from("picture");
      const sha256 = await chats.files.put("a", bytes);
      const file = { name: "a.png", type: "image/png", size: bytes.length, sha256 };
      await chats.append("a", [{ id: "m1", role: "user", content: "look", attachments: [file] }]);
    } else if (call === "list" && path === home && step === "erase") {
      step = "nothing";
      await chats.erase("a", "m1");
    }
  });
  const backup = join(folder, "backup");
  await assert.rejects(backUp(home, backup, { disk }), { code: "THROUGHLINE_UNAVAILABLE" });
  assert.ok(!fs.existsSync(backup));
  const { list, isIncomplete } = await backUp(home, backup, { disk });
  assert.deepEqual([step, list.damaged, isIncomplete], ["nothing", [], false]);
  assert.doesNotMatch(contents(backup)["chats/a.jsonl"] ?? "", /look/);
});

/** What a backup has of a chat, folders too. */
function namesOf(directory: string, chatId: string): readonly string[] {
  const names = fs.readdirSync(join(directory, "chats"));
  return names.filter((name) => name.startsWith(chatId));
}

test("an attachment that is being written is in no backup, and a damaged one is copied and named", async (t) => {
  const { folder, home } = await smallHome(t);
  await using throughline = await openThroughline({ home });
  const hash = await throughline.chats.files.put("a", Buffer.from("a picture"));
  const path = join(home, "chats/a.files", hash);
  fs.writeFileSync(`${path}.tmp-abc`, "a pic");
  const whole = await backUp(home, join(folder, "whole"));
  assert.deepEqual(fs.readdirSync(join(folder, "whole/chats/a.files")), [hash]);
  assert.deepEqual(whole.list.damaged, []);
  fs.writeFileSync(path, "A picture");
  const { list } = await backUp(home, join(folder, "damaged"));
  const reason = "it is not the file that its name says";
  assert.deepEqual(list.damaged, [{ path: `chats/a.files/${hash}`, reason }]);
  await restoreFrom(join(folder, "whole"), join(folder, "restored"));
  await using restored = await openThroughline({ home: join(folder, "restored") });
  assert.equal(String(await restored.chats.files.get("a", hash)), "a picture");
});

test("every file is synced after its last write and every folder before the rename, backup.json last", async (t) => {
  const { folder, home } = await smallHome(t);
  const backup = join(folder, "backup");
  const restored = join(folder, "restored");
  for (const [target, job] of [
    [backup, (disk: Disk) => backUp(home, backup, { disk })],
    [restored, (disk: Disk) => restoreFrom(backup, restored, disk)],
  ] as const) {
    const unsynced = new Set<string>();
    let renamedFrom = "";
    const order: string[] = [];
    await job(
      hookedDisk(realDisk, (call, path) => {
        if (!path.startsWith(target) && (path !== folder || call === "mkdir")) return;
        if (call === "write") unsynced.add(path);
        if (call === "write" || call === "mkdir") unsynced.add(join(path, ".."));
        if (call === "mkdir") unsynced.add(path);
        if (call === "sync" || call === "syncDirectory") unsynced.delete(path);
        if (call === "sync") order.push(path);
        if (call !== "rename") return;
        renamedFrom = path;
        assert.deepEqual([...unsynced], [folder]);
      }),
    );
    assert.deepEqual([...unsynced], [], "the folder above, after the rename");
    if (target === backup) assert.equal(order.at(-1), join(renamedFrom, "backup.json"));
  }
});

test("a disk that changes or loses what is written to a log, a document or another file makes backup and restore fail", async (t) => {
  const { folder, home } = await smallHome(t);
  await backUp(home, join(folder, "backup"));
  for (const name of ["a.jsonl", "session.json", "persona.md"]) {
    for (const lie of [
      (bytes: Uint8Array) => Buffer.from(bytes).fill("x", 30, 31),
      () => new Uint8Array(0),
    ]) {
      const disk = lyingDisk(quickDisk, name, lie);
      const isRefused = { code: "THROUGHLINE_UNAVAILABLE" };
      await assert.rejects(backUp(home, join(folder, "new"), { disk }), isRefused);
      const restored = restoreFrom(join(folder, "backup"), join(folder, "new"), disk);
      await assert.rejects(restored, isRefused, name);
    }
  }
  assert.deepEqual(fs.readdirSync(folder).sort(), ["backup", "home"]);
});

/** Writes other bytes to a file than it was given, and says nothing of it. */
function lyingDisk(disk: Disk, name: string, lie: (bytes: Uint8Array) => Uint8Array): Disk {
  return {
    ...disk,
    open: async (path, how) => {
      const file = await disk.open(path, how);
      if (!path.endsWith(name)) return file;
      const write = file.write.bind(file);
      file.write = async (bytes, position) => {
        await write(lie(bytes), position);
        return bytes.length;
      };
      return file;
    },
  };
}

test("a place that is taken is refused before anything is written", async (t) => {
  const { folder, home } = await smallHome(t);
  const calls: string[] = [];
  const disk = hookedDisk(quickDisk, (call) => void calls.push(call));
  await backUp(home, join(folder, "backup"));
  const signal = new AbortController().signal;
  const directory = join(folder, "backup");
  const ports = { home, directory, disk, signal, progress: () => undefined };
  const more = { version: "0", clock: systemClock, logger: silentLogger, hasStore: false };
  await assert.rejects(makeBackup({ ...ports, ...more }), { code: "THROUGHLINE_CONFLICT" });
  await assert.rejects(restoreBackup(ports), { code: "THROUGHLINE_CONFLICT" });
  assert.deepEqual(
    calls.filter((call) => /write|mkdir|rename/.test(call)),
    [],
  );
  // Another run may take it meanwhile, or in the last moment: the first to end has it.
  const target = join(folder, "new");
  for (const moment of ["mkdir", "rename"]) {
    const late = hookedDisk(quickDisk, (call) => {
      if (call === moment) fs.mkdirSync(join(target, "taken"), { recursive: true });
    });
    for (const fill of [
      () => backUp(home, target, { disk: late }),
      () => restoreFrom(directory, target, late),
    ]) {
      await assert.rejects(fill(), { code: "THROUGHLINE_CONFLICT" });
      assert.deepEqual(fs.readdirSync(target), ["taken"]);
      assert.deepEqual(fs.readdirSync(folder).sort(), ["backup", "home", "new"]);
      fs.rmSync(target, { recursive: true });
    }
  }
});

test("a file that cannot be read is named, and everything else is in the backup", async (t) => {
  const { folder, home } = await smallHome(t);
  for (const [call, name] of [
    ["open", "chats/a.jsonl"],
    ["read", "persona.md"],
  ] as const) {
    const path = new RegExp(`home/${name}$`);
    const disk = faultyDisk(quickDisk, { fault: "EIO", call, path, at: 1, repeat: "forever" });
    const directory = join(folder, call);
    const { list, isIncomplete } = await backUp(home, directory, { disk });
    assert.deepEqual(list.left_out, [{ path: name, reason: "cannot be read (EIO)" }]);
    assert.ok(isIncomplete);
    assert.equal(list.files.length, 3);
    assert.ok(!fs.existsSync(join(directory, name)));
  }
});

test("a program can start while a backup of its home copies, and what it says then is no damage", async (t) => {
  const { folder, home } = await smallHome(t);
  const directory = join(folder, "backup");
  let started = 0;
  const disk = hookedDisk(quickDisk, async (call, path) => {
    if (call !== "open" || !path.startsWith(directory) || started++ > 0) return;
    await using throughline = await openThroughline({ home });
    await throughline.chats.append("b", [{ role: "user", content: "hello again" }]);
  });
  const { list, inUse, isIncomplete } = await backUp(home, directory, { disk, isUsed: false });
  assert.ok(started > 0);
  assert.deepEqual([inUse, isIncomplete, list.damaged], [false, false, []]);
  assert.match(contents(directory)["chats/a.jsonl"] ?? "", /hello/);
});

test("a backup and a restore that are stopped in the middle of a file read no more of it", async (t) => {
  const { folder, home } = await smallHome(t);
  const backup = join(folder, "backup");
  fs.writeFileSync(join(home, "feedback/one/audio.wav"), Buffer.alloc(4 * 1024 * 1024, 7));
  await backUp(home, backup);
  // Each copies 4 pieces first, and then reads them back.
  for (const at of [2, 6]) {
    for (const job of ["backup", "restore"]) {
      const stop = new AbortController();
      let reads = 0;
      const disk = hookedDisk(quickDisk, (call, path) => {
        if (call !== "read" || !path.endsWith("audio.wav")) return;
        if (++reads === at) stop.abort(new Error("stopped"));
      });
      const { signal } = stop;
      const target = join(folder, `${job}${at}`);
      const progress = () => undefined;
      const running =
        job === "backup"
          ? backUp(home, target, { disk, signal })
          : restoreBackup({ directory: backup, home: target, disk, signal, progress });
      await assert.rejects(running, /stopped/, `${job} ${at}`);
      assert.equal(reads, at, `${job} ${at}`);
    }
  }
});
