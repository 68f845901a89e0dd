import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import { fakeIo, Process, postTo, runCli, temporaryDirectory } from "./support/command-line.ts";
import { openAiServer } from "./support/openai-server.ts";

const noSignals = process.platform === "win32" && "Windows has no signals";

/** What lies in a directory, and how much of it. */
function listing(directory: string): readonly string[] {
  return fs.readdirSync(directory, { recursive: true }).map(String).sort();
}

test("chat over a pipe answers on stdout; the next run remembers what was said", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const first = await runCli(["chat"], { home, io: fakeIo("The lighthouse is red.\n") });
  assert.deepEqual({ code: first.code, err: first.err }, { code: 0, err: "" });
  assert.match(first.out, /lighthouse is red/);
  // As a process, at LOG_LEVEL=debug: the intent is logged, and not a word of what was said.
  const chat = new Process(t, ["chat"], { home, variables: { LOG_LEVEL: "debug" } });
  const second = await chat.ended("What did I say?\n");
  assert.equal(second.code, 0);
  assert.match(second.out, /lighthouse is red/);
  assert.match(second.err, /"intent":\{"type":"question","confidence":1\}/);
  assert.doesNotMatch(second.err, /lighthouse|did I/);
});

test("an ephemeral chat and an ephemeral server write nothing anywhere", async (t) => {
  const directory = temporaryDirectory(t);
  const home = join(directory, "home");
  const variables = { TMPDIR: directory, XDG_DATA_HOME: directory, XDG_CACHE_HOME: directory };
  const chat = new Process(t, ["chat", "--ephemeral"], { home, variables });
  const said = await chat.ended("hello\nI like tea\ngoodbye\n");
  assert.equal(said.code, 0);
  assert.match(
    said.out,
    /"hello"\. It is not kept\. .*Nothing that you say here is kept: .*"I like tea"\. It is not kept\./s,
  );
  assert.doesNotMatch(said.out, /It is kept|kept either way/);
  const serve = new Process(t, ["serve", "--ephemeral", "--port", "0"], { home, variables });
  const url = await serve.url();
  const response = await postTo(url, "/api/chats/a/messages", { content: "hello" });
  assert.equal(response.status, 200);
  assert.match(await response.text(), /Nothing that you say here is kept/);
  assert.equal((await serve.kill("SIGTERM")).code, 0);
  assert.deepEqual(listing(directory), []);
});

test("chat, sessions and serve name the holder of a home that is used, and refuse one that is a file", async (t) => {
  const folder = temporaryDirectory(t);
  const file = join(folder, "file");
  fs.writeFileSync(file, "mine");
  const used = join(folder, "home");
  await using _ = await openThroughline({ home: used });
  for (const args of [["chat"], ["sessions", "list"], ["serve", "--port", "0"]]) {
    const { code, out, err } = await runCli(args, { home: used });
    assert.deepEqual({ code, out }, { code: 1, out: "" });
    assert.match(err, new RegExp(`^error: process ${process.pid} .* \\[THROUGHLINE_LOCKED\\]\n`));
    assert.match(err, /\nStop that process, then run this again\./);
    const other = await runCli(args, { home: file });
    assert.equal(other.code, 1);
    assert.match(
      other.err,
      /^error: the home .*file is not a directory \[THROUGHLINE_CONFIGURATION/,
    );
  }
  assert.equal(fs.readFileSync(file, "utf8"), "mine");
});

test("a home that cannot be written is refused, by a user who is not root", {
  skip: process.platform === "win32" && "Windows has no such modes",
}, async (t) => {
  const directory = temporaryDirectory(t);
  fs.chmodSync(directory, 0o755);
  const home = join(directory, "home");
  fs.mkdirSync(home, { mode: 0o500 });
  const nobody = 65_534;
  const isRoot = process.getuid?.() === 0;
  if (isRoot) fs.chownSync(home, nobody, nobody);
  const { code, err } = await new Process(t, ["chat"], {
    home,
    ...(isRoot ? { uid: nobody } : {}),
  }).ended("hello\n");
  assert.equal(code, 1);
  assert.match(err, /^error: .*\[THROUGHLINE_(CONFIGURATION|UNAVAILABLE)\]\n/);
  assert.deepEqual(listing(home), []);
});

test("a configuration with an unknown key is refused with the file and the key, before anything is opened", async (t) => {
  const home = temporaryDirectory(t);
  fs.writeFileSync(join(home, "throughline.config.json"), '{"idle_timeout": 5}');
  const { code, err } = await runCli(["chat"], { home });
  assert.equal(code, 1);
  assert.match(err, /throughline\.config\.json: .*idle_timeout.* \[THROUGHLINE_CONFIGURATION\]/);
  assert.deepEqual(listing(home), ["throughline.config.json"]);
});

test("persona.md and --model reach the model, and the flag moves an old chat to it", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using server = await openAiServer();
  await runCli(["chat"], { home, io: fakeIo("before\n") });
  fs.writeFileSync(join(home, "persona.md"), "You are Nova.\n");
  const args = ["chat", "--model", `${server.url}#m1`];
  const { code, out } = await runCli(args, { home, io: fakeIo("hello\n") });
  assert.deepEqual({ code, out }, { code: 0, out: "Hello from the model.\n" });
  const { messages } = server.requests[0]!.body as { messages: { content: string }[] };
  assert.match(messages[0]?.content ?? "", /^You are Nova\.\n\nYou learn from reactions/);
  assert.ok(JSON.stringify(messages).includes("before"));
});

test("every request has the facts of facts.md, as they are then", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const path = join(home, "facts.md");
  fs.mkdirSync(home, { mode: 0o700 });
  fs.writeFileSync(path, "Ori is allergic to nuts.\n");
  await using server = await openAiServer((n) => {
    if (n === 1) fs.writeFileSync(path, "Ori has a cat.\n");
    return {};
  });
  const said = "Hello\nCan I bring Ori a walnut cake?\n/new\nAnd now?\n";
  const args = ["chat", "--model", `${server.url}#m1`];
  await runCli(args, { home, io: fakeIo(said) });
  const systems = server.requests.map(({ body }) => {
    const [first] = body["messages"] as { role: string; content: string }[];
    assert.equal(first?.role, "system");
    return first?.content ?? "";
  });
  assert.equal(systems.length, 3);
  assert.match(systems[0]!, /Ori is allergic to nuts\./);
  assert.equal(systems[1], systems[0]);
  assert.match(systems[2]!, /Ori has a cat\./);
  assert.doesNotMatch(systems[2]!, /nuts/);
});

test("a reader that goes away ends a command quietly, with 0", { skip: noSignals }, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  {
    await using throughline = await openThroughline({ home });
    const content = "x".repeat(200_000);
    for (let n = 0; n < 4; n++) await throughline.chats.append("a", [{ role: "user", content }]);
  }
  const show = new Process(t, ["sessions", "show", "a"], { home });
  show.child.stdout.once("readable", () => show.child.stdout.destroy());
  const { code, err } = await show.ended();
  assert.deepEqual({ code, err }, { code: 0, err: "" });
});
