// `backup` and `restore` as commands, on real homes and beside real processes.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { encodeDocument } from "../src/core/storage/files/document-file.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { bytesUnder, Child, Process, runCli, temporaryDirectory } from "./support/command-line.ts";

/** A process that writes the home, and what it acknowledged so far. */
function startWriter(t: TestContext, home: string) {
  const script = join(import.meta.dirname, "support/backup-child.ts");
  const writer = new Child(t, process.execPath, [script, home], {});
  const said: number[] = [];
  const gone: { readonly gone: number; readonly at: number }[] = [];
  createInterface({ input: writer.child.stdout }).on("line", (line) => {
    const note = JSON.parse(line);
    if (note.said === undefined) gone.push(note);
    else said.push(note.said);
  });
  return {
    said,
    gone,
    /** After some more messages, with what they left in the journal. */
    async kill() {
      writer.child.stdin.write("keep");
      const wanted = said.length + 6;
      while (said.length < wanted) await wait(5);
      await writer.kill();
    },
  };
}

/** The ids of all messages of a chat, in order. */
async function idsIn(home: string, chat: string): Promise<readonly string[]> {
  await using throughline = await openThroughline({ home });
  const ids: string[] = [];
  let before: number | undefined;
  do {
    const page = await throughline.chats.messages(chat, { before, limit: 500 });
    ids.unshift(...page.messages.map(({ id }) => id));
    before = page.before;
  } while (before !== undefined);
  return ids;
}

const isOfProcess = (name: string) => /journal|lock|index/.test(name);

async function assertHasAll(home: string, said: readonly number[]): Promise<void> {
  for (let chat = 0; chat < 4; chat++) {
    const ids = (await idsIn(home, `chat:${chat}`)).filter((id) => id.startsWith("m"));
    assert.equal(new Set(ids).size, ids.length, "each once");
    const missing = said.filter((i) => ids[i] !== `m${chat}-${i}`);
    assert.deepEqual(missing, [], `chat:${chat}`);
  }
}

test("backups of a home in use hold all that was said before and nothing forgotten before; after a kill, all that was said", async (t) => {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  const writer = startWriter(t, home);
  while (writer.gone.length < 3) await wait(5);
  for (const name of process.env["THROUGHLINE_FULL"] ? ["first", "second"] : ["first"]) {
    const directory = join(folder, name);
    const said = [...writer.said];
    const { code, out, err } = await runCli(["backup", directory, "--json"], { home });
    assert.equal(code, 0, err);
    const result = JSON.parse(out);
    assert.deepEqual([result.in_use, result.damaged, result.left_out], [true, [], []]);
    assert.deepEqual(fs.readdirSync(directory).filter(isOfProcess), []);
    const text = bytesUnder(directory);
    const restored = join(folder, `restored-${name}`);
    assert.equal((await runCli(["restore", directory, "--home", restored], { home })).code, 0);
    await assertHasAll(restored, said);
    const before = writer.gone.filter(({ at }) => at < Date.parse(result.made_at));
    assert.ok(before.length >= 3);
    for (const { gone } of before) {
      for (const word of ["erase", "forget", "replace"]) {
        assert.ok(!text.includes(`${word}-${gone}-me`), `${word} ${gone}`);
      }
    }
  }
  await writer.kill();
  assert.ok(fs.readdirSync(join(home, "journal")).length > 0, "the journal was not emptied");
  const third = join(folder, "third");
  const { code, out } = await runCli(["backup", third], { home });
  assert.equal(code, 0);
  assert.doesNotMatch(out, /in use/);
  assert.deepEqual(fs.readdirSync(third).filter(isOfProcess), []);
  const restored = join(folder, "restored-third");
  await runCli(["restore", third, "--home", restored], { home });
  await assertHasAll(restored, writer.said);
  const doctor = await runCli(["doctor"], { home: restored });
  assert.deepEqual([doctor.code, /Nothing is damaged/.test(doctor.out)], [0, true], doctor.out);
});

/** A home with some chats. */
async function homeOf(t: TestContext, chats: number) {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  await using throughline = await openThroughline({ home });
  const names = Array.from({ length: chats }, (_, i) => `chat:${i}`);
  const content = "Hello ".repeat(200);
  await Promise.all(
    names.map((name) => throughline.chats.append(name, [{ role: "user", content }])),
  );
  return { folder, home };
}

test("after a kill of backup or restore there is nothing, and the same command works", {
  skip: process.platform === "win32" && "Windows has no signals",
}, async (t) => {
  const { folder, home } = await homeOf(t, 60);
  const to = (name: string) => join(folder, "to", name);
  const isBegun = () =>
    fs.existsSync(to("")) && fs.readdirSync(to("")).some((n) => /-\w{18}$/.test(n));
  for (const [args, target] of [
    [["backup", to("backup")], to("backup")],
    [["restore", to("backup"), "--home", to("home")], to("home")],
  ] as const) {
    // On a busy machine the command may be done before it is seen to copy: then it is begun again.
    let isKilled = false;
    for (let tries = 0; tries < 20 && !isKilled; tries++) {
      const command = new Process(t, args, { home });
      let isOver = false;
      const ended = command.ended().then(() => {
        isOver = true;
      });
      while (!isBegun() && !isOver) await wait(2);
      const { code } = await command.kill();
      await ended;
      isKilled = code === null && !fs.existsSync(target);
      if (!isKilled) fs.rmSync(target, { recursive: true });
    }
    assert.ok(isKilled, "whatever was killed left its target");
    assert.equal((await runCli(args, { home })).code, 0);
    assert.ok(fs.existsSync(target));
    assert.equal(isBegun(), false, "what the killed one left is removed");
  }
  assert.deepEqual(await idsIn(to("home"), "chat:59"), await idsIn(home, "chat:59"));
  assert.equal(fs.statSync(to("home")).mode & 0o777, 0o700);
  assert.equal(fs.statSync(join(to("backup"), "chats/chat%3a7.jsonl")).mode & 0o777, 0o600);
});

test("a backup with one other byte, or without a file, is refused, and names the file", async (t) => {
  const { folder, home } = await homeOf(t, 1);
  fs.writeFileSync(join(home, "persona.md"), "You are Nova.");
  fs.writeFileSync(join(home, "consent.json"), JSON.stringify({ messages: true, frames: true }));
  const backup = join(folder, "backup");
  await runCli(["backup", backup], { home });
  const restored = join(folder, "restored");
  for (const name of ["chats/chat%3a0.jsonl", "persona.md", "backup.json"]) {
    const path = join(backup, name);
    const bytes = fs.readFileSync(path);
    const flipped = Buffer.from(bytes);
    flipped[bytes.length >> 1]! ^= 4;
    fs.writeFileSync(path, flipped);
    const { code, err: refused } = await runCli(["restore", backup], { home: restored });
    assert.equal(code, 1);
    assert.ok(refused.includes(name) && refused.includes("THROUGHLINE_CORRUPT"), refused);
    fs.rmSync(path);
    const { err } = await runCli(["restore", backup], { home: restored });
    assert.ok(err.includes(name), err);
    fs.writeFileSync(path, bytes);
  }
  assert.deepEqual(fs.readdirSync(folder).sort(), ["backup", "home"]);
  const { code, out } = await runCli(["restore", backup], { home: restored });
  assert.equal(code, 0);
  assert.match(out, /\nConsent that was withdrawn after that holds again: withdraw it again\.\n/);
  assert.match(fs.readFileSync(join(restored, "consent.json"), "utf8"), /"frames":true/);
});

test("a backup.json of a later version, and one whose paths lead elsewhere, are refused", async (t) => {
  const { folder, home } = await homeOf(t, 1);
  const backup = join(folder, "backup");
  await runCli(["backup", backup], { home });
  const list = JSON.parse(fs.readFileSync(join(backup, "backup.json"), "utf8"));
  const { _key, _revision, _crc, ...value } = list;
  const write = (changed: object) =>
    fs.writeFileSync(
      join(backup, "backup.json"),
      encodeDocument(_key, JSON.stringify({ ...value, ...changed }, null, 2), _revision),
    );
  const restored = join(folder, "restored");
  write({ format: 2 });
  assert.match(
    (await runCli(["restore", backup], { home: restored })).err,
    /has format 2\. .*\[THROUGHLINE_NEWER_FORMAT\]/,
  );
  fs.writeFileSync(join(backup, "backup.json"), JSON.stringify(value)); // without a seal
  assert.match((await runCli(["restore", backup], { home: restored })).err, /is damaged/);
  for (const path of [
    "../home/chats/chat%3a0.jsonl",
    ...["lock.db", "LOCK.db-journal", "lock.json", "index.db-wal", "journal"],
  ]) {
    if (!path.startsWith(".."))
      fs.copyFileSync(join(backup, "chats/chat%3a0.jsonl"), join(backup, path));
    write({ files: [...value.files, { ...value.files[0], path }] });
    const { code, err } = await runCli(["restore", backup], { home: restored });
    assert.deepEqual([code, /is damaged/.test(err)], [1, true], `${path}: ${err}`);
  }
  write({ files: [{ ...value.files[0], path: "chats/\u001b[31mred\u0007" }] });
  const { err } = await runCli(["restore", backup], { home: restored });
  assert.match(err, /␛\[31mred␇ is missing/);
  assert.equal(fs.existsSync(restored), false);
});

test("backup and restore refuse a wrong place, and change nothing", async (t) => {
  const { folder, home } = await homeOf(t, 1);
  await runCli(["backup", join(folder, "backup")], { home });
  for (const name of ["full", "empty"]) fs.mkdirSync(join(folder, name));
  fs.writeFileSync(join(folder, "full/file"), "");
  fs.symlinkSync(home, join(folder, "link"));
  fs.symlinkSync(join(folder, "empty"), join(folder, "other"));
  for (const [line, code, says] of [
    ["backup", 2, /missing required argument 'dir'/],
    ["backup new --home none", 1, /there is no home at .*NOT_FOUND/],
    ["backup new --home empty", 1, /empty is not a home.*NOT_FOUND/],
    ["backup full", 1, /full exists and is not an empty folder.*CONFLICT/],
    ["backup full/file", 1, /file exists and is not an empty folder.*CONFLICT/],
    ["backup full/file/new", 1, /new cannot be written \(ENOTDIR\).*CONFIGURATION/],
    ["backup other", 1, /other exists and is not an empty folder.*CONFLICT/],
    ["backup home/new", 2, /is inside the home .*INVALID/],
    ["backup link/new", 2, /is inside the home .*INVALID/],
    ["backup home", 2, /is inside the home .*INVALID/],
    ["restore none", 1, /there is no directory .*none .*NOT_FOUND/],
    ["restore full/file", 1, /there is no directory .*file .*NOT_FOUND/],
    ["restore full", 1, /full is not a complete backup: it has no backup\.json .*INVALID/],
    ["restore backup", 1, /home exists and is not an empty folder.*CONFLICT/],
    ["restore backup --home backup/new", 2, /is inside the backup .*INVALID/],
  ] as const) {
    const names = () => fs.readdirSync(folder, { recursive: true }).sort();
    const isName = (arg: string, at: number) => at > 0 && !arg.startsWith("-");
    const args = line.split(" ").map((arg, at) => (isName(arg, at) ? join(folder, arg) : arg));
    const before = names();
    const ended = await runCli(args, { home });
    assert.deepEqual([ended.code, ended.out], [code, ""], line);
    assert.match(ended.err, says);
    assert.deepEqual(names(), before, line);
  }
});
