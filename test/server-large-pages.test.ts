// Pages of messages that are as large as a message can be.
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, type TestContext, test } from "node:test";
import { mcpRoutes } from "../src/adapters/mcp/routes.ts";
import { conversationRoutes } from "../src/adapters/openai/routes.ts";
import { fitting } from "../src/core/answer-size.ts";
import type { MessageInput } from "../src/core/chat/message-input.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { transcriptUpTo } from "../src/moments/turns/transcript.ts";
import { seededRandom } from "../src/testing/random.ts";
import { temporaryDirectory } from "./support/command-line.ts";
import { companion, me } from "./support/server-fixture.ts";

const chat = "local:me";
const large = "x".repeat(1_000_000);
const count = 9;
/** What one answer may hold: the bound of a page, and one message. */
const mostBytes = 4 * 1024 * 1024 + large.length + 4_096;

for (const [where, batch] of [
  ["in memory", 1],
  ["in files, some in one batch", 4],
] as const) {
  test(`a page of messages is bounded in bytes ${where}, and the next one continues`, async (t) => {
    const options = where === "in memory" ? { storage: "memory" } : { home: temporaryDirectory(t) };
    const throughline = await openThroughline(options as { home: string });
    t.after(() => throughline.close());
    const messages = Array.from({ length: count }, (_, n): MessageInput => {
      return { id: `m${n}`, role: "user", content: large };
    });
    for (let n = 0; n < count; n += batch) {
      await throughline.chats.append(chat, messages.slice(n, n + batch));
    }
    const c = await companion([], { throughline });
    const seen: string[] = [];
    let before: number | undefined;
    for (let pages = 0; pages === 0 || before !== undefined; pages++) {
      assert.ok(pages < count, "it does not end");
      const at = before === undefined ? "" : `&before=${before}`;
      const response = await c.ask(`${me}/messages?limit=1000${at}`);
      const text = await response.text();
      assert.equal(response.status, 200);
      assert.ok(text.length < mostBytes, `${text.length} bytes`);
      const page = JSON.parse(text) as { messages: { id: string }[]; before?: number };
      assert.ok(page.messages.length >= 3);
      seen.unshift(...page.messages.map(({ id }) => id));
      before = page.before;
    }
    assert.deepEqual(
      seen,
      messages.map(({ id }) => id),
    );
  });
}

test("a reaction to a message is about that message, whatever was said after it", async (t) => {
  const throughline = await openThroughline({ storage: "memory" });
  t.after(() => throughline.close());
  const { chats } = throughline;
  await chats.append(chat, [{ id: "first", role: "user", content: "Hello" }]);
  for (let n = 0; n < 8; n++) await chats.append(chat, [{ role: "user", content: large }]);
  const said = await transcriptUpTo(chats, chat, "first");
  assert.deepEqual(
    said.map(({ text }) => text),
    ["Hello"],
  );
});

const mebibyte = 1024 * 1024;
/** Bytes of one answer, and of what stands around its rows. */
const answerBytes = 16 * mebibyte + 4_096;

/** Random text with one word that is searched, as long as a message can be. */
function largeTexts(t: TestContext, howMany: number): readonly string[] {
  const seed = Date.now() % 100_000;
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  return Array.from({ length: howMany }, () => {
    const words = Array.from({ length: 1_000 }, () => random(2 ** 31).toString(36));
    return `needle ${words.join(" ")} ${String.fromCharCode(97 + random(26)).repeat(980_000)}`;
  });
}

let filled: ReturnType<typeof withLargeMessages> | undefined;
after(async () => (await filled)?.throughline.close());
/** One for all that only read it. */
const largeChats = (t: TestContext) => (filled ??= withLargeMessages(t));

const isFull = process.env["THROUGHLINE_FULL"] === "1";
/** More than one answer holds; in full, more than a search reads into memory. */
const howMany = isFull ? 30 : 19;

/** Chats with a message of 1 MB each, and one chat with all of them. */
async function withLargeMessages(t: TestContext) {
  const throughline = await openThroughline({ storage: "memory" });
  const { chats } = throughline;
  for (const [n, content] of largeTexts(t, howMany).entries()) {
    await chats.append(`c${n}`, [{ id: "m", role: "user", content }]);
    await chats.append("all", [{ id: `m${n}`, role: "user", content }]);
  }
  const features = [conversationRoutes(), mcpRoutes(undefined)];
  return companion([], { throughline, features });
}

test("a search ends with the answer's 16 MiB and says that there is more", async (t) => {
  const c = await largeChats(t);
  const call = { name: "session_search", arguments: { query: "needle", limit: 100 } };
  const accept = { accept: "application/json, text/event-stream" };
  const rpc = { jsonrpc: "2.0", id: 1, method: "tools/call", params: call };
  for (const [ask, most] of [
    [() => c.ask("/api/search?query=needle&limit=1000"), answerBytes],
    [() => c.ask("/api/search?query=needle&limit=1000&chat_id=all"), answerBytes],
    [() => c.ask("/api/chats?query=needle&limit=1000"), answerBytes],
    [() => c.ask("/api/chats/all/matches?query=needle"), answerBytes],
    [
      () => c.ask("/mcp", { method: "POST", headers: accept, body: JSON.stringify(rpc) }),
      40 * mebibyte,
    ],
  ] as const) {
    const response = await ask();
    const text = await response.text();
    assert.equal(response.status, 200, text.slice(0, 200));
    assert.ok(text.length < most, `${text.length} bytes`);
    assert.match(text, /"more":true/);
  }
  const { chats } = c.throughline;
  const { length } = await chats.search("needle", { limit: 1_000 });
  assert.ok(length <= 50, `of ${2 * howMany} messages ${length} were read into memory`);
  assert.equal((await chats.findChats("needle", { limit: 1_000 })).length, 17);
  const some = await c.get("/api/search?query=needle&limit=5");
  assert.deepEqual([some.hits.length, some.more], [5, undefined]);
});

test("a list of items ends with the answer's 16 MiB, and its last id leads to the rest", async (t) => {
  const c = await largeChats(t);
  const items: string[] = [];
  for (let page = { has_more: true, last_id: "" }; page.has_more; ) {
    const after = page.last_id === "" ? "" : `&after=${page.last_id}`;
    const response = await c.ask(`/v1/conversations/all/items?limit=100&order=asc${after}`);
    const text = await response.text();
    assert.ok(text.length < answerBytes, `${text.length} bytes`);
    const { data, ...rest } = JSON.parse(text);
    items.push(...data.map(({ id }: { id: string }) => id));
    page = rest;
  }
  assert.equal(new Set(items).size, howMany);
});

test("a row that is longer than an answer is given alone", () => {
  const long = "x".repeat(17 * mebibyte);
  assert.deepEqual(fitting([long, "a"]), { rows: [long], more: true });
  assert.deepEqual(fitting(["a", long, "b"]), { rows: ["a"], more: true });
  assert.deepEqual(fitting([long]), { rows: [long], more: undefined });
});

test("answers that nobody takes have a budget: past it 503, until they are taken or left", async (t) => {
  const c = await largeChats(t);
  const limited = await companion([], {
    throughline: c.throughline,
    limits: { answeredBytes: 24 * mebibyte },
  });
  const { port } = await limited.listen({ port: 0 });
  t.after(() => limited.server.close());
  const path = "/api/search?query=needle&limit=1000";
  const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
  const begun = async () => {
    const socket = connect(port, "127.0.0.1");
    socket.write(request);
    const head = await firstOf(socket);
    return { socket, head, status: Number(head.slice(9, 12)) };
  };
  const one = await begun();
  const two = await begun();
  assert.deepEqual([one.status, two.status], [200, 503]);
  assert.match(two.head, /retry-after: 5/i);
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200, "a small one fits");
  one.socket.destroy();
  let three = await begun();
  // Until the server has seen that it is gone.
  for (let tries = 0; three.status === 503 && tries < 50; tries++) three = await begun();
  assert.equal(three.status, 200);
  for (const { socket } of [two, three]) socket.destroy();
});

/** The first bytes of a socket, which is not read on. */
function firstOf(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("data", (bytes: Buffer) => {
      socket.pause();
      resolve(bytes.toString("latin1"));
    });
  });
}
