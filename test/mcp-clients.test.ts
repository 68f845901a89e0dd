// `throughline mcp` and `POST /mcp` of `throughline serve`, with the clients that people have.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openThroughline, type Throughline } from "../src/core/throughline.ts";
import { defaultAddress } from "../src/server/server.ts";
import { bytesUnder, Process, runCli, temporaryDirectory } from "./support/command-line.ts";
import { connectMcp, type Kind, kinds, type McpClient, type Place } from "./support/mcp-clients.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const noSignals = process.platform === "win32" && "Windows has no signals";

async function connect(t: TestContext, kind: Kind, place: Place): Promise<McpClient> {
  const client = await connectMcp(kind, place);
  t.after(() => client.close());
  return client;
}

/** What a client does with a chat, from its beginning to its end. */
async function useChat(client: McpClient, chat_id: string): Promise<void> {
  const word = `lighthouse${chat_id}`;
  const messages = [{ id: "m1", role: "user", content: `The ${word}` }];
  const first = await client.call("session_append", { chat_id, messages });
  assert.equal(first.messages[0].seq, 1);
  assert.deepEqual(await client.call("session_append", { chat_id, messages }), first);
  const { hits } = await client.call("session_search", { query: word });
  assert.deepEqual([hits.length, hits[0].chat_id, hits[0].message.id], [1, chat_id, "m1"]);
  const chat = await client.read(`throughline://chats/${chat_id}`);
  assert.equal(chat.messages[0].content, `The ${word}`);
  const { isError, content } = await client.raw("session_append", { chat_id });
  assert.equal(isError, true);
  assert.match(content[0].text, /^THROUGHLINE_INVALID: messages: /);
  const { removed } = await client.call("session_forget", { chat_id });
  assert.deepEqual(removed[0], { place: "transcript", count: 1 });
  assert.deepEqual((await client.call("session_search", { query: word })).hits, []);
}

/** Appends one message after the other. @returns the ids that were answered. */
async function appendAll(
  client: McpClient,
  writer: string,
  count: number,
  answered: string[] = [],
): Promise<readonly string[]> {
  for (let i = 1; i <= count; i++) {
    const id = `${writer}-${i}`;
    const messages = [{ id, role: "user", content: `message ${id}` }];
    await client.call("session_append", { chat_id: "shared", messages });
    answered.push(id);
  }
  return answered;
}

async function idsIn({ chats }: Throughline): Promise<readonly string[]> {
  return (await chats.messages("shared", { limit: 1_000 })).messages.map(({ id }) => id);
}

const count = isFull ? 200 : 15;

test(`clients of every kind use one home through a server, and append ${count} messages each: all are there`, async (t) => {
  const folder = temporaryDirectory(t);
  const [home, file] = [join(folder, "home"), join(folder, "token")];
  const serve = new Process(t, ["serve", "--port", "0", "--token-file", file], { home });
  const url = await serve.url();
  const token = fs.readFileSync(file, "utf8").trim();
  const opened = await Promise.all([
    ...kinds.map((kind) => connect(t, kind, { url, token })),
    connect(t, "v1", { home }),
    connect(t, "v2, 2026-07-28", { home }),
  ]);
  await Promise.all(opened.map((client, i) => useChat(client, `chat${i}`)));
  for (const client of opened) {
    const { tools } = await client.list();
    assert.equal(tools.length, 9);
  }
  const ids = await Promise.all(opened.map((client, i) => appendAll(client, `writer${i}`, count)));
  const [, , , through] = opened;
  const messages = [{ role: "user", content: "x".repeat(2_000_000) }];
  const large = through?.call("session_append", { chat_id: "shared", messages });
  await assert.rejects(large ?? assert.fail(), /^Error: THROUGHLINE_TOO_LARGE: /);
  await assert.rejects(connectMcp("v1", { url }), /401|UNAUTHORIZED/i);
  serve.child.kill("SIGTERM");
  assert.equal((await serve.ended()).code, 0);
  assert.ok(!bytesUnder(home).includes("lighthouse"), "forgotten everywhere");
  await using throughline = await openThroughline({ home });
  assert.deepEqual([...(await idsIn(throughline))].sort(), ids.flat().sort());
});

test("without a server `throughline mcp` opens the home, and a kill during appends loses nothing that was answered", {
  skip: noSignals,
}, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const answered: string[] = [];
  const rounds: readonly Kind[] = isFull ? [...kinds, ...kinds, ...kinds] : [kinds[2]];
  for (const [round, kind] of rounds.entries()) {
    const client = await connect(t, kind, { home });
    await useChat(client, `chat${round}`);
    const { outcome } = await client.call("remember_positively", { what: "a joke" });
    assert.match(outcome, /^(Remembered|Noted, still saving)\.$/);
    assert.ok(!fs.existsSync(join(home, "runs.jsonl")), "no run of the companion begins");
    const stopped = answered.length + 10 + round;
    const appending = appendAll(client, `round${round}`, 10_000, answered);
    while (answered.length < stopped) await new Promise(setImmediate);
    process.kill(client.pid ?? 0, "SIGKILL");
    await assert.rejects(appending, /closed/i);
    await using throughline = await openThroughline({ home });
    const stored = await idsIn(throughline);
    assert.deepEqual(
      answered.filter((id) => !stored.includes(id)),
      [],
    );
    assert.ok(stored.length - answered.length <= round + 1, "one was under way in each round");
  }
});

test("a server that is killed and started elsewhere is found again, and a repeated append stores nothing twice", {
  skip: noSignals,
}, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const first = new Process(t, ["serve", "--port", "0"], { home });
  await first.url();
  const client = await connect(t, "v2, 2025-11-25", { home });
  const answered: string[] = [];
  const appending = appendAll(client, "m", 10_000, answered);
  while (answered.length < 10) await new Promise(setImmediate);
  first.child.kill("SIGKILL");
  await assert.rejects(appending, /^Error: THROUGHLINE_(OUTCOME_UNKNOWN|UNAVAILABLE): /);
  await first.ended();
  await assert.rejects(client.call("session_list"), /^Error: THROUGHLINE_UNAVAILABLE: no server/);
  await assert.rejects(client.read("throughline://chats/a"), /THROUGHLINE_UNAVAILABLE/);
  const second = new Process(t, ["serve", "--port", "0"], { home });
  await second.url();
  const all = await appendAll(client, "m", answered.length + 1);
  second.child.kill("SIGTERM");
  await second.ended();
  await using throughline = await openThroughline({ home });
  assert.deepEqual(await idsIn(throughline), all);
});

test("a reaction of a model is about the answer that its program appended last; SIGTERM and SIGHUP end `throughline mcp` with 0", {
  skip: noSignals,
}, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const messages = ["One?", "Two?"].flatMap((content, n) => [
    { id: `u${n}`, role: "USER", content },
    { id: `a${n}`, role: "ASSISTANT", content: `${content} Yes.` },
  ]);
  for (const signal of isFull ? (["SIGTERM", "SIGHUP"] as const) : (["SIGTERM"] as const)) {
    const mcp = new Process(t, ["mcp"], { home });
    const call = async (id: number, name: string, args: object) => {
      const params = { name, arguments: args };
      const asked = { jsonrpc: "2.0", id, method: "tools/call", params };
      mcp.child.stdin.write(`${JSON.stringify(asked)}\n`);
      await mcp.prints(`"id":${id}`);
    };
    await call(1001, "session_append", { chat_id: "local:me", messages });
    await call(1002, "remember_positively", { what: "agreed", trigger: "praise" });
    assert.ok(fs.existsSync(join(home, "lock.json")));
    mcp.child.kill(signal);
    assert.equal((await mcp.ended()).code, 0, signal);
    assert.ok(!fs.existsSync(join(home, "lock.json")), signal);
  }
  const feedback = join(home, "feedback");
  const [name = ""] = fs.readdirSync(feedback).filter((each) => /_positive_fb_\w+$/.test(each));
  const { target } = JSON.parse(fs.readFileSync(join(feedback, name, "feedback.json"), "utf8"));
  assert.deepEqual(target?.message_ids, ["a1"]);
});

test("what a client asks right before the end of its input is answered, and the home is let go of", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const mcp = new Process(t, ["mcp"], { home });
  const ids = Array.from({ length: 20 }, (_, i) => i + 1);
  const messages = ids.map((id) => {
    const message = { id: `m${id}`, role: "user", content: `message ${id}` };
    const params = { name: "session_append", arguments: { chat_id: "a", messages: [message] } };
    return { jsonrpc: "2.0", id, method: "tools/call", params };
  });
  mcp.child.stdin.end(messages.map((each) => `${JSON.stringify(each)}\n`).join(""));
  const { code, out } = await mcp.ended();
  assert.deepEqual([code, fs.existsSync(join(home, "lock.json"))], [0, false]);
  const answers = out.trim().split("\n");
  const answered = answers.map((line) => JSON.parse(line) as { id: number; result?: object });
  assert.deepEqual(
    answered
      .filter(({ result }) => result !== undefined)
      .map(({ id }) => id)
      .toSorted((a, b) => a - b),
    ids,
  );
});

test("a message that is too long ends `throughline mcp` with 1 and says so", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const mcp = new Process(t, ["mcp"], { home });
  mcp.child.stdin.on("error", () => undefined); // it ends while this is written
  const block = "x".repeat(1024 * 1024);
  for (let mebibytes = 0; mebibytes < (isFull ? 300 : 12); mebibytes++)
    mcp.child.stdin.write(block);
  const { code, err } = await mcp.ended();
  assert.equal(code, 1);
  assert.match(err, /a message of the client is longer than 10 MiB.*THROUGHLINE_TOO_LARGE/s);
  assert.ok(!fs.existsSync(join(home, "lock.json")));
});

test("the registrations of docs/guides/mcp.md start this command, or name this route", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const page = fs.readFileSync("docs/guides/mcp.md", "utf8");
  const found = Array.from(page.matchAll(/^```json\n([\s\S]*?)^```$/gm), ([, text = ""]) => {
    const { mcpServers, servers = mcpServers } = JSON.parse(text);
    return servers.throughline as { args?: string[]; url?: string };
  });
  const [file, vsCode, running] = found;
  assert.deepEqual(file?.args, ["-y", "throughline", "mcp"]);
  assert.deepEqual(vsCode?.args, file?.args);
  assert.equal(running?.url, `http://${defaultAddress.host}:${defaultAddress.port}/mcp`);
  const { code, out } = await runCli([...(file?.args ?? []).slice(2), "--help"], { home });
  assert.equal(code, 0);
  assert.match(out, /over stdin and stdout/);
});

test("while another process has the home, `throughline mcp` ends with 1, names it, and writes nothing on stdout", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using _ = await openThroughline({ home });
  const { code, out, err } = await new Process(t, ["mcp"], { home }).ended();
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, new RegExp(`process ${process.pid} .* is the writer of .*THROUGHLINE_LOCKED`));
});
