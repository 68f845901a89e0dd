import assert from "node:assert/strict";
import fs from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { within } from "../src/app/serve.ts";
import { serverOf } from "../src/core/storage/files/lease-holder.ts";
import { openThroughline } from "../src/core/throughline.ts";
import type { Manifest, PackageMessage } from "../src/moments/package/record.ts";
import {
  fakeIo,
  Process,
  postTo,
  runCli,
  serveHere,
  temporaryDirectory,
} from "./support/command-line.ts";
import { openAiServer } from "./support/openai-server.ts";

const noSignals = process.platform === "win32" && "Windows has no signals";

const post = (url: string, chat: string, content: string, headers: Record<string, string> = {}) =>
  postTo(url, `/api/chats/${chat}/messages`, { content }, headers);

test("serve prints one line when it is ready, and a signal ends it with 0; 16 threads wait for the disk, or as many as are named", {
  skip: noSignals,
}, async (t) => {
  const isLinux = process.platform === "linux"; // which lists a process's threads
  const endsAt = async (signal: NodeJS.Signals, variables: Record<string, string> = {}) => {
    const home = join(temporaryDirectory(t), "home");
    const serve = new Process(t, ["serve", "--port", "0"], { home, variables });
    const url = await serve.url();
    const tasks = `/proc/${serve.child.pid}/task`;
    const threads = isLinux
      ? fs.readdirSync(tasks).map((task) => fs.readFileSync(join(tasks, task, "comm"), "utf8"))
      : [];
    const { code, out } = await serve.kill(signal);
    assert.equal(code, 0, signal);
    assert.equal(
      out,
      `Throughline is listening on ${url} (home ${home}, Built-in responder (no model))\n`,
    );
    assert.equal(fs.existsSync(join(home, "lock.json")), false, "the home is let go of");
    return threads.filter((name) => name === "libuv-worker\n").length;
  };
  const [few, many] = await Promise.all([
    endsAt("SIGTERM", { UV_THREADPOOL_SIZE: "4" }),
    endsAt("SIGHUP"),
  ]);
  if (isLinux) assert.deepEqual([few, many], [4, 16]);
});

test("a shutdown that takes longer than its time ends the process with 1, and so does what holds it afterwards", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const slow = fakeIo();
  void within(4_500, slow, () => new Promise(() => undefined));
  t.mock.timers.tick(4_499);
  assert.deepEqual(slow.exits, []);
  t.mock.timers.tick(1);
  assert.deepEqual(slow.exits, [1]);
  const quick = fakeIo();
  await within(4_500, quick, () => Promise.resolve());
  t.mock.timers.tick(4_499);
  assert.deepEqual(quick.exits, []);
  t.mock.timers.tick(1);
  assert.deepEqual(quick.exits, [1]);
});

test("the window that is named is the model's, and where words go is said", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using model = await openAiServer();
  const args = ["--model", `${model.url}#m`, "--window", "16384"];
  const { io, url, stop } = await serveHere(t, home, args);
  assert.ok(io.errors.text.includes(`What is said goes to ${new URL(model.url).origin}\n`));
  const answer = await fetch(`${url}/api/chats/a/prompt`);
  assert.equal(((await answer.json()) as { window: number | null }).window, 16_384);
  await stop();
});

test("SIGTERM while a turn streams keeps the message and the text so far, within 5 s", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using model = await openAiServer(() => ({ text: "Once upon a time", hang: true }));
  const { url, stop } = await serveHere(t, home, ["--model", `${model.url}#m`]);
  const turn = await post(url, "a", "tell me", { accept: "text/event-stream" });
  const reader = turn.body!.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  while (!seen.includes("Once")) seen += (await reader.read()).value ?? "";
  const before = performance.now();
  await stop();
  assert.ok(performance.now() - before < 5_000);
  const { out } = await runCli(["sessions", "show", "a", "--json"], { home });
  const { messages, chat } = JSON.parse(out);
  assert.equal(messages[0].content, "tell me");
  assert.equal(messages[1].partial, true);
  assert.match(messages[1].content, /^Once/);
  assert.equal(chat.unanswered, false);
});

test("a second signal ends serve at once with 130, and the next start tells of the unanswered message", {
  skip: noSignals,
}, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const asked = Promise.withResolvers<void>();
  await using model = await openAiServer(() => {
    asked.resolve();
    return { cutAt: -1 };
  });
  const serve = new Process(t, ["serve", "--port", "0", "--model", `${model.url}#m`], { home });
  const turn = post(await serve.url(), "a", "tell me").catch(() => undefined);
  await asked.promise;
  const before = performance.now();
  serve.child.kill("SIGTERM");
  assert.equal((await serve.kill("SIGINT")).code, 130);
  assert.ok(performance.now() - before < 2_500, "before the time that turns are given");
  await turn;
  const next = await serveHere(t, home);
  assert.match(next.io.errors.text, /^1 chat has an unanswered message: a\n/m);
  await next.stop();
});

test("a rejection that nobody handles ends serve with 1; what it says is not repeated, and what was said is there", {
  skip: noSignals,
}, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const code = 'Promise.reject(new Error("my secret words"))';
  const node = ["--import", `data:text/javascript,process.on("SIGUSR2",()=>{${code}})`];
  const serve = new Process(t, ["serve", "--port", "0"], { home, node });
  assert.equal((await post(await serve.url(), "a", "hello")).status, 200);
  serve.child.kill("SIGUSR2");
  const ended = await serve.ended();
  assert.equal(ended.code, 1);
  assert.match(ended.err, /error: an unexpected Error \[Error\]\n/);
  assert.ok(!ended.err.includes("secret"));
  const { out } = await runCli(["sessions", "show", "a", "--json"], { home });
  assert.equal(JSON.parse(out).messages.length, 2);
});

test("after a restart a reaction that names no answer is about the one before it", async (t) => {
  const home = temporaryDirectory(t);
  const first = await serveHere(t, home);
  const said = await post(first.url, "local:me", "Tell me a joke");
  const { assistant } = (await said.json()) as { assistant: { content: string } };
  await first.stop();
  const { url, stop } = await serveHere(t, home);
  const liked = { sentiment: "positive", what: "the joke" };
  const recorded = await postTo(url, "/api/feedback", liked);
  assert.equal(recorded.status, 201);
  const { name } = (await recorded.json()) as { name: string };
  const kept = await fetch(`${url}/api/feedback/${name}`);
  const { feedback, messages } = (await kept.json()) as {
    readonly feedback: Manifest;
    readonly messages: readonly PackageMessage[];
  };
  assert.deepEqual([feedback.target?.how, feedback.num_messages], ["last-assistant", 2]);
  assert.equal(messages[feedback.target?.index ?? -1]?.text, assistant.content);
  await stop();
});

test("a port that is in use is refused with the way out, and the home is let go of", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  t.after(() => other.close());
  const { port } = other.address() as { port: number };
  const { code, out, err } = await runCli(["serve", "--port", String(port)], { home });
  assert.deepEqual({ code, out }, { code: 1, out: "" });
  assert.match(
    err,
    new RegExp(
      `^error: cannot listen at port ${port} on 127\\.0\\.0\\.1: address already in use .*\\n.*--port`,
    ),
  );
  const far = ["--host", "192.0.2.1", "--token-file", join(home, "../token")];
  const elsewhere = await runCli(["serve", "--port", "0", ...far], { home });
  assert.match(
    elsewhere.err,
    /^error: cannot listen at port 0 on 192\.0\.2\.1: .*\nPass another --host/m,
  );
  await (await openThroughline({ home })).close();
});

test("serve --host with every address needs a token, and names the key hosts until it lists one", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  for (const host of ["0.0.0.0", "::"]) {
    const { code, out, err } = await runCli(["serve", "--port", "0", "--host", host], { home });
    assert.deepEqual({ code, out }, { code: 1, out: "" });
    assert.match(err, /token \[THROUGHLINE_CONFIGURATION\]\n.*--token-file/);
  }
  const config = join(home, "throughline.config.json");
  for (const [host, hosts, address, isTold] of [
    ["0.0.0.0", [], [], true],
    ["::", [], [], true],
    ["0.0.0.0", ["nova.example"], [], false],
    ["0.0.0.0", [], ["--host", "127.0.0.1"], false],
  ] as const) {
    fs.writeFileSync(config, JSON.stringify({ hosts, host }));
    const { io, stop } = await serveHere(t, home, [...address, "--token-file", `${home}.token`]);
    await stop();
    const says = `names they use for this one in ${config}: {"hosts": [`;
    assert.equal(io.errors.text.includes(says), isTold);
  }
});

test("a token file is made and its token asked for; neither output, command line nor lock.json hold it, and after a SIGKILL lock.json names no server", {
  skip: noSignals,
}, async (t) => {
  const directory = temporaryDirectory(t);
  const [home, file] = [join(directory, "home"), join(directory, "token")];
  const args = ["serve", "--port", "0", "--token-file", file];
  const serve = new Process(t, args, { home, variables: { LOG_LEVEL: "debug" } });
  const url = await serve.url();
  const token = fs.readFileSync(file, "utf8").trim();
  assert.equal((await post(url, "a", "hello")).status, 401);
  assert.equal((await post(url, "a", "hello", { authorization: `Bearer ${token}` })).status, 200);
  if (process.platform === "linux") {
    assert.ok(!fs.readFileSync(`/proc/${serve.child.pid}/cmdline`, "utf8").includes(token));
  }
  assert.deepEqual(serverOf(home), { url, token_file: file });
  const note = fs.readFileSync(join(home, "lock.json"), "utf8");
  assert.ok(!note.includes(token));
  assert.equal(fs.statSync(join(home, "lock.json")).mode & 0o777, 0o600);
  await assert.rejects(openThroughline({ home }), { code: "THROUGHLINE_LOCKED" });
  const { out, err } = await serve.kill();
  assert.match(err, /^Created a new token: /);
  assert.ok(!`${out}${err}`.includes(token));
  assert.ok(!err.includes("hello"));
  assert.equal(fs.readFileSync(join(home, "lock.json"), "utf8"), note, "the dead left its note");
  assert.equal(serverOf(home), undefined);
  await using _ = await openThroughline({ home });
  const held = JSON.parse(fs.readFileSync(join(home, "lock.json"), "utf8"));
  assert.deepEqual([held.pid, held.url, serverOf(home)], [process.pid, undefined, undefined]);
});

test("a token from the environment that is a placeholder, or of two sources, is refused", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const both = { THROUGHLINE_TOKEN: "x".repeat(50), THROUGHLINE_TOKEN_FILE: "/nowhere" };
  const weak = ["changeme", "undefined"].map((word) => ({ THROUGHLINE_TOKEN: word }));
  for (const variables of [both, ...weak]) {
    const { code, err } = await runCli(["serve", "--port", "0"], { home, variables });
    assert.equal(code, 1);
    assert.match(err, /^error: THROUGHLINE_TOKEN.*\[THROUGHLINE_CONFIGURATION\]/);
    assert.equal(fs.existsSync(home), false);
  }
});

test("a torn tail is told of at the start", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  {
    await using throughline = await openThroughline({ home });
    await throughline.chats.append("a", [{ role: "user", content: "hello" }]);
  }
  const [name = ""] = fs.readdirSync(join(home, "chats"));
  fs.appendFileSync(join(home, "chats", name), '{"id":"half');
  fs.rmSync(join(home, "index.db"));
  const { io, stop } = await serveHere(t, home);
  assert.match(
    io.errors.text,
    /Repaired at the start: chats\/a: torn_tail, 11 bytes, kept in quarantine/,
  );
  await stop();
});
