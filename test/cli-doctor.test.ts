import assert from "node:assert/strict";
import fs from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import { copiesOf, runCli } from "./support/command-line.ts";
import { started } from "./support/moments-home.ts";

const homeWithChat = copiesOf(async (home) => {
  await using throughline = await openThroughline({ home });
  for (let n = 0; n < 3; n++) {
    await throughline.chats.append("local:me", [{ role: "user", content: `message ${n}` }]);
  }
});

function logOf(home: string): string {
  const [name = ""] = fs.readdirSync(join(home, "chats"));
  return join(home, "chats", name);
}

async function doctor(home: string) {
  const { code, out } = await runCli(["doctor", "--json"], { home });
  return { code, findings: JSON.parse(out) };
}

const statusOf = (findings: { checks: { id: string; status: string }[] }, id: string) =>
  findings.checks.find((check) => check.id === id)?.status;

test("doctor finds nothing wrong with a home that is well, and says what it looked at", async (t) => {
  const home = await homeWithChat(t);
  await withPackage(home);
  const variables = { FEEDBACK_STORAGE: "cloud" };
  const { code, out } = await runCli(["doctor"], { home, variables });
  assert.equal(code, 0, out);
  assert.match(out, /\nok +1 feedback package, every byte matches its checksum\n/);
  assert.match(out, /\nnote +FEEDBACK_STORAGE must be one of local, local\+s3, s3\. /);
  assert.match(out, /^ok +Node /);
  assert.match(out, /\nok +3 records in 1 log, 1 document, 0 attachments were read\n/);
  assert.match(out, /\nNothing is damaged\.\n$/);
});

test("doctor names a persona.md without which nothing answers: exit 1", async (t) => {
  const home = await homeWithChat(t);
  fs.writeFileSync(join(home, "persona.md"), Buffer.from([0x59, 0xff, 0xfe]));
  const { code, findings } = await doctor(home);
  assert.equal(code, 1);
  assert.equal(statusOf(findings, "persona"), "failed");
  fs.writeFileSync(join(home, "persona.md"), "You are Nova.");
  assert.equal((await doctor(home)).code, 0);
});

test("doctor reports a byte that was flipped in the middle of a log as damage: exit 1", async (t) => {
  const home = await homeWithChat(t);
  const log = logOf(home);
  const bytes = fs.readFileSync(log);
  const place = bytes.indexOf("message 1");
  bytes[place] = bytes[place]! ^ 1;
  fs.writeFileSync(log, bytes);
  const { code, findings } = await doctor(home);
  assert.equal(code, 1);
  assert.equal(findings.damaged, true);
  assert.equal(statusOf(findings, "repair.damaged_middle"), "damaged");
  assert.equal(findings.repairs[0].kind, "damaged_middle");
  assert.equal(findings.repairs[0].key, "chats/local:me");
  assert.deepEqual(fs.readFileSync(log), bytes, "doctor heals nothing by rewriting");
  assert.match(
    (await runCli(["doctor"], { home })).out,
    /\nDAMAGED +chats\/local:me: damaged_middle.*\n/,
  );
});

/** A home with one package of feedback. @returns its folder. */
async function withPackage(home: string): Promise<string> {
  await using throughline = await openThroughline({ home });
  const { recorder } = await started(throughline, { consent: undefined });
  recorder.message({ role: "user", text: "Tell me a joke", id: "m1", chatId: "a" });
  recorder.message({ role: "assistant", text: "Knock, knock", id: "m2", chatId: "a" });
  const receipt = recorder.record({ sentiment: "positive", what: "the joke", source: "http" });
  await receipt.whenDurable();
  return join(home, "feedback", receipt.name);
}

test("doctor names a file of a package that was changed, is gone or cannot be read, and ends with 1", async (t) => {
  const home = await homeWithChat(t);
  const folder = await withPackage(home);
  const [words, manifest] = ["messages.json", "feedback.json"].map((name) => join(folder, name));
  const [said, sealed] = [fs.readFileSync(words!), fs.readFileSync(manifest!)];
  for (const [harm, file] of [
    [() => fs.writeFileSync(words!, String(said).replace("Knock", "Knack")), "messages.json"],
    [() => fs.rmSync(words!), "messages.json"],
    [() => fs.writeFileSync(manifest!, sealed.subarray(0, 50)), "feedback.json"],
  ] as const) {
    harm();
    const { code, out } = await runCli(["doctor"], { home });
    assert.equal(code, 1, out);
    const [line = ""] = /^DAMAGED +.*package.*$/m.exec(out) ?? [];
    assert.ok(line.includes(`${basename(folder)}/${file}`), out);
    assert.match(line, /throughline feedback delete/);
    assert.doesNotMatch(out, /Nothing is damaged/);
    fs.writeFileSync(words!, said);
    fs.writeFileSync(manifest!, sealed);
  }
  for (const path of [words!, manifest!]) {
    fs.rmSync(path);
    fs.mkdirSync(path);
  }
  const { code, out } = await runCli(["doctor"], { home });
  assert.equal(code, 1, out);
  assert.match(out, new RegExp(`^(DAMAGED|FAILED) .*${basename(folder)}`, "m"));
});

test("doctor cuts a torn tail, keeps its bytes and reports it, now and at every later time", async (t) => {
  const home = await homeWithChat(t);
  fs.appendFileSync(logOf(home), '{"id":"half');
  const first = await doctor(home);
  assert.equal(first.code, 0);
  assert.equal(statusOf(first.findings, "repair.torn_tail"), "note");
  const again = await doctor(home);
  for (const { findings } of [first, again]) {
    assert.equal(findings.repairs.length, 1);
    assert.equal(findings.repairs[0].kind, "torn_tail");
    assert.equal(findings.repairs[0].bytes, 11);
    assert.deepEqual(findings.quarantine, [{ file: findings.repairs[0].quarantined, bytes: 11 }]);
  }
  const kept = join(home, first.findings.quarantine[0].file);
  assert.equal(fs.readFileSync(kept, "utf8"), '{"id":"half');
});

test("doctor on a home that is in use names the holder, and checks the files beside it", async (t) => {
  const home = await homeWithChat(t);
  await using _ = await openThroughline({ home });
  const { code, out } = await runCli(["doctor"], { home });
  assert.equal(code, 0, out);
  assert.match(out, new RegExp(`\\nnote +process ${process.pid} .*\\n`));
  assert.match(out, /\nNothing is damaged\.\n$/);
  fs.rmSync(logOf(home));
  const { findings } = await doctor(home);
  assert.deepEqual([findings.failed, findings.damaged], [false, true]);
});

test("doctor tells of messages without an answer", async (t) => {
  const home = await homeWithChat(t);
  {
    await using throughline = await openThroughline({ home });
    await throughline.chats.change("local:me", (transaction) => {
      transaction.message({ id: "w1", role: "user", content: "Are you there?" });
      transaction.set({ open_turn: { id: "w1", seq: transaction.seq, attempts: 1 } });
    });
  }
  assert.equal(statusOf((await doctor(home)).findings, "unanswered"), "note");
});

test("doctor says whether others may look into the home", async (t) => {
  const home = await homeWithChat(t);
  for (const [mode, status] of [
    [0o700, "ok"],
    [0o750, "note"],
    [0o701, "note"],
  ] as const) {
    fs.chmodSync(home, mode);
    assert.equal(statusOf((await doctor(home)).findings, "home"), status, mode.toString(8));
  }
});
