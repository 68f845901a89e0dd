// A home in which one chat cannot be read: every command does its work for the others and names the one.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import { copiesOf, postTo, runCli, serveHere } from "./support/command-line.ts";

/** Three chats; a folder stands in the place of the second one. */
const homeWithFolder = copiesOf(async (home) => {
  {
    await using throughline = await openThroughline({ home });
    for (const chatId of ["a", "b", "c"]) {
      const words = { role: "user", content: `hello from ${chatId}` } as const;
      await throughline.chats.append(chatId, [words]);
    }
  }
  const path = join(home, "chats", "b.jsonl");
  fs.rmSync(path);
  fs.mkdirSync(path);
});

async function badHome(t: TestContext) {
  const home = await homeWithFolder(t);
  return { home, out: join(home, "../out") };
}

test("doctor looks at every chat, and says that one is damaged with exit 1", async (t) => {
  const { home } = await badHome(t);
  const { code, out } = await runCli(["doctor"], { home });
  assert.equal(code, 1);
  assert.match(out, /DAMAGED +chats\/b: unreadable_log: b: b\.jsonl is a folder/);
  const { findings } = JSON.parse(
    `{"findings":${(await runCli(["doctor", "--json"], { home })).out}}`,
  );
  const report = findings.checks.find(({ id }: { id: string }) => id === "repair.unreadable_log");
  assert.equal(report.status, "damaged");
});

for (const format of ["nanobot", "throughline"]) {
  test(`export --format ${format} writes the other chats, names the one, and ends with 1`, async (t) => {
    const { home, out } = await badHome(t);
    const { code, err } = await runCli(["export", "--format", format, "--out", out], { home });
    assert.equal(code, 1);
    assert.match(err, /Left out: b: b\.jsonl is a folder/);
    assert.deepEqual(fs.readdirSync(out).sort(), ["a.jsonl", "c.jsonl"]);
    const asked = ["export", "--format", format, "--out", out, "--chat", "b"];
    assert.match((await runCli(asked, { home })).err, /b\.jsonl is a folder.*UNAVAILABLE/);
  });
}

test("export for ductor leaves one chat out, and says in JSON which", async (t) => {
  const { home, out } = await badHome(t);
  const args = ["export", "--format", "ductor", "--out", out, "--json"];
  const { code, out: told } = await runCli(args, { home });
  assert.equal(code, 1);
  assert.deepEqual(JSON.parse(told).left_out, ["b"]);
  assert.equal(fs.readFileSync(join(out, "sessions.json"), "utf8"), "{}\n");
});

test("serve starts, lists every chat, finds words in the others and talks in them", async (t) => {
  const { home } = await badHome(t);
  const { url, stop } = await serveHere(t, home);
  const idsIn = async (path: string) => {
    const text = await (await fetch(`${url}${path}`)).text();
    return [...text.matchAll(/"chat_id":"(.)"/g)].map(([, chatId]) => chatId).sort();
  };
  assert.deepEqual(await idsIn("/api/chats"), ["a", "b", "c"]);
  assert.deepEqual(await idsIn("/api/search?query=hello"), ["a", "c"]);
  const say = (chatId: string) =>
    postTo(url, `/api/chats/${chatId}/messages`, { content: "hello again" });
  assert.equal((await say("a")).status, 200);
  assert.equal((await say("b")).status, 503);
  await stop();
});
