import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import type { SetAside } from "../src/interchange/import.ts";
import { runCli, temporaryDirectory } from "./support/command-line.ts";

const golden = join(import.meta.dirname, "golden");

function places(t: TestContext) {
  const folder = temporaryDirectory(t);
  return { folder, home: join(folder, "home"), out: join(folder, "out") };
}

/** Names, contents and times of everything below a folder. */
function photograph(folder: string): unknown {
  return fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => {
    const about = fs.lstatSync(join(folder, name));
    const text = about.isFile() ? fs.readFileSync(join(folder, name), "latin1") : "";
    return [name, about.mtimeMs, about.mode, text];
  });
}

test("import takes both of nanobot's folders, follows no link out, and changes no source", async (t) => {
  const { folder, home } = places(t);
  const nanobot = join(folder, "nanobot");
  const both = [join(nanobot, "workspace/sessions"), join(nanobot, "sessions")] as const;
  for (const each of both) fs.mkdirSync(each, { recursive: true });
  fs.copyFileSync(join(golden, "nanobot/oddities.jsonl"), join(both[0], "odd_1.jsonl"));
  fs.copyFileSync(join(golden, "nanobot/telegram_42.jsonl"), join(both[1], "telegram_42.jsonl"));
  fs.symlinkSync(join(golden, "nanobot/cli_direct.jsonl"), join(both[1], "cli_direct.jsonl"));
  fs.writeFileSync(join(both[1], "notes.zip"), "PK");
  const before = photograph(nanobot);
  const args = ["import", nanobot, "--from", "nanobot", "--json"];
  const { code, out, err } = await runCli(args, { home });
  assert.equal(code, 0, err);
  assert.deepEqual(photograph(nanobot), before);
  assert.match(err, /cli_direct\.jsonl is not a regular file: skipped/);
  const report = JSON.parse(out);
  assert.deepEqual(report.chats.map((chat: { chat_id: string }) => chat.chat_id).sort(), [
    "odd:1",
    "telegram:42",
  ]);
  const left = (report.quarantined as SetAside[]).find(({ line }) => line === 6);
  const { source = "", offset = 0, bytes = 0 } = left ?? {};
  const line = fs.readFileSync(join(both[0], source)).subarray(offset, offset + bytes);
  assert.ok(line.includes(Buffer.from([0x64, 0x20, 0xff, 0x20])), "the report names the bad line");
});

test("import says in words what it did; a repeated import adds nothing, and neither copies bad lines", async (t) => {
  const { home } = places(t);
  const args = ["import", join(golden, "nanobot/oddities.jsonl"), "--from", "nanobot"];
  const first = await runCli(args, { home });
  assert.equal(first.code, 0, first.err);
  assert.match(
    first.out,
    /^odd:1: 10 messages from oddities\.jsonl\n- a message without a time \(7 times\)\n/,
  );
  assert.match(first.out, /oddities\.jsonl:6: not imported: 73 bytes at \d+: it is not UTF-8\n/);
  assert.match(first.out, /Imported: 10 messages in 1 chat, 0 sessions, 3 records/);
  assert.doesNotMatch(first.out, /surrogate|glued/);
  const second = await runCli(args, { home });
  assert.match(second.out, /^odd:1: 0 messages from oddities\.jsonl, 10 already here\n/);
  const isFilled = fs.existsSync(join(home, "quarantine"));
  assert.deepEqual(isFilled ? fs.readdirSync(join(home, "quarantine")) : [], []);
});

/** GOLDEN stands for the folder of samples. All are wrong usage. */
const failures: readonly (readonly [line: string, says: RegExp])[] = [
  ["import /nowhere/at/all --from nanobot", /there is no file or folder at \/nowhere\/at\/all/],
  ["import /nowhere/at/all --from store", /there is no store at \/nowhere\/at\/all/],
  ["import GOLDEN --from ductor", /contains no sessions\.json file/],
  ["import GOLDEN --from reachy", /contains no session\.json file/],
  ["import GOLDEN --from elsewhere", /\[THROUGHLINE_INVALID\]/],
  ["import GOLDEN", /\[THROUGHLINE_INVALID\]/],
  ["import GOLDEN --from ductor --into x", /--into takes a chat --from nanobot/],
  ["import GOLDEN --from store --into x", /leave --force, --dry-run and --into out/],
  ["export --format nanobot", /\[THROUGHLINE_INVALID\]/],
];
test("an import or export that cannot be begun makes no home", async (t) => {
  const { home } = places(t);
  for (const [line, says] of failures) {
    const { code, err } = await runCli(line.replace("GOLDEN", golden).split(" "), { home });
    assert.equal(code, 2, line);
    assert.match(err, says);
  }
  const dry = ["import", join(golden, "nanobot"), "--from", "nanobot", "--dry-run"];
  assert.match((await runCli(dry, { home })).out, /Would be imported: /);
  assert.ok(!fs.existsSync(home));
});

test("a file of which nothing can be imported ends the import with 1, and its reason", async (t) => {
  const { home, folder } = places(t);
  const args = ["import", join(golden, "ductor/torn.json"), "--from", "ductor"];
  const { code, out } = await runCli(args, { home });
  assert.equal(code, 1);
  assert.match(out, /torn\.json: not imported: it is not JSON \[THROUGHLINE_INVALID\]\n/);
  const said = { role: "user", content: "hi" };
  for (const line of [{ messages: [said] }, { text: "hi" }, { _type: "note" }, { role: "user" }]) {
    const path = join(folder, "others_1.jsonl");
    fs.writeFileSync(path, `${JSON.stringify(line)}\n`.repeat(3));
    const other = await runCli(["import", path, "--from", "nanobot"], { home });
    const isOurs = "role" in line;
    assert.equal(other.code, isOurs ? 0 : 1, other.out);
    if (isOurs) continue;
    assert.match(other.out, /others_1\.jsonl: not imported: it is no chat of nanobot: no line/);
    const { out: list } = await runCli(["sessions", "list", "--json"], { home });
    assert.doesNotMatch(list, /others:1/);
  }
});

test("a chat in which something was said here is refused, others are imported; --into takes it", async (t) => {
  const { home, folder } = places(t);
  const sessions = join(folder, "sessions");
  fs.mkdirSync(sessions);
  const file = join(sessions, "telegram_42.jsonl");
  fs.copyFileSync(join(golden, "nanobot/telegram_42.jsonl"), file);
  const run = (path: string, ...more: string[]) =>
    runCli(["import", path, "--from", "nanobot", ...more], { home });
  assert.equal((await run(sessions)).code, 0);
  {
    await using throughline = await openThroughline({ home });
    await throughline.chats.append("telegram:42", [{ role: "user", content: "Said here" }]);
  }
  assert.equal((await run(sessions)).code, 0, "the source has not changed");
  fs.appendFileSync(file, '{"role":"user","content":"Said there"}\n');
  fs.copyFileSync(join(golden, "nanobot/discord_zero.jsonl"), join(sessions, "discord_zero.jsonl"));
  const { code, out } = await run(sessions);
  assert.equal(code, 1);
  assert.match(
    out,
    /telegram_42\.jsonl: not imported: .*"telegram:42".*--into NEW \[THROUGHLINE_CONFLICT\]\n/,
  );
  assert.match(out, /^discord:zero: \d+ messages? from discord_zero\.jsonl\n/m);
  const wrong = await run(sessions, "--into", "new");
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /--into takes one file/);
  for (const says of [/^new: 4 messages from/, /^new: 0 messages from .*, 4 already here/]) {
    const into = await run(file, "--into", "new");
    assert.equal(into.code, 0, into.err);
    assert.match(into.out, says);
  }
  await using throughline = await openThroughline({ home });
  const contents = async (chatId: string) =>
    (await throughline.chats.messages(chatId)).messages.map(({ content }) => content);
  assert.equal((await contents("telegram:42")).at(-1), "Said here");
  assert.equal((await contents("new")).at(-1), "Said there");
});

test("export writes each format whole, overwrites nothing unless forced, and import reads it", async (t) => {
  const { home, out, folder } = places(t);
  await runCli(["import", join(golden, "ductor/current.json"), "--from", "ductor"], { home });
  await runCli(["import", join(golden, "nanobot"), "--from", "nanobot"], { home });
  const exportAs = (format: string, ...more: string[]) =>
    runCli(["export", "--format", format, "--out", join(out, format), ...more], { home });
  assert.equal((await exportAs("ductor")).code, 0);
  const sessions = JSON.parse(fs.readFileSync(join(out, "ductor/sessions.json"), "utf8"));
  assert.deepEqual(
    sessions,
    JSON.parse(fs.readFileSync(join(golden, "ductor/current.json"), "utf8")),
  );
  const { out: told } = await exportAs("nanobot", "--chat", "cli:direct", "--json");
  assert.deepEqual(JSON.parse(told).files, [
    { file: join(out, "nanobot/cli_direct.jsonl"), chat_id: "cli:direct" },
  ]);
  assert.equal((await exportAs("throughline")).code, 0);
  const before = photograph(join(out, "throughline"));
  const again = await exportAs("throughline");
  assert.equal(again.code, 1);
  assert.match(again.err, /already exists \[THROUGHLINE_CONFLICT\]/);
  assert.deepEqual(photograph(join(out, "throughline")), before);
  assert.equal((await exportAs("throughline", "--force")).code, 0);
  const second = join(folder, "second");
  const backup = join(out, "throughline");
  const read = await runCli(["import", backup, "--from", "throughline"], { home: second });
  assert.equal(read.code, 0, read.out + read.err);
  const copy = join(folder, "copy");
  await runCli(["export", "--format", "throughline", "--out", copy], { home: second });
  assert.deepEqual(
    fs.readdirSync(copy).map((name) => [name, fs.readFileSync(join(copy, name), "utf8")]),
    fs.readdirSync(backup).map((name) => [name, fs.readFileSync(join(backup, name), "utf8")]),
  );
});

test("an import that was cut off leaves no chat behind after the next start", async (t) => {
  const { home } = places(t);
  const { importChats } = await import("../src/interchange/chat-import.ts");
  const { systemClock } = await import("../src/core/clock.ts");
  const line = (n: number) => `{"role":"user","content":"line ${n}"}\n`;
  const text = Array.from({ length: 600 }, (_, n) => line(n)).join("");
  const throughline = await openThroughline({ home });
  let readings = 0;
  const bytes = async function* () {
    readings++;
    yield Buffer.from(text.slice(0, 20_000));
    // The home is let go of in the middle, as it is by a death of the process.
    if (readings === 2) await throughline.close();
    yield Buffer.from(text.slice(20_000));
  };
  const source = { name: "a_b.jsonl", bytes: { [Symbol.asyncIterator]: bytes } };
  const options = { chats: throughline.chats, clock: systemClock, zone: "UTC" };
  await assert.rejects(importChats([source], options), { code: "THROUGHLINE_CLOSED" });
  assert.equal(fs.readdirSync(join(home, "chats")).length, 1, "something was stored");
  await using next = await openThroughline({ home });
  assert.deepEqual((await next.chats.list()).chats, []);
});
