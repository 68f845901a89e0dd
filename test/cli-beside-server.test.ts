// The commands that change chats and talk in them, beside a server in a process of its own.
import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import { bytesUnder, fakeIo, Process, runCli, temporaryDirectory } from "./support/command-line.ts";
import { openAiServer } from "./support/openai-server.ts";

async function homeWithChats(t: TestContext): Promise<string> {
  const home = join(temporaryDirectory(t), "home");
  await using throughline = await openThroughline({ home });
  const { chats, sessions } = throughline;
  await sessions.resolve("local:me", { provider: "ollama", model: "qwen3" });
  await chats.append("local:me", [
    { id: "m1", role: "user", content: "Where is the lighthouse?" },
    { id: "m2", role: "assistant", content: "On the xylophone.", provider: "ollama" },
    { id: "m3", role: "user", content: "Thanks" },
  ]);
  for (const id of ["work", "other"]) {
    await chats.change(id, (transaction) => {
      transaction.message({ id: "w1", role: "user", content: "Are you there?" });
      transaction.set({ open_turn: { id: "w1", seq: transaction.seq, attempts: 1 } });
    });
  }
  return home;
}

/** Replaces what differs from home to home: times, made ids, and runs. */
const stable = (text: string) =>
  text
    .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, "TIME")
    .replaceAll(/("(?:latency_ms|first_word_ms|told_session)"):\d+/g, "$1:0")
    .replaceAll(/\b[0-9a-z]{18}\b/g, "ID");

/** Serves a home in another process. */
async function serve(t: TestContext, home: string, ...args: readonly string[]) {
  const process = new Process(t, ["serve", "--port", "0", ...args], { home });
  return { url: await process.url(), process };
}

async function stop(served: Process): Promise<void> {
  served.child.kill("SIGTERM");
  assert.equal((await served.ended()).code, 0);
}

const rows: readonly (readonly [line: string, input?: string])[] = [
  ["sessions fork local:me m2 copy"],
  ["sessions fork local:me m9 copy2"],
  ["sessions erase local:me m2"],
  ["sessions erase local:me m9"],
  ["sessions reset local:me"],
  ["sessions reset local:me --all"],
  ["sessions reset local:me --provider claude"],
  ["sessions reset nobody"],
  ["sessions clear local:me"],
  ["sessions clear nobody"],
  ["sessions dismiss other"],
  ["sessions dismiss other"],
  ["sessions answer work"],
  ["sessions answer work --json"],
  ["sessions answer nobody"],
  [
    "chat",
    "Hello\n/new\n/newall\n/clear\n/dismiss\n/answer\n/model\n/nonsense\nAgain\ngoodbye\nnot read\n",
  ],
  ["chat --chat new", "/clear\n/new\nHello\n"],
  ["chat --chat files", "/attach FILE\nlook\n"],
  ["sessions export files --format markdown"],
  ["sessions show copy"],
  ["sessions forget copy"],
  ["sessions forget copy --yes --json"],
  ["export --format throughline --out HOME-full --json"],
  ["export --format throughline --out HOME-full"],
  ["export --format nanobot --out HOME-seed"],
  ["export --format ductor --out HOME-ductor --chat local:me"],
  ["export --format nanobot --out HOME-none --chat nobody"],
  ["sessions forget local:me --yes"],
  ["sessions forget nobody --yes"],
  ["sessions list --json"],
];

test("commands that change chats or talk do and print the same on a free home and beside a server", async (t) => {
  const free = await homeWithChats(t);
  const served = join(free, "..", "served");
  fs.cpSync(free, served, { recursive: true });
  fs.rmSync(join(served, "lock.db"));
  const file = join(free, "..", "notes.txt");
  fs.writeFileSync(file, "tea\n");
  const { process } = await serve(t, served, "--token-file", join(served, "..", "token"));
  for (const [line, input] of rows) {
    const both = [];
    for (const home of [free, served]) {
      const io = fakeIo((input ?? "").replace("FILE", file));
      const { code, out, err } = await runCli(line.replace("HOME", home).split(" "), { home, io });
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
  }
  await stop(process);
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

test("chat beside a server: SIGTERM cuts its answer short, and the server keeps what came", async (t) => {
  const home = await homeWithChats(t);
  await using model = await openAiServer(() => ({ text: "Once upon a time", hang: true }));
  const { process } = await serve(t, home, "--model", `${model.url}#m`);
  const chat = new Process(t, ["chat", "--chat", "tale"], { home });
  chat.child.stdin.write("tell me\n");
  await chat.prints("Once upon a");
  chat.child.kill("SIGTERM");
  assert.equal((await chat.ended()).code, 130);
  const { out } = await runCli(["sessions", "show", "tale", "--json"], { home });
  const { messages } = JSON.parse(out);
  assert.equal(messages.length, 2);
  assert.match(messages[1].content, /^Once upon a/);
  assert.equal(messages[1].partial_reason, "stopped");
  await stop(process);
});

test("a server that is killed in the middle of an answer: chat says so with 1, and the message can be answered", async (t) => {
  const home = await homeWithChats(t);
  await using model = await openAiServer((n) => {
    return n === 0 ? { text: "Once upon a time", hang: true } : { text: "Once upon a time" };
  });
  const named = ["--model", `${model.url}#m`];
  const { process, url } = await serve(t, home, ...named);
  const chat = new Process(t, ["chat", "--chat", "tale"], { home });
  chat.child.stdin.end("tell me\n");
  await chat.prints("Once upon a");
  process.child.kill("SIGKILL");
  await process.ended();
  const { code, out } = await chat.ended();
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

test("beside a server, a model by its URL or a window is refused before anything is asked", async (t) => {
  const home = await homeWithChats(t);
  const { process } = await serve(t, home);
  for (const given of [
    ["--model", "http://127.0.0.1:9/v1#m"],
    ["--window", "4096"],
  ]) {
    const io = fakeIo("hello\n");
    const { code, err } = await runCli(["chat", "--chat", "new", ...given], { home, io });
    assert.equal(code, 1);
    assert.match(err, /a server has this home.*\[THROUGHLINE_INVALID\]\nLeave them out here/);
  }
  const list = await runCli(["sessions", "list", "--json"], { home });
  assert.equal(JSON.parse(list.out).chats.length, 3);
  await stop(process);
});

test("a server that is killed while it forgets: the command says that it may be done, and a start ends it", async (t) => {
  const home = await homeWithChats(t);
  await using _ = await openThroughline({ home });
  // A server that takes the request and ends.
  const other = createServer((request, response) => {
    if (request.method === "DELETE") response.socket?.destroy();
    else response.end('{"version":"9.9.9","status":"ok","row":{}}');
  });
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const note = join(home, "lock.json");
  fs.writeFileSync(note, JSON.stringify({ ...JSON.parse(fs.readFileSync(note, "utf8")), url }));
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
  other.close();
  other.closeAllConnections();
});
