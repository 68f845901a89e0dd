// LangChain's history of messages, against its own in memory.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { InMemoryChatMessageHistory } from "@langchain/core/chat_history";
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableLambda, RunnableWithMessageHistory } from "@langchain/core/runnables";
import { column } from "../../../test/support/columns.ts";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { killed } from "../../../test/support/killed.ts";
import { randomText } from "../../../test/support/random-text.ts";
import { openThroughline, type Throughline } from "../../core/throughline.ts";
import { ThroughlineChatMessageHistory } from "./history.ts";

const chat = "telegram:42";

async function open(t: TestContext, home?: string): Promise<Throughline> {
  const place = home === undefined ? ({ storage: "memory" } as const) : { home };
  const throughline = await openThroughline({ ...place, durability: "process" });
  t.after(() => throughline.close());
  return throughline;
}

const dicts = (messages: readonly BaseMessage[]) => messages.map((message) => message.toDict());

const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(9)}` } };
const call = { id: "c1", name: "look", args: { at: [1, -0], deep: { a: null } } };
const kinds: readonly BaseMessage[] = [
  new HumanMessage({ content: [{ type: "text", text: "what is this?" }, picture], name: "ann" }),
  new AIMessage({
    content: "",
    tool_calls: [{ ...call, type: "tool_call" }],
    id: "run-1",
    additional_kwargs: { reasoning: "it looks like rain" },
  }),
  new ToolMessage({ content: "rain", tool_call_id: "c1", status: "error", artifact: { n: [1] } }),
  new SystemMessage("be kind"),
  new FunctionMessage({ content: "rain", name: "look" }),
  new ChatMessage({ content: "said by a judge", role: "judge" }),
  new AIMessageChunk({ content: "and a chunk" }),
];

test("messages of every kind come back equal after a restart; one longer than a chat's may be is refused", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  {
    await using throughline = await openThroughline({ home });
    const history = new ThroughlineChatMessageHistory(throughline, chat);
    for (const message of kinds) await history.addMessage(message);
    const long = new HumanMessage(randomText(1_100_000));
    await assert.rejects(history.addMessage(long), { code: "THROUGHLINE_TOO_LARGE" });
  }
  const messages = await new ThroughlineChatMessageHistory(await open(t, home), chat).getMessages();
  for (const [index, message] of kinds.entries()) {
    assert.equal(JSON.stringify(messages[index].toDict()), JSON.stringify(message.toDict()));
    assert.equal(messages[index].getType(), message.getType());
  }
  assert.equal(messages.length, kinds.length);
});

test("a runnable with a history says what it says with LangChain's own", async (t) => {
  const throughline = await open(t);
  const own = new InMemoryChatMessageHistory();
  const ours = new ThroughlineChatMessageHistory(throughline, chat);
  const prompt = ChatPromptTemplate.fromMessages([
    new MessagesPlaceholder("history"),
    ["human", "{input}"],
  ]);
  const model = RunnableLambda.from((value: { readonly messages: readonly BaseMessage[] }) => {
    return new AIMessage(value.messages.map(({ text }) => text).join(" | "));
  });
  const answers = async (history: InMemoryChatMessageHistory | ThroughlineChatMessageHistory) => {
    const runnable = new RunnableWithMessageHistory({
      runnable: prompt.pipe(model as never),
      getMessageHistory: () => history,
      inputMessagesKey: "input",
      historyMessagesKey: "history",
    });
    const config = { configurable: { sessionId: chat } };
    const said: string[] = [];
    for (const input of ["one", "two", "three"]) {
      said.push(((await runnable.invoke({ input }, config)) as AIMessage).text);
    }
    return said;
  };
  assert.deepEqual(await answers(ours), await answers(own));
  assert.deepEqual(dicts(await ours.getMessages()), dicts(await own.getMessages()));
  await ours.clear();
  assert.deepEqual(await ours.getMessages(), []);
  await new ThroughlineChatMessageHistory(throughline, "never begun").clear();
});

test("a message that says no more than a chat keeps is stored once, without its form", async (t) => {
  const throughline = await open(t);
  const history = new ThroughlineChatMessageHistory(throughline, chat);
  await history.addMessages([new HumanMessage("hello"), new AIMessage("hi"), kinds[0]!]);
  const { messages } = await throughline.chats.messages(chat);
  const kept = messages.map(({ content, exact }) => `${content} ${exact !== undefined}`);
  assert.deepEqual(kept, ["hello false", "hi false", "what is this? true"]);
});

test("after kills between and during calls every pair that was answered is there, once and whole", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const delays = process.env["THROUGHLINE_FULL"] === "1" ? [0, 3, 11] : [3];
  for (const [i, delayMs] of delays.entries()) {
    const id = `${chat}:${i}`;
    const { length: answered } = await killed("langchain", [home, id], { once: "1\n", delayMs });
    await using throughline = await openThroughline({ home });
    const messages = await new ThroughlineChatMessageHistory(throughline, id).getMessages();
    const count = messages.length / 2;
    assert.ok([answered, answered + 1].includes(count), `${count} pairs`);
    const pairs = Array.from({ length: count }, (_, n) => [`question ${n + 1}`, `answer ${n + 1}`]);
    assert.deepEqual(column(messages, "text"), pairs.flat());
  }
});

test("what was said in another way is in the history, and what was hidden is not", async (t) => {
  const throughline = await open(t);
  const { chats } = throughline;
  const look = { name: "look", arguments: '{"at":1}' };
  const tool_calls = [{ id: "c1", type: "function", function: look }] as const;
  await chats.append(chat, [
    { id: "m1", role: "user", content: "hello" },
    { id: "m2", role: "assistant", content: "", tool_calls },
    { id: "m3", role: "tool", content: "rain", tool_call_id: "c1", name: "look" },
    { id: "m4", role: "user", content: "a secret" },
    { id: "m5", role: "user", content: "by mistake" },
    { id: "m6", role: "assistant", content: "an announcement", hidden: true },
  ]);
  await chats.erase(chat, "m4");
  await chats.takeBack(chat, ["m5"]);
  const history = new ThroughlineChatMessageHistory(throughline, chat);
  await history.addUserMessage("and");
  await history.addAIMessage("yes");
  const messages = await history.getMessages();
  const said = messages.map((message) => `${message.getType()}: ${message.text}`);
  assert.deepEqual(said, ["human: hello", "ai: ", "tool: rain", "human: and", "ai: yes"]);
  assert.deepEqual(messages[1].tool_calls, [
    { id: "c1", name: "look", args: { at: 1 }, type: "tool_call" },
  ]);
});
