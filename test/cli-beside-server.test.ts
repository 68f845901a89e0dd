// The commands on chats, while a server has the home: what they do and print is as without it.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openThroughline } from "../src/core/throughline.ts";
import {
  bytesUnder,
  copiesOf,
  fakeIo,
  Process,
  runCli,
  serveHere,
} from "./support/command-line.ts";
import { noteOther } from "./support/loopback.ts";
import { openAiServer } from "./support/openai-server.ts";

/** A home with chats in every state that the commands show. */
const homeWithChats = copiesOf(async (home) => {
  await using throughline = await openThroughline({ home });
  const { chats, sessions } = throughline;
  await chats.append("seen", [{ id: "s1", role: "user", content: "A lighthouse" }]);
  await sessions.resolve("local:me", { provider: "ollama", model: "qwen3" });
  await chats.append("local:me", [
    { id: "m1", role: "user", content: "Where is the \u001b[31mlighthouse?" },
    {
      id: "m2",
      role: "assistant",
      content: "On the xylophone.",
      provider: "ollama",
      reasoning_content: "Cliffs.",
      provider_data: { provider: "ollama", model: "qwen3", secret: 1 },
    },
    { id: "m3", role: "user", content: "a secret" },
  ]);
  await chats.setMetadata("local:me", { user_timezone: "Asia/Tokyo" });
  await chats.erase("local:me", "m3");
  await chats.rename("seen", "Dentist & co. ?#%");
  await chats.append("a/b ?#%é", [{ id: "x1", role: "user", content: "odd id" }]);
  for (const id of ["work", "other"]) {
    await chats.change(id, (transaction) => {
      transaction.message({ id: "w1", role: "user", content: "Are you there?" });
      transaction.set({ open_turn: { id: "w1", seq: transaction.seq, attempts: 1 } });
    });
  }
});

/** Replaces what differs from home to home: times, made ids, and runs. */
const stable = (text: string) =>
  text
    .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, "TIME")
    .replaceAll(/("(?:latency_ms|first_word_ms|told_session)"):\d+/g, "$1:0")
    .replaceAll(/\b[0-9a-z]{18}\b/g, "ID");

/** These change nothing, and come first: the home is as it was made. */
const reading: readonly string[] = [
  "list",
  "list --json",
  "list --unanswered",
  "list --cursor nonsense",
  "show local:me",
  "show local:me --json",
  "show seen --messages 0",
  "show work",
  "show a/b ?#%é", // one argument
  "show nobody",
  "search lighthouse --json",
  "search dentist --json",
  "search light --chat seen --limit 1",
  "export local:me",
  "export local:me --format markdown",
  "export nobody",
];

const rows: readonly (readonly [line: string, input?: string])[] = [
  ...reading.map((line) => [`sessions ${line}`] as const),
  ["sessions fork local:me m2 copy"],
  ["sessions erase local:me m2"],
  ["sessions erase local:me m9"],
  ["sessions reset local:me"],
  ["sessions reset local:me --all"],
  ["sessions reset local:me --provider claude"],
  ["sessions clear local:me"],
  ["sessions dismiss other"],
  ["sessions answer work"],
  ["sessions answer nobody"],
  ["chat", "Hello\n/new\n/newall\n/clear\n/dismiss\n/answer\n/model\nAgain\ngoodbye\nnot read\n"],
  ["chat --chat new", "/clear\nHello\n"],
  ["chat --chat files", "/attach FILE\nlook\n"],
  ["sessions export files --format markdown"],
  ["sessions forget copy"],
  ["sessions forget copy --yes --json"],
  ["export --format throughline --out HOME-full --json"],
  ["export --format nanobot --out HOME-seed"],
  ["export --format ductor --out HOME-ductor --chat local:me"],
  ["sessions forget local:me --yes"],
  ["sessions list --json"],
];

test("commands that read chats, change them or talk do and print the same on a free home and beside a server", async (t) => {
  const [free, served] = [await homeWithChats(t), await homeWithChats(t)];
  const file = join(free, "..", "notes.txt");
  fs.writeFileSync(file, "tea\n");
  const { stop } = await serveHere(t, served, ["--token-file", join(served, "..", "token")]);
  for (const [line, input] of rows) {
    const both = [];
    for (const home of [free, served]) {
      const io = fakeIo((input ?? "").replace("FILE", file));
      const args = line.replace("HOME", home).split(/ (?!\?)/);
      const { code, out, err } = await runCli(args, { home, io });
      // Times and places differ, and a server remembers what was said a moment ago.
      const says = `${out}\n${err}`
        .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, "TIME")
        .replaceAll(/\b\d\d:\d\d(:\d\d)?\b/g, "TIME")
        .replaceAll(/(working memory\D+)\d+/g, "$1N")
        .replaceAll(home, "HOME");
      both.push({ code, says });
    }
    assert.deepEqual(both[1], both[0], line);
    assert.doesNotMatch(both[1]?.says ?? "", /THROUGHLINE_LOCKED/, line);
    const isWrong = / (nobody|nonsense)$/.test(line) && !line.includes("--chat");
    if (reading.includes(line.slice("sessions ".length))) assert.equal(both[0]?.code, +isWrong);
    if (!line.includes("export")) assert.doesNotMatch(both[0]?.says ?? "", /provider_data/, line);
  }
  await stop();
  const [one, other] = [free, served].map((home) =>
    ["full", "seed", "ductor"].flatMap((out) => {
      const names = fs.readdirSync(`${home}-${out}`).sort();
      return names.map((name) => [
        name,
        stable(fs.readFileSync(join(`${home}-${out}`, name), "utf8")),
      ]);
    }),
  );
  assert.ok((one?.length ?? 0) > 6);
  assert.deepEqual(other, one);
  for (const home of [free, served]) assert.ok(!bytesUnder(home).includes("xylophone"));
});

test("an export through the server writes a whole new file, or none", async (t) => {
  const home = await homeWithChats(t);
  const { stop } = await serveHere(t, home);
  const out = join(home, "..", "me.md");
  const args = ["sessions", "export", "local:me", "--format", "markdown"];
  const { out: printed } = await runCli(args, { home });
  assert.equal((await runCli([...args, "--out", out], { home })).code, 0);
  assert.equal(fs.readFileSync(out, "utf8"), printed);
  const missing = join(home, "..", "no.md");
  const refused = await runCli(["sessions", "export", "nobody", "--out", missing], { home });
  assert.match(refused.err, /there is no chat "nobody" \[THROUGHLINE_NOT_FOUND\]/);
  assert.equal(fs.existsSync(missing), false);
  await stop();
});

test("a command that no route serves says that the server is to be stopped, and where it is", async (t) => {
  const home = await homeWithChats(t);
  const { url, stop } = await serveHere(t, home);
  const golden = fileURLToPath(new URL("golden/nanobot", import.meta.url));
  for (const args of [
    ["serve", "--port", "0"],
    ["import", golden, "--from", "nanobot"],
    ["export", "--to", join(home, "..", "other")],
  ]) {
    const { code, err } = await runCli(args, { home });
    assert.equal(code, 1, args[0]);
    const [error = "", wayOut] = err.split("\n");
    assert.match(error, /^error: process \d+ .* is the writer of .* \[THROUGHLINE_LOCKED\]$/);
    assert.ok(error.includes(`, and serves it at ${url}: stop it, or use another home`), error);
    assert.match(wayOut ?? "", /^Stop that process, then run this again\./);
  }
  await stop();
});

test("a server whose token is unknown or cannot be read is named, with what to do; the environment may have it", async (t) => {
  const home = await homeWithChats(t);
  const tokenFile = join(home, "..", "token");
  const list = (variables = {}) => runCli(["sessions", "list"], { home, variables });
  const first = await serveHere(t, home, ["--token-file", tokenFile]);
  fs.renameSync(tokenFile, `${tokenFile}.old`);
  const unknown = await list();
  assert.equal(unknown.code, 1);
  const start = `error: the server at ${first.url} has this home, and refused this: `;
  assert.ok(unknown.err.startsWith(start), unknown.err);
  assert.match(unknown.err, /\[THROUGHLINE_UNAUTHORIZED\]\nSet THROUGHLINE_TOKEN to the token/);
  fs.mkdirSync(tokenFile);
  assert.match((await list()).err, /token is not a regular file \[THROUGHLINE_CONFIGURATION\]/);
  await first.stop();
  const variables = { THROUGHLINE_TOKEN: "tB3-kq9ZrW1xYv7uM5nL8jH2gF4dS6aPqEwRtYuIoPz" };
  const { stop } = await serveHere(t, home, [], variables);
  assert.match((await list()).err, /THROUGHLINE_UNAUTHORIZED/);
  assert.match((await list(variables)).out, /local:me/);
  await stop();
});

test("a server that is gone, refuses, or is no server of ours gives an error with its address", async (t) => {
  const home = await homeWithChats(t);
  await using _ = await openThroughline({ home });
  const answers: [status: number, body: string][] = [
    [503, '{"code":"THROUGHLINE_UNAVAILABLE","detail":"The home is being opened."}'],
    [404, "<h1>Not here</h1>"],
    [200, "<h1>Hello</h1>"],
  ];
  let [status, body] = answers[0] ?? [0, ""];
  const { url, close } = await noteOther(home, (_, response) => {
    response.writeHead(status).end(body);
  });
  const errors: string[] = [];
  for ([status, body] of answers) {
    errors.push((await runCli(["sessions", "show", "seen"], { home })).err);
  }
  await close();
  errors.push((await runCli(["sessions", "show", "seen"], { home })).err);
  const says = [
    "refused this: The home is being opened.",
    "refused this: status 404",
    "does not answer",
    "does not answer",
  ];
  for (const [index, each] of says.entries()) {
    const [error, wayOut] = errors[index]?.split("\n") ?? [];
    const start = `error: the server at ${url} has this home, and ${each}`;
    assert.equal(error, `${start} [THROUGHLINE_UNAVAILABLE]`);
    assert.match(wayOut ?? "", /stop the server and run this again\.$/);
  }
});

test("a server that has not begun to answer after 10 s is given up", async (t) => {
  const home = await homeWithChats(t);
  await using _ = await openThroughline({ home });
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const { url, close } = await noteOther(home, () => resolve());
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const shown = runCli(["sessions", "show", "seen"], { home });
  await asked;
  t.mock.timers.tick(9_999);
  const early = await Promise.race([shown, new Promise((done) => setImmediate(done))]);
  assert.equal(early, undefined);
  t.mock.timers.tick(1);
  const { code, err } = await shown;
  assert.equal(code, 1);
  assert.ok(
    err.startsWith(`error: the server at ${url} has this home, and does not answer [`),
    err,
  );
  await close();
});

test("what no path leads to, a model by its URL and a window are refused, and nothing is shown, changed or forgotten", async (t) => {
  const home = await homeWithChats(t);
  const free = (await runCli(["sessions", "list", "--json"], { home })).out;
  const { stop } = await serveHere(t, home);
  for (const args of [
    ["sessions", "show", "."],
    ["sessions", "forget", "..", "--yes"],
    ["sessions", "erase", "seen", ".."],
    ["sessions", "erase", "seen", "."],
    ["chat", "--chat", ".."],
  ]) {
    const { err } = await runCli(args, { home, io: fakeIo("hello\n") });
    assert.match(err, /no path leads to the id "\.+" \[THROUGHLINE_INVALID\]/);
  }
  for (const given of [
    ["--model", "http://127.0.0.1:9/v1#m"],
    ["--window", "4096"],
  ]) {
    const chat = ["chat", "--chat", "new", ...given];
    const { code, err } = await runCli(chat, { home, io: fakeIo("hello\n") });
    assert.equal(code, 1);
    assert.match(err, /a server has this home.*\[THROUGHLINE_INVALID\]\nLeave them out here/);
  }
  assert.equal((await runCli(["sessions", "list", "--json"], { home })).out, free);
  await stop();
});

test("chat beside a server: SIGTERM cuts its answer short, and the server keeps what came", async (t) => {
  const home = await homeWithChats(t);
  await using model = await openAiServer(() => ({ text: "Once upon a time", hang: true }));
  const { stop } = await serveHere(t, home, ["--model", `${model.url}#m`]);
  const io = fakeIo("tell me\n");
  const chat = runCli(["chat", "--chat", "tale"], { home, io });
  await io.output.has("Once upon a");
  io.signal("SIGTERM");
  assert.equal((await chat).code, 130);
  const { out } = await runCli(["sessions", "show", "tale", "--json"], { home });
  const { messages } = JSON.parse(out);
  assert.equal(messages.length, 2);
  assert.match(messages[1].content, /^Once upon a/);
  assert.equal(messages[1].partial_reason, "stopped");
  await stop();
});

test("a server that is killed in the middle of an answer: chat says so with 1, and the message can be answered", async (t) => {
  const home = await homeWithChats(t);
  await using model = await openAiServer((n) => {
    return n === 0 ? { text: "Once upon a time", hang: true } : { text: "Once upon a time" };
  });
  const named = ["--model", `${model.url}#m`];
  const server = new Process(t, ["serve", "--port", "0", ...named], { home });
  const url = await server.url();
  const io = fakeIo("tell me\n");
  const chat = runCli(["chat", "--chat", "tale"], { home, io });
  await io.output.has("Once upon a");
  await server.kill();
  const { code, out } = await chat;
  assert.equal(code, 1);
  const says = `(the server at ${url} ended before it had answered: it may have done this)`;
  assert.ok(out.includes(says), out);
  const answered = await runCli(["sessions", "answer", "tale", ...named], { home });
  assert.deepEqual([answered.code, answered.out], [0, "Once upon a time\n"]);
  const shown = JSON.parse((await runCli(["sessions", "show", "tale", "--json"], { home })).out);
  assert.deepEqual(
    shown.messages.map(({ role }: { role: string }) => role),
    ["user", "assistant"],
  );
});

test("a server that is killed while it forgets: the command says that it may be done, and a start ends it", async (t) => {
  const home = await homeWithChats(t);
  await using _ = await openThroughline({ home });
  // A server that takes the request and ends.
  const { url, close } = await noteOther(home, (request, response) => {
    if (request.method === "DELETE") response.socket?.destroy();
    else response.end('{"version":"9.9.9","status":"ok","row":{}}');
  });
  const { code, err } = await runCli(["sessions", "forget", "work", "--yes"], { home });
  assert.equal(code, 1);
  const [version, error, wayOut] = err.split("\n");
  assert.match(
    version ?? "",
    /^The server at \S+ is version 9\.9\.9, and this command \S+\. Restart/,
  );
  assert.equal(
    error,
    `error: the server at ${url} ended before it had answered: it may have done this [THROUGHLINE_OUTCOME_UNKNOWN]`,
  );
  assert.match(wayOut ?? "", /^See what is there/);
  await close();
});
