// The commands that read chats, while a server has the home.
import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openThroughline } from "../src/core/throughline.ts";
import { fakeIo, runCli, temporaryDirectory } from "./support/command-line.ts";

type Variables = Readonly<Record<string, string>>;

/** A home with chats in every state that the commands show. */
async function homeWithChats(t: TestContext): Promise<string> {
  const home = join(temporaryDirectory(t), "home");
  await using throughline = await openThroughline({ home });
  const { chats, sessions } = throughline;
  await chats.append("seen", [{ id: "s1", role: "user", content: "A lighthouse" }]);
  await sessions.resolve("local:me", { provider: "ollama", model: "qwen3" });
  await chats.append("local:me", [
    { id: "m1", role: "user", content: "Where is the \u001b[31mlighthouse?" },
    {
      id: "m2",
      role: "assistant",
      content: "On the cliff.",
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
  await chats.change("work", (transaction) => {
    transaction.message({ id: "w1", role: "user", content: "Are you there?" });
    transaction.set({ open_turn: { id: "w1", seq: transaction.seq, attempts: 1 } });
  });
  return home;
}

/** Serves the home in this process until `stop`. */
async function serve(home: string, ...args: readonly string[]) {
  const io = fakeIo();
  const ended = runCli(["serve", "--port", "0", ...args], { home, io });
  await Promise.race([
    io.output.has("listening"),
    ended.then(({ err }) => Promise.reject(new Error(err))),
  ]);
  const stop = async () => {
    io.signal("SIGTERM");
    assert.equal((await ended).code, 0);
  };
  return { url: /http:\S+/.exec(io.output.text)?.[0] ?? "", stop };
}

/** Notes another server as the one that has the home, in the place of a holder that serves nothing. */
async function noteOther(home: string, answer: (response: ServerResponse) => unknown) {
  const other = createServer((_, response) => answer(response));
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const note = join(home, "lock.json");
  fs.writeFileSync(note, JSON.stringify({ ...JSON.parse(fs.readFileSync(note, "utf8")), url }));
  return { url, other };
}

const reading: readonly (readonly string[])[] = [
  ["list"],
  ["list", "--json"],
  ["list", "--json", "--limit", "2"],
  ["list", "--unanswered"],
  ["show", "local:me"],
  ["show", "local:me", "--json"],
  ["show", "local:me", "--json", "--messages", "1"],
  ["show", "seen", "--messages", "0"],
  ["show", "seen", "--json"],
  ["show", "work"],
  ["show", "a/b ?#%é"],
  ["show", "nobody"],
  ["search", "lighthouse"],
  ["search", "lighthouse", "--json"],
  ["search", "dentist", "--json"],
  ["search", "secret"],
  ["search", "light", "--chat", "seen", "--limit", "1"],
  ["search", "light", "--chat", "nobody"],
  ["export", "local:me"],
  ["export", "local:me", "--format", "markdown"],
  ["export", "local:me", "--format", "html"],
  ["export", "nobody"],
  ["list", "--cursor", "nonsense"],
];

test("sessions list, show, search and export print the same while a server has the home", async (t) => {
  const home = await homeWithChats(t);
  const all = async () => {
    const said = [];
    for (const args of reading) said.push(await runCli(["sessions", ...args], { home }));
    return said;
  };
  const free = await all();
  const tokenFile = join(home, "..", "token");
  const { stop } = await serve(home, "--token-file", tokenFile);
  const served = await all();
  await stop();
  for (const [index, args] of reading.entries()) {
    assert.deepEqual(served[index], free[index], args.join(" "));
  }
  assert.equal(free.filter(({ code }) => code === 0).length, reading.length - 3);
  const shown = free.filter((_, index) => reading[index]?.[0] !== "export");
  assert.ok(shown.every(({ out }) => !out.includes("provider_data")));
});

test("an export through the server writes a whole new file, or none", async (t) => {
  const home = await homeWithChats(t);
  const { stop } = await serve(home);
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
  const { url, stop } = await serve(home);
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

test("a server whose token is unknown or cannot be read is named, with what to do", async (t) => {
  const home = await homeWithChats(t);
  const tokenFile = join(home, "..", "token");
  const list = (variables: Variables = {}) =>
    runCli(["sessions", "list"], { home, variables: { ...variables } });
  const { url, stop } = await serve(home, "--token-file", tokenFile);
  fs.renameSync(tokenFile, `${tokenFile}.old`);
  const unknown = await list();
  assert.equal(unknown.code, 1);
  assert.ok(
    unknown.err.startsWith(`error: the server at ${url} has this home, and refused this: `),
  );
  assert.match(unknown.err, /\[THROUGHLINE_UNAUTHORIZED\]\nSet THROUGHLINE_TOKEN to the token/);
  fs.mkdirSync(tokenFile);
  const unreadable = await list();
  assert.match(unreadable.err, /token is not a regular file \[THROUGHLINE_CONFIGURATION\]/);
  await stop();
});

test("a server without a token file takes the token of the environment", async (t) => {
  const home = await homeWithChats(t);
  const io = fakeIo();
  const variables = { THROUGHLINE_TOKEN: "tB3-kq9ZrW1xYv7uM5nL8jH2gF4dS6aPqEwRtYuIoPz" };
  const ended = runCli(["serve", "--port", "0"], { home, io, variables });
  await io.output.has("listening");
  const without = await runCli(["sessions", "list"], { home });
  assert.match(without.err, /THROUGHLINE_UNAUTHORIZED/);
  const { code, out } = await runCli(["sessions", "list"], { home, variables });
  assert.equal(code, 0);
  assert.match(out, /local:me/);
  io.signal("SIGTERM");
  await ended;
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
  const { url, other } = await noteOther(home, (response) => response.writeHead(status).end(body));
  const errors: string[] = [];
  for ([status, body] of answers) {
    errors.push((await runCli(["sessions", "show", "seen"], { home })).err);
  }
  other.close();
  other.closeAllConnections();
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
  const { url, other } = await noteOther(home, () => resolve());
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
  other.close();
  other.closeAllConnections();
});

test("what no path leads to is refused, and nothing else is shown, changed or forgotten", async (t) => {
  const home = await homeWithChats(t);
  const free = (await runCli(["sessions", "list", "--json"], { home })).out;
  const { stop } = await serve(home);
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
  assert.equal((await runCli(["sessions", "list", "--json"], { home })).out, free);
  await stop();
});
