// What is appended is heard as if it had been said in a turn. No model is asked.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { ThroughlineChatMessageHistory } from "../src/adapters/langchain/history.ts";
import { ThroughlineSaver } from "../src/adapters/langchain/saver.ts";
import { mcpRoutes } from "../src/adapters/mcp/routes.ts";
import { ThroughlineSession } from "../src/adapters/openai/session.ts";
import { systemClock } from "../src/core/clock.ts";
import { type Extension, noPart } from "../src/core/extension.ts";
import { recallWords } from "../src/moments/start-moments.ts";
import * as answers from "../src/server/answer-schemas.ts";
import { awake, runOf } from "./support/awake.ts";
import { killed } from "./support/killed.ts";
import { servedMoments } from "./support/served-moments.ts";
import { jsonOf, me, problemOf } from "./support/server-fixture.ts";

const chat = "local:me";
const append = `${me}/append`;
const insult = { id: "q", role: "USER", content: "You are stupid" };
const told = { id: "a", role: "ASSISTANT", content: "I will try harder", model: "sonic" };

const newHome = () => mkdtempSync(join(tmpdir(), "throughline-hearing-"));

/** A companion with feelings and moments, in a home, over HTTP. */
async function hearing(t: TestContext, home = newHome()) {
  const features = [mcpRoutes(undefined)];
  const c = await servedMoments(t, [], { home, features, addFeatures: awake() });
  /** Not the anger: it fades within a second, which a busy machine takes. */
  const felt = async () => {
    const now = systemClock.now();
    const span = { from: now - 600_000, to: now + 1, points: 2 };
    return (await runOf(c).moodCourse(span)).events;
  };
  /** What each of those that hear has by now. */
  const heard = async () => ({
    memory: answers.memoryOfChat.strict().parse(await c.get("/api/memory/local%3Ame")),
    buffer: (await c.get("/api/feedback/stats")).messages as number,
    insults: (await felt()).filter(({ event }) => event === "harsh_words").length,
  });
  /** Of `session.json`, once the run has ended. */
  const conversation = async () => {
    await c.end();
    const document = JSON.parse(readFileSync(join(home, "session", "session.json"), "utf8"));
    return document.conversation.map(
      ({ role, text }: Record<string, string>) => `${role}: ${text}`,
    );
  };
  return { ...c, heard, conversation };
}

const nothing = [[], 0, 0];
function briefly({ memory, buffer, insults }: Awaited<ReturnType<Hearing["heard"]>>) {
  return [memory.utterances, buffer, insults];
}
type Hearing = Awaited<ReturnType<typeof hearing>>;

test("an appended conversation is in working memory, the feelings, a reaction's package and session.json", async (t) => {
  const c = await hearing(t);
  await jsonOf(await c.post(append, { messages: [insult] }), 200);
  const open = await c.heard();
  assert.deepEqual(briefly(open), [["You are stupid"], 1, 1]);
  assert.deepEqual([open.memory.responses, open.memory.intents], [[""], ["UNKNOWN"]]);
  await jsonOf(await c.post(append, { messages: [told] }), 200);
  const { memory, buffer, insults } = await c.heard();
  assert.deepEqual([memory.responses, buffer, insults], [["I will try harder"], 2, 1]);
  assert.equal(memory.interactions[0]?.outcome, "answered");

  const reaction = { sentiment: "positive", what: "was kind", chat_id: chat };
  const { name } = await jsonOf(await c.post("/api/feedback", reaction), 201);
  const { feedback, messages } = await c.get(`/api/feedback/${name}`);
  assert.deepEqual(feedback.target.message_ids, ["a"]);
  assert.deepEqual([feedback.provider, feedback.model], [null, "sonic"]);
  assert.deepEqual(
    messages.map(({ role, text }: Record<string, string>) => `${role}: ${text}`),
    ["USER: You are stupid", "ASSISTANT: I will try harder"],
  );
  const words = await c.conversation();
  assert.deepEqual(words, ["USER: You are stupid", "ASSISTANT: I will try harder"]);
});

test("a message is heard once: a repeat, two appends at once, and its turn add nothing", async (t) => {
  const c = await hearing(t);
  const body = { messages: [insult] };
  const more = { messages: [insult, { role: "system", content: "It rains" }] };
  const both = await Promise.all([c.post(append, body), c.post(append, body)]);
  for (const answer of [...both, await c.post(append, body)]) await jsonOf(answer, 200);
  assert.deepEqual(briefly(await c.heard()), [["You are stupid"], 1, 1]);
  await jsonOf(await c.post(append, more), 200);
  assert.deepEqual(briefly(await c.heard()), [["You are stupid"], 2, 1]);
  const { id, content } = insult;
  const turn = await c.turns.open(chat, { id, content }, { provider: "mine", model: "mine" });
  assert.ok(turn.state === "open");
  const usage = { inputTokens: undefined, outputTokens: undefined, costUsd: undefined };
  const messages = [{ id: "a", role: "assistant", content: "I know" }] as const;
  await turn.turn.close({ messages, usage, outcome: "answered" });
  const { memory, buffer, insults } = await c.heard();
  assert.deepEqual([memory.responses, buffer, insults], [["I know"], 3, 1]);
  assert.deepEqual(await c.conversation(), ["USER: You are stupid", "ASSISTANT: I know"]);
});

const now = () => Date.now() / 1_000;
for (const [what, message, more, expected] of [
  ["of a minute ago", () => ({ timestamp: now() - 61 }), {}, nothing],
  ["of a minute to come", () => ({ timestamp: now() + 62 }), {}, nothing],
  ["that is only to be stored", () => ({}), { heard: false }, nothing],
  [
    "of now, as text",
    () => ({ timestamp: new Date().toISOString() }),
    {},
    [["You are stupid"], 1, 1],
  ],
  ["that no person said", () => ({ synthetic: "pat_hint" }), {}, [["You are stupid"], 1, 0]],
] as const) {
  test(`an appended message ${what} is heard as it should be`, async (t) => {
    const c = await hearing(t);
    const body = { messages: [{ ...insult, ...message() }], ...more };
    await jsonOf(await c.post(append, body), 200);
    assert.deepEqual(briefly(await c.heard()), expected);
    assert.equal((await c.get(`${me}/messages`)).messages.length, 1);
  });
}

const tools = (name: string, args: object) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: args },
});
for (const [what, add] of [
  [
    "session_append",
    async ({ post }: Hearing) => {
      const headers = { accept: "application/json, text/event-stream" };
      const args = { chat_id: chat, messages: [insult] };
      const answer = await post("/mcp", tools("session_append", args), headers);
      assert.doesNotMatch(await answer.text(), /"isError":true|"error"/);
    },
  ],
  [
    "LangChain's history",
    ({ throughline }: Hearing) =>
      new ThroughlineChatMessageHistory(throughline, chat).addMessage(
        new HumanMessage(insult.content),
      ),
  ],
  [
    "a transaction of the Agents SDK",
    ({ throughline }: Hearing) => {
      const items = [{ type: "message", role: "user", content: insult.content }] as const;
      const transaction = { type: "append_items", items } as const;
      const args = { operationId: "one", transaction };
      return new ThroughlineSession(throughline, chat).applyHistoryTransaction(args);
    },
  ],
] as const) {
  test(`what ${what} stores is heard`, async (t) => {
    const c = await hearing(t);
    await add(c);
    assert.deepEqual(briefly(await c.heard()), [["You are stupid"], 1, 1]);
    assert.deepEqual(await c.conversation(), ["USER: You are stupid"]);
  });
}

test("a thread of LangGraph is copied into its chat, and not heard", async (t) => {
  const c = await hearing(t);
  const said = new HumanMessage({ id: "q", content: insult.content });
  const config = { configurable: { thread_id: chat, checkpoint_ns: "" } };
  const checkpoint = { ...emptyCheckpoint(), channel_values: { messages: [said] } };
  const metadata = { source: "loop", step: 0, parents: {} } as const;
  const saver = new ThroughlineSaver(c.throughline, { transcript: "messages" });
  await saver.put(config, checkpoint, metadata, { messages: 1 });
  assert.equal((await c.get(`${me}/messages`)).messages.length, 1);
  assert.deepEqual(briefly(await c.heard()), nothing);
});

test("what is forgotten at once is heard by nobody later", async (t) => {
  const c = await hearing(t);
  const appended = c.post(append, { messages: [insult] });
  await Promise.all([appended, c.throughline.chats.forget(chat)]);
  await c.throughline.chats.forget(chat);
  const { memory, buffer } = await c.heard();
  assert.deepEqual([memory.utterances, buffer], [[], 0]);
  assert.deepEqual(await c.conversation(), []);
});

test("a kill between storing and hearing: the words are stored, recalled for reactions, and heard no more", async (t) => {
  const home = newHome();
  await killed("hearing", [home, chat]);
  const c = await hearing(t, home);
  await recallWords(c.throughline.chats, c.moments.recorder, systemClock);
  const messages = [{ id: "q", role: "user", content: "Hello" }];
  await jsonOf(await c.post(append, { messages }), 200);
  assert.equal((await c.get(`${me}/messages`)).messages.length, 1);
  assert.deepEqual(briefly(await c.heard()), [[], 1, 0]);
  assert.deepEqual(await c.conversation(), []);
});

test("answers in pieces are one answer, and working memory gives the last n turns", async (t) => {
  const c = await hearing(t);
  const pieces = ["One.", "Two."].map((content) => ({ role: "assistant", content }));
  const messages = [
    { role: "user", content: "Hi" },
    { role: "user", content: "Count?" },
    ...pieces,
  ];
  await jsonOf(await c.post(append, { messages }), 200);
  const last = await c.get("/api/memory/local%3Ame?n=1");
  assert.deepEqual(last.utterances, ["Count?"]);
  assert.deepEqual([last.intents, last.responses], [["QUESTION"], ["One.\n\nTwo."]]);
  const { interactions } = await c.get("/api/memory/local%3Ame");
  assert.deepEqual(
    interactions.map(({ turn, utterance }: Record<string, unknown>) => [turn, utterance]),
    [
      [2, "Count?"],
      [1, "Hi"],
    ],
  );
  assert.deepEqual((await c.get("/api/memory/nobody")).interactions, []);
  await problemOf(await c.ask("/api/memory/x?n=-1"), 400, "THROUGHLINE_INVALID");
  const reaction = { sentiment: "negative", what: "counted", chat_id: chat };
  const { name } = await jsonOf(await c.post("/api/feedback", reaction), 201);
  assert.equal((await c.get(`/api/feedback/${name}`)).feedback.target.count, 2);
});

test("words as the seeds write them: roles in any case, seconds, and the caller's own fields", async (t) => {
  const c = await hearing(t);
  const own = { tools_used: ["look"], confidence: 0.5, extra: { a: 1 } };
  const messages = [
    { id: "1", role: "USER", content: "Hello", timestamp: 1_740_000_500.25 },
    { id: "2", role: "assistant", content: "Hi!", timestamp: 1_740_000_502, ...own, seq: 9 },
  ];
  for (const _ of [1, 2]) await jsonOf(await c.post(append, { messages }), 200);
  const page = await c.get(`${me}/messages`);
  assert.deepEqual(
    page.messages.map(({ role, timestamp }: Record<string, string>) => [role, timestamp]),
    [
      ["user", "2025-02-19T21:28:20.250Z"],
      ["assistant", "2025-02-19T21:28:22.000Z"],
    ],
  );
  const { tools_used, confidence, extra, seq } = page.messages[1];
  assert.deepEqual({ tools_used, confidence }, { tools_used: ["look"], confidence: 0.5 });
  assert.deepEqual([extra, seq], [{ a: 1, seq: 9 }, 2]);
  const { messages: stored } = await c.throughline.chats.messages(chat);
  assert.deepEqual(stored, page.messages);
});

test("what is appended while a chat is being forgotten is heard nowhere", async (t) => {
  const c = await hearing(t);
  await jsonOf(await c.post(append, { messages: [insult] }), 200);
  const heard: string[] = [];
  const { chats } = c.throughline;
  await c.throughline.extend<Extension>("appends", async () => ({
    async remove({ chatId }) {
      await chats.append(chatId, [{ role: "user", content: "a secret" }]);
      return [];
    },
    catchUp: async () => undefined,
    heard: (_chatId, { content }) => void heard.push(content),
    turn: () => ({ begun: async () => noPart, ended: () => undefined }),
    preview: async () => noPart,
    async [Symbol.asyncDispose]() {},
  }));
  await chats.forget(chat);
  const { memory, buffer } = await c.heard();
  assert.deepEqual([heard, memory.utterances, buffer], [[], [], 0]);
  await jsonOf(await c.post(append, { messages: [{ role: "user", content: "again" }] }), 200);
  assert.deepEqual(heard, ["again"]);
  assert.deepEqual(await c.conversation(), ["USER: again"]);
});
