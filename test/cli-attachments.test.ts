// Attachments of chats on the command line: doctor, forgetting, and an export that is imported elsewhere.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import { runCli, temporaryDirectory } from "./support/command-line.ts";

const bytes = Buffer.from("a picture");

async function homeWithFile(t: TestContext, hasChat = true) {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  await using throughline = await openThroughline({ home });
  const sha256 = await throughline.chats.files.put("telegram:42", bytes);
  const attachments = [{ name: "cat.png", type: "image/png", size: bytes.length, sha256 }];
  const message = { role: "user", content: "look", attachments } as const;
  if (hasChat) await throughline.chats.append("telegram:42", [message]);
  return { folder, home, sha256, path: join(home, "chats/telegram%3a42.files", sha256) };
}

test("doctor names attachments of a chat that does not exist and removes half-written ones; forgetting removes them", async (t) => {
  const { home, path } = await homeWithFile(t, false);
  const half = join(home, "chats/other.files");
  fs.mkdirSync(half);
  fs.writeFileSync(join(half, `${"0".repeat(64)}.tmp-abc`), "half");
  const { code, out } = await runCli(["doctor"], { home });
  assert.equal(code, 0, out);
  assert.match(out, /\nnote +chats\/telegram:42: 1 attachment of a chat that does not exist/);
  assert.equal(fs.existsSync(half), false);
  const forgotten = await runCli(["sessions", "forget", "telegram:42", "--yes"], { home });
  assert.equal(forgotten.code, 0, forgotten.err);
  assert.match(forgotten.out, /\n {2}attachments: 1\n/);
  assert.equal(fs.existsSync(path), false);
  const again = await runCli(["sessions", "forget", "telegram:42", "--yes"], { home });
  assert.notEqual(again.code, 0, "there is nothing left to forget");
});

test("an export of all chats is imported into another home with its attachments", async (t) => {
  const { folder, home, path } = await homeWithFile(t);
  const to = join(folder, "out");
  const exported = await runCli(["export", "--format", "throughline", "--out", to], { home });
  assert.equal(exported.code, 0, exported.err);
  const other = join(folder, "other");
  const imported = await runCli(["import", "--from", "throughline", to], { home: other });
  assert.equal(imported.code, 0, imported.err);
  assert.deepEqual(fs.readFileSync(path.replace(home, other)), bytes);
});

test("a chat that is shown names the files of its messages and their sizes", async (t) => {
  const { home } = await homeWithFile(t);
  const { out, err } = await runCli(["sessions", "show", "telegram:42"], { home });
  assert.match(out, / {2}look\n {2}file cat\.png \(9 bytes\)\n/, err);
});
