// What is removed from a chat does not reach the model by the thread or the history of the same id.

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { column } from "../../../test/support/columns.ts";
import { bytesUnder, temporaryDirectory } from "../../../test/support/command-line.ts";
import { kept } from "../../../test/support/kept-storage.ts";
import { openMemoryStorage } from "../../core/storage/memory/memory-storage.ts";
import { openThroughline, type Throughline } from "../../core/throughline.ts";
import { ThroughlineChatMessageHistory } from "./history.ts";
import { ThroughlineSaver } from "./saver.ts";

const chat = "telegram:42";
const config = { configurable: { thread_id: chat } };

/** How something is removed, and what is left of q1, its call, result and answer, q2 and its answer. */
const all = ["q1", "call", "result", "a1", "q2", "a2"];
const removals: readonly (readonly [
  name: string,
  remove: (throughline: Throughline) => Promise<unknown>,
  left: readonly string[],
])[] = [
  ["takeBack", ({ chats }) => chats.takeBack(chat, ["q2", "a2"]), all.slice(0, 4)],
  ["erase of a question", ({ chats }) => chats.erase(chat, "q2"), [...all.slice(0, 4), "a2"]],
  ["erase", ({ chats }) => chats.erase(chat, "q1"), all.slice(1)],
  ["erase of a result", ({ chats }) => chats.erase(chat, "result"), ["q1", "a1", "q2", "a2"]],
  ["takeBack of a call", ({ chats }) => chats.takeBack(chat, ["call"]), ["q1", "a1", "q2", "a2"]],
  ["clear", ({ chats }) => chats.clear(chat), []],
  ["reset", ({ sessions }) => sessions.reset(chat), []],
  ["a second reset", ({ sessions }) => sessions.reset(chat).then(() => sessions.reset(chat)), []],
];

const said = (text: string) => `the words of ${text}`;
const idsOf = (messages: readonly BaseMessage[]) => messages.map(({ id }) => id);

function answersOf(n: string): BaseMessage[] {
  const answer = new AIMessage({ id: `a${n}`, content: said(`a${n}`) });
  if (n !== "1") return [answer];
  const calls = [{ id: "c", name: "look", args: {} }];
  return [
    new AIMessage({ id: "call", content: said("call"), tool_calls: calls }),
    new ToolMessage({ id: "result", content: said("result"), tool_call_id: "c" }),
    answer,
  ];
}

/** Asks a graph. @returns the ids of the messages that its model got. */
async function ask(checkpointer: ThroughlineSaver, n: string): Promise<(string | undefined)[]> {
  let got: readonly BaseMessage[] = [];
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", ({ messages }) => {
      got = messages;
      return { messages: answersOf(n) };
    })
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
  const question = new HumanMessage({ id: `q${n}`, content: said(`q${n}`) });
  await graph.invoke({ messages: [question] }, config);
  return idsOf(got);
}

async function open(t: TestContext, home?: string): Promise<Throughline> {
  const throughline = await openThroughline(home === undefined ? { storage: "memory" } : { home });
  t.after(() => throughline.close());
  return throughline;
}

for (const [name, remove, left] of removals) {
  test(`after ${name} the thread gives the model none of it, and what was said since`, async (t) => {
    const storage = openMemoryStorage();
    {
      await using throughline = await openThroughline({ storage: kept(storage) });
      const saver = new ThroughlineSaver(throughline, { transcript: "messages" });
      for (const n of ["1", "2"]) await ask(saver, n);
      await remove(throughline);
    }
    const throughline = await openThroughline({ storage });
    t.after(() => throughline.close());
    const saver = new ThroughlineSaver(throughline, { transcript: "messages" });
    const gone = new Set(all.filter((id) => !left.includes(id)));
    for await (const { checkpoint } of saver.list(config)) {
      const messages = (checkpoint.channel_values["messages"] ?? []) as BaseMessage[];
      for (const id of idsOf(messages)) assert.ok(!gone.has(id ?? ""), id);
    }
    assert.deepEqual(await ask(saver, "3"), [...left, "q3"]);
    assert.deepEqual(await ask(saver, "4"), [...left, "q3", "a3", "q4"]);
    const { messages } = await throughline.chats.messages(chat);
    assert.deepEqual(column(messages.slice(-4), "id"), ["q3", "a3", "q4", "a4"]);
  });
}

test("erasing names the thread that may hold the message, until the thread is gone", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const throughline = await open(t, home);
  const saver = new ThroughlineSaver(throughline, { transcript: "messages" });
  await ask(saver, "1");
  const named = ['langgraph: "telegram:42" may hold it; forget the chat, or delete it there'];
  for (const _ of [1, 2]) {
    assert.deepEqual((await throughline.chats.erase(chat, "q1")).unreachable, named);
  }
  assert.ok(bytesUnder(home).includes(said("q1")));
  await saver.deleteThread(chat);
  assert.deepEqual((await throughline.chats.erase(chat, "q1")).unreachable, []);
  assert.ok(!bytesUnder(home).includes(said("q1")));
});

test("messages that a chat cannot hold are in the thread alone, and are cleared with those behind them", async (t) => {
  const throughline = await open(t);
  const saver = new ThroughlineSaver(throughline, { transcript: "messages" });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", () => ({ messages: [] }))
    .addEdge(START, "answer")
    .compile({ checkpointer: saver });
  const ids = ["long ".repeat(60), "part:1", "q0"];
  const messages = ids.map((id) => new HumanMessage({ id, content: "words" }));
  await graph.invoke({ messages }, config);
  assert.deepEqual(await ask(saver, "1"), [...ids, "q1"]);
  const page = await throughline.chats.messages(chat);
  assert.deepEqual(idsOf(page.messages as never), all.slice(0, 0).concat("q0", all.slice(0, 4)));
  await throughline.chats.clear(chat);
  assert.deepEqual(await ask(saver, "3"), ["q3"]);
});

for (const [name, remove, left] of removals) {
  test(`after ${name} LangChain's history has none of it, and what was said since`, async (t) => {
    const throughline = await open(t);
    const { chats } = throughline;
    const history = new ThroughlineChatMessageHistory(throughline, chat);
    await chats.append(
      chat,
      all.map((id) => ({ id, role: id.startsWith("a") ? "assistant" : "user", content: id })),
    );
    await remove(throughline);
    await history.addUserMessage("q3");
    const texts = (await history.getMessages()).map(({ text }) => text);
    // The history pairs no calls: what it has was given to it whole.
    const [alone] = /(?<=of a )(call|result)$/.exec(name) ?? [];
    const other = alone === "call" ? "result" : "call";
    const wanted = alone === undefined ? left : ["q1", other, ...left.slice(1)];
    assert.deepEqual(texts, [...wanted, "q3"]);
  });
}
