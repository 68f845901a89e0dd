import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openThroughline, type Throughline } from "../src/core/throughline.ts";
import {
  bytesUnder,
  Collected,
  copiesOf,
  fakeIo,
  keyboard,
  runCli,
  temporaryDirectory,
} from "./support/command-line.ts";
import { openAiServer } from "./support/openai-server.ts";
import { systemError } from "./support/system-error.ts";

// In this process: what a process adds is in the other tests of the command line.

/** A home with the chats `local:me` (two turns) and `work` (one message without an answer). */
const homeWithChats = copiesOf((home) =>
  inHome(home, async ({ chats, sessions }) => {
    await sessions.resolve("local:me", { provider: "ollama", model: "qwen3" });
    await chats.append("local:me", [
      { id: "m1", role: "user", content: "Where is the lighthouse?" },
      { id: "m2", role: "assistant", content: "On the \u001b[31mcliff.", provider: "ollama" },
      { id: "m3", role: "user", content: "Thanks" },
      { id: "m4", role: "assistant", content: "You are welcome." },
    ]);
    await sessions.resolve("work", { provider: "offline", model: "offline" });
    await chats.change("work", (transaction) => {
      transaction.message({ id: "w1", role: "user", content: "Are you there?" });
      transaction.set({ open_turn: { id: "w1", seq: transaction.seq, attempts: 1 } });
    });
  }),
);

const idOf = ({ id }: { readonly id: string }) => id;

async function inHome<T>(home: string, work: (throughline: Throughline) => Promise<T>): Promise<T> {
  await using throughline = await openThroughline({ home });
  return await work(throughline);
}

test("sessions list shows every chat, and --unanswered only those with a message that waits", async (t) => {
  const home = await homeWithChats(t);
  const all = await runCli(["sessions", "list"], { home });
  assert.equal(all.code, 0);
  const [header, first, second] = all.out.split("\n");
  assert.match(header ?? "", /^CHAT +LAST ACTIVE +MESSAGES +MODEL +TITLE$/);
  assert.match(
    first ?? "",
    /^work .* 1 .*Built-in responder \(no model\) +unanswered +Are you there\?$/,
  );
  assert.match(second ?? "", /^local:me .* 4 .*ollama\/qwen3 +Where is the lighthouse\?$/);
  const { out } = await runCli(["sessions", "list", "--unanswered", "--json"], { home });
  assert.deepEqual(
    JSON.parse(out).chats.map((row: { chat_id: string }) => row.chat_id),
    ["work"],
  );
});

test("sessions list --limit 1 gives a cursor, and --cursor goes on there", async (t) => {
  const home = await homeWithChats(t);
  const list = async (...more: string[]) => {
    const { out } = await runCli(["sessions", "list", "--json", "--limit", "1", ...more], { home });
    return JSON.parse(out) as { chats: { chat_id: string }[]; cursor?: string };
  };
  const first = await list();
  const second = await list("--cursor", first.cursor ?? "");
  assert.deepEqual(
    [...first.chats, ...second.chats].map((row) => row.chat_id),
    ["work", "local:me"],
  );
});

test("sessions show prints a chat with the ids of its messages, and no escape sequence of theirs", async (t) => {
  const home = await homeWithChats(t);
  const { code, out } = await runCli(["sessions", "show", "local:me"], { home });
  assert.equal(code, 0);
  assert.match(out, /^Chat +local:me\n/);
  assert.match(out, /Session +number 1, on ollama\/qwen3\n/);
  assert.match(out, /You {2}m1\n {2}Where is the lighthouse\?\n/);
  assert.match(out, /Companion \(ollama\) {2}m2\n {2}On the ␛\[31mcliff\.\n/);
  assert.ok(!out.includes("\u001b"));
});

test("sessions show --json has as many of the last messages as are asked for", async (t) => {
  const home = await homeWithChats(t);
  for (const [count, ids] of [
    ["0", []],
    ["1", ["m4"]],
    ["1000", ["m1", "m2", "m3", "m4"]],
  ] as const) {
    const args = ["sessions", "show", "local:me", "--json", "--messages", count];
    const { chat, session, messages } = JSON.parse((await runCli(args, { home })).out);
    assert.deepEqual([chat.chat_id, session.provider], ["local:me", "ollama"]);
    assert.deepEqual(messages.map(idOf), ids, count);
  }
});

test("sessions search finds messages by the beginnings of words, chats by title and id, in one chat or all, counts, and says that there may be more", async (t) => {
  const home = await homeWithChats(t);
  const search = (...args: string[]) => runCli(["sessions", "search", ...args], { home });
  const json = async (...args: string[]) => JSON.parse((await search("--json", ...args)).out);
  const { hits } = await json("LIGHTHOUSE", "where");
  assert.deepEqual([hits.length, hits[0].message.id], [1, "m1"]);
  assert.deepEqual((await json("lighthouse", "--chat", "work")).hits, []);
  const byWord = await search("lightho");
  assert.match(byWord.out, /m1/);
  assert.match(byWord.err, /^1 message in 1 chat\./);
  await inHome(home, async ({ chats }) => {
    await chats.rename("work", "Dentist appointments");
    const message = { role: "user", content: "a teapot" } as const;
    await chats.append("hidden", Array<typeof message>(1_000).fill(message));
    await chats.clear("hidden");
  });
  for (const query of ["dentist", "work"]) {
    assert.match((await search(query)).out, /work .*Dentist appointments/, query);
  }
  const { chats: found } = await json("dentist");
  assert.deepEqual([found.length, found[0].chat_id], [1, "work"]);
  assert.match((await search("dentist", "--limit", "1")).err, /words\. There may be more: /);
  const none = "No message, title or chat id contains these words";
  for (const [query, says] of [
    ["nowhere", `${none}.\n`],
    ["teapot", `${none}. There may be more: `],
  ] as const) {
    const { code, out, err } = await search(query);
    assert.deepEqual([code, out, err.slice(0, says.length)], [0, "", says]);
  }
});

test("sessions reset is for the active provider, --provider for the one that is named, --all for all", async (t) => {
  const counts = { messages: 1, cost_usd: 0, tokens: 5, outcome: "answered" } as const;
  const of = { ...counts, model: "m", generation: 1, bucket_generation: 1 };
  for (const [line, code, says, left] of [
    ["--provider x", 1, /\[THROUGHLINE_NOT_FOUND\]/, "ollama openai"],
    ["--all --provider x", 2, /\[THROUGHLINE_INVALID\]/, "ollama openai"],
    ["", 0, /^ollama starts over in this chat.* --all starts over with every/, "openai"],
    ["--provider openai", 0, /^openai starts over/, "ollama"],
    ["--all", 0, /^Session 2 has started with every provider\./, ""],
  ] as const) {
    const home = await homeWithChats(t);
    await inHome(home, async ({ sessions }) => {
      for (const provider of ["ollama", "openai"]) {
        await sessions.update("local:me", { ...of, turn: provider, provider });
      }
    });
    const args = ["sessions", "reset", "local:me", ...line.split(" ").filter(Boolean)];
    const { code: ended, out, err } = await runCli(args, { home });
    assert.equal(ended, code, line);
    assert.match(out + err, says);
    const period = await inHome(home, ({ sessions }) => sessions.active("local:me"));
    assert.equal(Object.keys(period?.provider_sessions ?? {}).join(" "), left, line);
    assert.equal(period?.provider, "ollama", "what it runs on stays");
  }
  const home = await homeWithChats(t);
  const { out } = await runCli(["sessions", "reset", "work"], { home });
  assert.match(out, /^Session 2 has started with/, "no model has answered there yet");
});

test("sessions fork copies a chat up to a message, and refuses an id that is in use", async (t) => {
  const home = await homeWithChats(t);
  const fork = () => runCli(["sessions", "fork", "local:me", "m2", "local:what-if"], { home });
  assert.match((await fork()).out, /^Created local:what-if with 2 messages\.\n$/);
  const again = await fork();
  assert.equal(again.code, 1);
  assert.match(again.err, /\[THROUGHLINE_CONFLICT\]/);
});

test("sessions forget without --yes is refused where nobody can be asked, and forgets nothing", async (t) => {
  const home = await homeWithChats(t);
  const { code, err } = await runCli(["sessions", "forget", "local:me"], { home });
  assert.equal(code, 2);
  assert.match(err, /--yes/);
  assert.match(err, /see: throughline sessions forget --help\n$/);
  assert.equal((await runCli(["sessions", "show", "local:me"], { home })).code, 0);
});

test("sessions forget names the forks that keep a copy, and theirs", async (t) => {
  const home = await homeWithChats(t);
  {
    await using throughline = await openThroughline({ home });
    const { chats } = throughline;
    const last = (await chats.messages("local:me")).messages.at(-1)?.id;
    await chats.fork("local:me", last, "fork");
    await chats.fork("fork", last, "fork of fork");
  }
  const { out } = await runCli(["sessions", "forget", "local:me", "--yes"], { home });
  assert.match(out, /^Forgotten: local:me\n {2}transcript: 4\n/);
  assert.match(out, /in a fork, forget it too: fork\n.*in a fork, forget it too: fork of fork\n$/);
});

test("a person who is asked forgets the chat with y, and keeps it with Enter or at the end of the input", async (t) => {
  const home = await homeWithChats(t);
  for (const [typed, code] of [
    ["\n", 1],
    [undefined, 1],
    ["y\n", 0],
  ] as const) {
    const { input } = keyboard();
    const io = fakeIo(input, true);
    const ended = runCli(["sessions", "forget", "local:me"], { home, io });
    await io.errors.has(/Forget local:me, 4 messages since .*\[y\/N\]/);
    if (typed === undefined) input.end();
    else input.write(typed);
    assert.equal((await ended).code, code);
    const { code: shown } = await runCli(["sessions", "show", "local:me"], { home });
    assert.equal(shown, 1 - code);
  }
});

test("sessions export writes the same to stdout and to a new file, mode 0600, in each format, and overwrites nothing", async (t) => {
  const home = await homeWithChats(t);
  for (const [format, first] of [
    ["jsonl", /^\{"_type":"metadata","key":"local:me",/],
    ["markdown", /^# Where is the lighthouse\?\n\nChat `local:me`\. /],
    ["html", /^<!doctype html>\n/],
  ] as const) {
    const file = join(home, "..", `export.${format}`);
    const args = ["sessions", "export", "local:me", "--format", format];
    const { out } = await runCli(args, { home });
    assert.match(out, first);
    const written = await runCli([...args, "--out", file], { home });
    assert.deepEqual({ code: written.code, out: written.out }, { code: 0, out: "" });
    assert.equal(fs.readFileSync(file, "utf8"), out);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  }
  const file = join(home, "..", "export.jsonl");
  fs.writeFileSync(file, "mine");
  const taken = await runCli(["sessions", "export", "local:me", "--out", file], { home });
  assert.equal(taken.code, 1);
  assert.match(taken.err, /already exists \[THROUGHLINE_CONFLICT\]/);
  assert.equal(fs.readFileSync(file, "utf8"), "mine");
  for (const [out, says] of [
    ["no/where", /no such file or directory \(ENOENT\)/],
    ["export.jsonl/where", /not a directory \(ENOTDIR\)/],
  ] as const) {
    const path = join(home, "..", out);
    const { code, err } = await runCli(["sessions", "export", "local:me", "--out", path], { home });
    assert.equal(code, 1);
    assert.ok(err.startsWith(`error: ${path} cannot be written: `), err);
    assert.match(err, says);
    assert.match(err, / \[THROUGHLINE_CONFIGURATION\]\nPass another --out, .+\n$/);
  }
});

test("sessions erase leaves a mark and no bytes, says where else a message was, and what it did not reach: exit 1", async (t) => {
  const home = await homeWithChats(t);
  await runCli(["sessions", "fork", "local:me", "m1", "copy"], { home });
  const erased = await runCli(["sessions", "erase", "local:me", "m1"], { home });
  assert.equal(erased.code, 0, erased.err);
  assert.match(erased.out, /^The message is deleted\..*\nAlso in: copy\n$/);
  const { out } = await runCli(["sessions", "show", "local:me"], { home });
  assert.match(out, /Message \[redacted\] {2}m1\n/);
  assert.ok(!/lighthouse/.test(out + bytesUnder(home)));
  const unknown = await runCli(["sessions", "erase", "local:me", "m9"], { home });
  assert.match(unknown.err, /^error: there is no such message in chat "local:me" \[.*_NOT_FOUND\]/);
  const name = "2026-02-19T15-30-00_positive_fb_a1b2c3d4e5f6";
  fs.mkdirSync(join(home, "feedback", name), { recursive: true });
  fs.writeFileSync(join(home, "feedback", name, "feedback.json"), "{");
  const again = await runCli(["sessions", "erase", "local:me", "m1"], { home });
  assert.equal(again.code, 1);
  assert.match(again.out, new RegExp(`\nNOT REACHED: the package ${name}, which cannot be read\n`));
});

test("sessions answer answers what waits, with --json as HTTP answers it, and then says that nothing does", async (t) => {
  const home = await homeWithChats(t);
  const copy = await homeWithChats(t);
  const { code, out } = await runCli(["sessions", "answer", "work"], { home });
  assert.equal(code, 0);
  assert.match(out, /Are you there\?/);
  const again = await runCli(["sessions", "answer", "work"], { home });
  assert.deepEqual(again, { code: 0, out: "There are no unanswered messages.\n", err: "" });
  const asJson = () => runCli(["sessions", "answer", "work", "--json"], { home: copy });
  const { turn_id, user, assistant, outcome } = JSON.parse((await asJson()).out);
  assert.deepEqual([turn_id, user.content, outcome], ["w1", "Are you there?", "answered"]);
  assert.equal(assistant.role, "assistant");
  assert.deepEqual(await asJson(), { code: 0, out: "null\n", err: "" });
});

test("sessions answer with a model that refuses ends with 1, and the message still waits", async (t) => {
  const home = await homeWithChats(t);
  await using server = await openAiServer(() => ({ status: 401 }));
  const args = ["sessions", "answer", "work", "--model", `${server.url}#none`];
  const { code, out } = await runCli(args, { home });
  assert.equal(code, 1);
  assert.match(out, /^\(.+\)\n$/);
  const list = await runCli(["sessions", "list", "--unanswered", "--json"], { home });
  assert.equal(JSON.parse(list.out).chats.length, 1);
});

for (const [fault, says] of [
  [new TypeError("a defect"), /^error: an unexpected TypeError \[TypeError\]\nThis is a bug\./],
  [systemError("ENOSPC", { name: "write" }), /^error: ENOSPC: .+ \[Error\]\nCheck the disk/],
] as const) {
  test(`sessions answer says on stderr that its output fails with: ${fault.message}`, async (t) => {
    const home = await homeWithChats(t);
    const output = new Collected();
    output._write = (_, __, done) => done(fault);
    output.on("error", () => undefined);
    const io = { ...fakeIo(), output };
    const { code, err } = await runCli(["sessions", "answer", "work"], { home, io });
    assert.equal(code, 1);
    assert.match(err, says);
  });
}

test("a message that failed can be answered until something else is said: then that is answered", async (t) => {
  const home = await homeWithChats(t);
  await using server = await openAiServer(() => ({ status: 401 }));
  const args = ["chat", "--chat", "work", "--model", `${server.url}#none`];
  for (const words of ["first\n", "second\n"]) {
    assert.equal((await runCli(args, { home, io: fakeIo(words) })).code, 1);
  }
  const answer = ["sessions", "answer", "work", "--model", "offline", "--json"];
  assert.equal(JSON.parse((await runCli(answer, { home })).out).user.content, "second");
  assert.equal((await runCli(answer, { home })).out, "null\n");
});

test("sessions dismiss leaves what waits without an answer", async (t) => {
  const home = await homeWithChats(t);
  const dismiss = async () => (await runCli(["sessions", "dismiss", "work"], { home })).out;
  assert.equal(await dismiss(), "1 message stays unanswered.\n");
  assert.equal(await dismiss(), "There are no unanswered messages.\n");
});

test("a command on a chat that is not there says so, and makes none", async (t) => {
  const home = await homeWithChats(t);
  for (const line of [
    ...["show", "export", "reset", "clear", "answer", "dismiss"].map((name) => `${name} nobody`),
    ...["fork nobody m1 new", "erase nobody m1", "forget nobody --yes"],
  ]) {
    const { code, out, err } = await runCli(["sessions", ...line.split(" ")], { home });
    assert.deepEqual({ code, out }, { code: 1, out: "" }, line);
    const [said, wayOut = ""] = err.split("\n");
    assert.equal(said, 'error: there is no chat "nobody" [THROUGHLINE_NOT_FOUND]');
    assert.match(wayOut, /^`throughline sessions list` shows the chats, and `sessions show CHAT`/);
  }
  const list = await runCli(["sessions", "list", "--json"], { home });
  assert.equal(JSON.parse(list.out).chats.length, 2);
});

const usage: readonly [args: string, says: RegExp, help: string][] = [
  ["nonsense", /unknown command 'nonsense'/, "throughline --help"],
  ["session list", /unknown command 'session' \(Did you mean sessions\?\)/, "throughline --help"],
  ["sessions lisst", /unknown command 'lisst'/, "throughline sessions --help"],
  ["sessions show", /missing required argument 'chat'/, "throughline sessions show --help"],
  ["sessions show a b", /too many arguments/, "throughline sessions show --help"],
  ["sessions list --limit 0", /from 1 to 1000/, "throughline sessions list --help"],
  ["sessions list --limit 1.5", /from 1 to 1000/, "throughline sessions list --help"],
  ["sessions export a --format pdf", /jsonl, markdown, html/, "throughline sessions export --help"],
  ["serve --port 65536", /from 0 to 65535/, "throughline serve --help"],
  ["serve --colour", /unknown option '--colour'/, "throughline serve --help"],
  ["chat --model gpt", /a model is named ollama\/<model>/, "throughline chat --help"],
];
test("wrong usage: exit 2, one line, and the way to the help", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  for (const [line, says, help] of usage) {
    const { code, out, err } = await runCli(line.split(" "), { home });
    assert.deepEqual({ code, out }, { code: 2, out: "" }, line);
    const [error = "", see, ...rest] = err.split("\n");
    assert.match(error, says);
    assert.match(error, /^error: .* \[THROUGHLINE_INVALID\]$/);
    assert.deepEqual([see, ...rest], [`see: ${help}`, ""]);
  }
  for (const args of [[], ["sessions"]]) {
    const { code, out, err } = await runCli(args, { home });
    assert.deepEqual({ code, out }, { code: 2, out: "" });
    assert.match(err, /^Usage: throughline /);
    assert.doesNotMatch(err, /error:|\[THROUGHLINE_/, "the list says enough");
  }
  assert.equal(fs.existsSync(home), false);
});

test("every command explains itself with --help: exit 0, on stdout, most with an example", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const help = async (...path: string[]) => {
    const { code, out, err } = await runCli([...path, "--help"], { home });
    assert.deepEqual({ code, err }, { code: 0, err: "" });
    return out;
  };
  const names = (text: string) =>
    [...(text.split("Commands:\n")[1] ?? "").split("\n\n")[0]!.matchAll(/^ {2}(\w+)/gm)]
      .map((match) => match[1]!)
      .filter((name) => name !== "help");
  const root = await help();
  assert.match(root, /THROUGHLINE_HOME/);
  for (const name of names(root)) {
    const text = await help(name);
    assert.match(text, /Examples:\n {2}throughline /, name);
    for (const sub of names(text)) assert.match(await help(name, sub), /^Usage: throughline /);
  }
});

test("without a home, sessions commands say so and make none; --version is the package's", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const { version } = JSON.parse(fs.readFileSync("package.json", "utf8"));
  assert.equal((await runCli(["--version"], { home })).out, `${version}\n`);
  const { code, err } = await runCli(["sessions", "list"], { home });
  assert.equal(code, 1);
  assert.match(
    err,
    /no home at .* yet \[THROUGHLINE_NOT_FOUND\]\nCreate one with `throughline chat`/,
  );
  assert.equal(fs.existsSync(home), false);
});
