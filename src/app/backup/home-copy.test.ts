// What a backup does with a home that is damaged, half recovered, or holds what is no plain file.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCli, temporaryDirectory } from "../../../test/support/command-line.ts";
import { endOfLog } from "../../cli/doctor/home-files.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import { headerChange, putFrame } from "../../core/storage/files/journal-frame.ts";
import { takeLease } from "../../core/storage/files/lease.ts";
import { openThroughline } from "../../core/throughline.ts";
import { whenRecovered } from "./copy.ts";

const log = "chats/a.jsonl";

/** A home with three batches in one chat. */
async function homeWithChat(t: TestContext) {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  await using throughline = await openThroughline({ home });
  for (const content of ["first", "second", "third"]) {
    await throughline.chats.append("a", [{ role: "user", content }]);
  }
  return { folder, home };
}

/** A home as a power cut left it: the last batch of a log is in the journal alone. */
async function homeAfterPowerCut(t: TestContext) {
  const folder = temporaryDirectory(t);
  await using throughline = await openThroughline({ home: join(folder, "running") });
  for (const content of ["first", "second"]) {
    await throughline.chats.append("a", [{ role: "user", content }]);
  }
  const home = join(folder, "home");
  const running = join(folder, "running");
  fs.cpSync(join(running, "chats"), join(home, "chats"), { recursive: true });
  fs.cpSync(join(running, "journal"), join(home, "journal"), { recursive: true });
  fs.chmodSync(home, 0o700);
  const whole = fs.readFileSync(join(home, log));
  const cut = whole.subarray(0, whole.indexOf("second") - 200);
  fs.writeFileSync(join(home, log), cut.subarray(0, cut.lastIndexOf(0x0a) + 1));
  return { folder, home, whole };
}

test("what only the journal holds after a power cut is in the backup, also while another process completes the logs; one that never does is an error", async (t) => {
  const { folder, home, whole } = await homeAfterPowerCut(t);
  const ports = { disk: realDisk, home, signal: new AbortController().signal };
  await assert.rejects(whenRecovered(ports, 2), { code: "THROUGHLINE_UNAVAILABLE" });
  const other = join(folder, "other");
  fs.cpSync(home, other, { recursive: true });
  const lease = takeLease(home);
  t.after(() => lease.release());
  setTimeout(() => fs.writeFileSync(join(home, log), whole), 200);
  for (const [name, from] of [
    ["used", home],
    ["free", other],
  ] as const) {
    const { code, err } = await runCli(["backup", join(folder, name)], { home: from });
    assert.equal(code, 0, err);
    assert.deepEqual(fs.readFileSync(join(folder, name, log)), whole, name);
    assert.ok(!fs.existsSync(join(folder, name, "journal")));
  }
});

test("a group of messages that the journal could not store is not waited for", async (t) => {
  const { home, whole } = await homeAfterPowerCut(t);
  const { signal } = new AbortController();
  fs.writeFileSync(join(home, log), whole);
  fs.rmSync(join(home, "journal"), { recursive: true });
  fs.mkdirSync(join(home, "journal"));
  let position = 0;
  for (const [nth, changes] of [
    [1, [{ path: log, offset: whole.length, bytes: Buffer.from("refused") }]],
    [2, []],
  ] as const) {
    const header = headerChange({ nth, repeated: 0, unsynced: false });
    const segment = Buffer.alloc(4096);
    let end = putFrame(segment, 0, header, { position, durable: position });
    const next = position + end;
    for (const change of changes)
      end = putFrame(segment, end, change, { position: next, durable: next });
    fs.writeFileSync(join(home, `journal/0000000${nth}.journal`), segment);
    position = next; // of the refused group
  }
  await whenRecovered({ disk: realDisk, home, signal }, 1);
  fs.rmSync(join(home, "journal/00000002.journal"));
  const waiting = whenRecovered({ disk: realDisk, home, signal }, 1);
  await assert.rejects(waiting, { code: "THROUGHLINE_UNAVAILABLE" });
});

test("a log is copied up to its last whole batch while one is being written, and whole with a damaged end", async (t) => {
  const { home } = await homeWithChat(t);
  const path = join(home, log);
  const whole = fs.readFileSync(path);
  const half = whole.length + 20;
  const endWhile = async (change: () => void) => {
    const file = await realDisk.open(path, "read");
    try {
      setTimeout(change, 60);
      return await endOfLog(file);
    } finally {
      await file.close();
    }
  };
  const next = Buffer.concat([whole, whole.subarray(0, 20)]);
  fs.writeFileSync(path, next);
  // It stays as it is: no write is under way.
  assert.equal(await endWhile(() => undefined), half);
  fs.writeFileSync(path, whole.subarray(0, -20));
  // The first batch is completed, and the next one is begun at once.
  assert.equal(await endWhile(() => fs.writeFileSync(path, next)), whole.length);
});

test("damage is copied as it is, and reported", async (t) => {
  const { folder, home } = await homeWithChat(t);
  const bytes = fs.readFileSync(join(home, log));
  bytes[bytes.indexOf("second")] = 0;
  fs.writeFileSync(join(home, log), bytes);
  fs.mkdirSync(join(home, "session"));
  fs.writeFileSync(join(home, "session/session.json"), '{"half');
  const backup = join(folder, "backup");
  const { code, out, err } = await runCli(["backup", backup, "--json"], { home });
  assert.equal(code, 1);
  assert.deepEqual(
    JSON.parse(out).damaged.map(({ path }: { readonly path: string }) => path),
    [log, "session/session.json"],
  );
  assert.match(
    err,
    /Damaged in the home, copied as it is: chats\/a\.jsonl: \d+ bytes at offset \d+ are not/,
  );
  assert.deepEqual(fs.readFileSync(join(backup, log)), bytes);
  const restored = await runCli(["restore", backup], { home: join(folder, "restored") });
  assert.match(restored.err, /Damaged: 2 files/);
  assert.deepEqual(fs.readFileSync(join(folder, "restored", log)), bytes);
});

test("own files that are links are copied, other links and sockets are left out and named, as are unfinished packages", async (t) => {
  const { folder, home } = await homeWithChat(t);
  fs.writeFileSync(join(folder, "nova.md"), "You are Nova.");
  fs.symlinkSync(join(folder, "nova.md"), join(home, "persona.md"));
  fs.symlinkSync(join(folder, "nova.md"), join(home, "other.md"));
  fs.symlinkSync("/etc", join(home, "elsewhere"));
  const socket = createServer().listen(join(home, "socket"));
  t.after(() => socket.close());
  for (const name of ["whole", "half.partial"]) {
    fs.mkdirSync(join(home, "feedback", name), { recursive: true });
    fs.writeFileSync(join(home, "feedback", name, "feedback.json"), "{}");
  }
  fs.writeFileSync(join(home, "consent.json.tmp-abc"), "{}");
  fs.writeFileSync(join(home, "backup.json"), "{}");
  const backup = join(folder, "backup");
  const { code, out, err } = await runCli(["backup", backup, "--json"], { home });
  assert.equal(code, 0, err);
  const result = JSON.parse(out);
  const leftOut = result.left_out.map(({ path }: { readonly path: string }) => path).sort();
  assert.deepEqual(leftOut, ["backup.json", "elsewhere", "other.md", "socket"]);
  assert.equal(result.totals.packages, 1);
  assert.match(err, /Not in the backup: other\.md, which is a link/);
  assert.deepEqual(fs.readdirSync(backup).sort(), [
    "backup.json",
    "chats",
    "feedback",
    "persona.md",
  ]);
  assert.equal(fs.readFileSync(join(backup, "persona.md"), "utf8"), "You are Nova.");
  assert.deepEqual(fs.readdirSync(join(backup, "feedback")), ["whole"]);
});

test("with a database the result says that the messages are not in the backup", async (t) => {
  const { folder, home } = await homeWithChat(t);
  const store = ["--store", "postgres://me@127.0.0.1:1/chats?companion=nova"];
  const { code, out } = await runCli(["backup", join(folder, "backup"), ...store], { home });
  assert.equal(code, 0);
  assert.match(out, /messages are NOT in it: they are in postgres:\/\/me@127.0.0.1:1\/chats/);
});
