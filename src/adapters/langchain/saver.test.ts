// What LangGraph's validation suite misses, through the engine and through the saver itself.

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import {
  type Checkpoint,
  type CheckpointTuple,
  emptyCheckpoint,
  MemorySaver,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { column, columns } from "../../../test/support/columns.ts";
import { bytesUnder, temporaryDirectory } from "../../../test/support/command-line.ts";
import { killed } from "../../../test/support/killed.ts";
import { answerTo, graphWithTool } from "../../../test/support/langgraph-graph.ts";
import { randomText } from "../../../test/support/random-text.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { langGraphLogs } from "../../core/storage/framework-logs.ts";
import { openThroughline, type Throughline } from "../../core/throughline.ts";
import { seededRandom } from "../../testing/random.ts";
import { ThroughlineSaver } from "./saver.ts";

const metadata = { source: "loop", step: 1, parents: {} } as const;
const thread = (threadId: string, ns = "") => ({
  configurable: { thread_id: threadId, checkpoint_ns: ns },
});

async function open(t: TestContext, home?: string): Promise<Throughline> {
  const throughline = await openThroughline(
    home === undefined ? { storage: "memory" } : { home, durability: "process" },
  );
  t.after(() => throughline.close());
  return throughline;
}

async function saverOf(t: TestContext): Promise<ThroughlineSaver> {
  return new ThroughlineSaver(await open(t));
}

function checkpointWith(channels: Record<string, unknown>, version = 1, id = uuid6(0)): Checkpoint {
  const versions = Object.fromEntries(Object.keys(channels).map((name) => [name, version]));
  return { ...emptyCheckpoint(), id, channel_values: channels, channel_versions: versions };
}

/** A graph whose one node answers `answer to <last message>`. */
function answering(checkpointer: ThroughlineSaver) {
  return new StateGraph(MessagesAnnotation)
    .addNode("answer", ({ messages }) => ({
      messages: [new AIMessage(`answer to ${messages.at(-1)?.text}`)],
    }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
}

const textsOf = (messages: readonly { readonly text: string }[]) =>
  messages.map(({ text }) => text);

test("two branches from one checkpoint keep their own values, and a copy of it those that its parent does not have", async (t) => {
  const graph = answering(await saverOf(t));
  const config = thread("t");
  const ask = (text: string, from: object) =>
    graph.invoke({ messages: [new HumanMessage(text)] }, from);
  await ask("A1", config);
  const { config: fork } = await graph.getState(config);
  const a = await ask("A2", fork);
  const { config: endOfA } = await graph.getState(config);
  const b = await ask("B2", fork);
  const { config: endOfB } = await graph.getState(config);
  assert.equal(textsOf(a.messages).at(-1), "answer to A2");
  assert.equal(textsOf(b.messages).at(-1), "answer to B2");
  for (const [end, returned] of [
    [endOfA, a],
    [endOfB, b],
  ] as const) {
    const { values } = await graph.getState(end);
    assert.deepEqual(textsOf(values.messages), textsOf(returned.messages));
  }
  const before = (await graph.getState(config)).values;
  const copy = await graph.updateState(config, null, "__copy__");
  assert.deepEqual((await graph.getState(copy)).values, before);
});

test("a put that changes one of many channels serialises and stores that one, however much the others hold", async (t) => {
  const written = async (channels: number) => {
    const throughline = await open(t);
    const { serde } = new MemorySaver();
    let dumped = 0;
    const counting = {
      loadsTyped: serde.loadsTyped.bind(serde),
      dumpsTyped: (value: unknown) => {
        dumped++;
        return serde.dumpsTyped(value);
      },
    };
    const saver = new ThroughlineSaver(throughline, { serde: counting });
    const values: Record<string, string> = {};
    for (let i = 0; i < channels; i++) values[`c${i}`] = randomText(10_000);
    const first = checkpointWith(values);
    const config = await saver.put(thread("t"), first, metadata, first.channel_versions);
    const logs = throughline.storage.logs(langGraphLogs.collection, langGraphLogs.projection);
    const { seq: after = 0 } = (await logs.tail("t", 0)) ?? {};
    dumped = 0;
    const next = { ...values, c0: randomText(10_000) };
    const { channel_versions: versions, ...rest } = checkpointWith(next);
    const second = { ...rest, channel_versions: { ...versions, c0: 2 } };
    const end = await saver.put(config, second, metadata, { c0: 2 });
    const records = await Array.fromAsync(logs.read("t", { after }));
    assert.deepEqual((await saver.getTuple(end))?.checkpoint.channel_values, next);
    const parts = records.filter(({ checkpoint_id }) => checkpoint_id === undefined);
    const own = ({ text }: JsonObject) => String(text).length > 9_000;
    return { dumped, records: records.length, values: parts.filter(own).length };
  };
  assert.deepEqual(await written(2), { dumped: 3, records: 3, values: 1 });
  assert.deepEqual(await written(100), { dumped: 3, records: 3, values: 1 });
});

test("pending writes come in the order of their paths, tasks and places, 5,000 of them too", async (t) => {
  const saver = await saverOf(t);
  const config = await saver.put(thread("t"), checkpointWith({}), metadata, {});
  const given = [
    ["task-b2", "~__pregel_pull, \u{1f600}"],
    ["task-b", "~__pregel_pull, \u{1f600}"],
    ["task-c", "~__pregel_pull, \uffee"],
    ["task-a", "~__pregel_push, 1"],
    ["task-d", ""],
  ] as const;
  const written = (task: string) => [0, 1].map((n) => ["x", `${task} ${n}`] as [string, string]);
  for (const [task, path] of given) await saver.putWrites(config, written(task), task, path);
  const { pendingWrites = [] } = (await saver.getTuple(config)) ?? {};
  const order = ["task-d", "task-c", "task-b", "task-b2", "task-a"];
  const values = order.flatMap((task) => column(written(task), 1));
  assert.deepEqual(column(pendingWrites, 2), values);
  // More blocks than a saver remembers, by one call.
  const next = await saver.put(config, checkpointWith({}), metadata, {});
  const writes = Array.from({ length: 5_000 }, (_, i) => ["x", i] as const);
  await saver.putWrites(next, writes, "task");
  assert.deepEqual(columns((await saver.getTuple(next))?.pendingWrites ?? [], 1, 2), writes);
});

test("writes stored before their checkpoint are there with it: of one task the first, of its errors and interrupts the last", async (t) => {
  const saver = await saverOf(t);
  const checkpoint = checkpointWith({ x: 1 });
  const config = {
    configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: checkpoint.id },
  };
  for (const word of ["first", "second"]) {
    const writes = ["x", "y"].map((channel) => [channel, word] as [string, string]);
    await saver.putWrites(config, writes, "task");
    await saver.putWrites(config, [["__interrupt__", word]], "task");
    assert.equal(await saver.getTuple(thread("t")), undefined);
  }
  await saver.put(thread("t"), checkpoint, metadata, { x: 1 });
  assert.deepEqual((await saver.getTuple(thread("t")))?.pendingWrites, [
    ["task", "__interrupt__", "second"],
    ["task", "x", "first"],
    ["task", "y", "first"],
  ]);
});

test("a checkpoint stored again with other content is the newer one, and stored again as it is adds nothing", async (t) => {
  const throughline = await open(t);
  const saver = new ThroughlineSaver(throughline);
  const { id } = checkpointWith({});
  const log = throughline.storage.logs(langGraphLogs.collection, langGraphLogs.projection);
  const end = async () => (await log.tail("t", 0))?.seq;
  for (const value of ["first", "second", "third"]) {
    const checkpoint = checkpointWith({ x: value }, 1, id);
    await saver.put(thread("t"), checkpoint, metadata, { x: 1 });
    const stored = await end();
    await saver.put(thread("t"), checkpoint, metadata, { x: 1 });
    assert.equal(await end(), stored);
    for (const named of [{}, { checkpoint_id: id }]) {
      const config = { configurable: { thread_id: "t", ...named } };
      assert.deepEqual((await saver.getTuple(config))?.checkpoint.channel_values, { x: value });
    }
  }
  assert.equal((await Array.fromAsync(saver.list(thread("t")))).length, 1);
});

test("checkpoints that are stored out of order are listed by their ids, and the greatest is the newest", async (t) => {
  const saver = await saverOf(t);
  const ids = Array.from({ length: 9 }, () => uuid6(0));
  for (const i of [4, 0, 2, 1, 7, 3, 6, 5, 8]) {
    await saver.put(thread("t"), checkpointWith({ i }, i, ids[i]), metadata, { i });
  }
  const listed = async (options: object = {}) =>
    (await Array.fromAsync(saver.list(thread("t"), options))).map(
      ({ checkpoint }) => checkpoint.channel_values["i"],
    );
  assert.deepEqual(await listed(), [8, 7, 6, 5, 4, 3, 2, 1, 0]);
  assert.deepEqual(await listed({ limit: 3 }), [8, 7, 6]);
  assert.deepEqual(await listed({ limit: 1, filter: { step: 1, source: undefined } }), [8]);
  assert.deepEqual(await listed({ filter: { step: 2 } }), []);
  const before = { configurable: { checkpoint_id: ids[4] } };
  assert.deepEqual(await listed({ before, limit: 2 }), [3, 2]);
  assert.equal((await saver.getTuple(thread("t")))?.checkpoint.id, ids[8]);
});

test("the newest checkpoint of each of 40 namespaces is found, also after a restart", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const deep = Array.from({ length: 20 }, (_, i) => `graph${i}:${uuid6(0)}`).join("|");
  const namespaces = ["", deep, ...Array.from({ length: 38 }, (_, i) => `sub:${i}`)];
  {
    await using throughline = await openThroughline({ home, durability: "process" });
    const saver = new ThroughlineSaver(throughline);
    for (const round of [1, 2]) {
      for (const ns of namespaces) {
        const checkpoint = checkpointWith({ x: `${ns} ${round}` }, round);
        await saver.put(thread("t", ns), checkpoint, metadata, { x: round });
      }
    }
  }
  const saver = new ThroughlineSaver(await open(t, home));
  for (const ns of namespaces) {
    const tuple = await saver.getTuple(thread("t", ns));
    assert.deepEqual(tuple?.checkpoint.channel_values, { x: `${ns} 2` });
    assert.equal((await Array.fromAsync(saver.list(thread("t", ns)))).length, 2);
  }
  const all = await Array.fromAsync(saver.list({ configurable: { thread_id: "t" } }));
  assert.equal(all.length, 80);
  assert.equal(await saver.getTuple(thread("t", "sub:38")), undefined);
});

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const valueBytes = isFull ? 20_000_000 : 2_000_000;
test(`a write of 1.5 MB and a value of ${valueBytes / 1e6} MB come back, after a restart too`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const text = randomText(valueBytes);
  const value = { text, bytes: new Uint8Array(Buffer.from(text.slice(0, 50_000))) };
  const bytes = new Uint8Array(Buffer.from(text.slice(0, 1_500_000), "hex"));
  const channels = { value, bytes, words: value.bytes };
  const write = text.slice(0, 1_500_000);
  let config: Awaited<ReturnType<ThroughlineSaver["put"]>>;
  {
    await using throughline = await openThroughline({ home, durability: "process" });
    const saver = new ThroughlineSaver(throughline);
    config = await saver.put(thread("t"), checkpointWith(channels), metadata);
    await saver.putWrites(config, [["value", write]], "task");
  }
  const saver = new ThroughlineSaver(await open(t, home));
  const tuple = await saver.getTuple(config);
  assert.deepEqual(tuple?.checkpoint.channel_values, channels);
  assert.deepEqual(tuple?.pendingWrites, [["task", "value", write]]);
});

test("channels of all sizes about that of an append come back, with one saver and with two", async (t) => {
  const text = randomText(2_600_000);
  const State = Annotation.Root({ doc: Annotation<string>, list: Annotation<string[]> });
  for (const place of [undefined, join(temporaryDirectory(t), "home")]) {
    const throughline = await open(t, place);
    const graphs = [1, 2].map(() =>
      new StateGraph(State)
        .addNode("read", ({ doc }) => ({ list: [doc.slice(0, 400_000), doc] }))
        .addEdge(START, "read")
        .addEdge("read", END)
        .compile({ checkpointer: new ThroughlineSaver(throughline) }),
    );
    const all = [131_073, 1_040_000, 1_048_576, 1_048_577, 1_100_000, 2_600_000];
    const some = place === undefined ? [131_073, 1_048_577] : [1_048_577];
    for (const length of isFull ? all : some) {
      const doc = text.slice(-length);
      for (const graph of graphs) await graph.invoke({ doc }, thread("t"));
      for (const graph of graphs) {
        const { values } = await graph.getState(thread("t"));
        assert.deepEqual(values, { doc, list: [doc.slice(0, 400_000), doc] });
      }
    }
  }
});

test("lists of every length come back equal, and a longer one stores only what is new", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const saver = new ThroughlineSaver(await open(t, home));
  const items = Array.from({ length: 70 }, (_, i) => ({ i, text: randomText(200) }));
  let config: object = thread("t");
  const stored: CheckpointTuple["config"][] = [];
  for (let length = 0; length <= items.length; length++) {
    const checkpoint = checkpointWith({ items: items.slice(0, length) }, length);
    config = await saver.put(config, checkpoint, metadata, { items: length });
    stored.push(config);
  }
  for (const [length, each] of stored.entries()) {
    const tuple = await saver.getTuple(each);
    assert.deepEqual(tuple?.checkpoint.channel_values, { items: items.slice(0, length) });
  }
  const bytes = bytesUnder(join(home, "langgraph")).length;
  assert.ok(bytes < 71 * 71 * 200 * 0.25, `${bytes} bytes`);
});

test("what is no JSON is null in a list, and harms nothing else", async (t) => {
  const saver = await saverOf(t);
  const hooks = [() => 1, "x", ...Array.from({ length: 300 }, () => "a longer list")];
  for (const list of [hooks.slice(0, 2), hooks]) {
    const config = await saver.put(thread("t"), checkpointWith({ list, f: () => 1 }), metadata);
    const { list: back, f } = (await saver.getTuple(config))?.checkpoint.channel_values ?? {};
    assert.deepEqual(back, [null, ...list.slice(1)]);
    assert.equal(f, null);
  }
});

test("threads can be deleted while they are listed", async (t) => {
  const saver = await saverOf(t);
  for (const id of ["a", "b", "c"]) {
    for (const i of [1, 2]) {
      await saver.put(thread(id), checkpointWith({ x: `${id} ${i}` }, i), metadata, { x: i });
    }
  }
  let listed = 0;
  for await (const { config } of saver.list({})) {
    listed++;
    await saver.deleteThread(config.configurable?.["thread_id"]);
  }
  assert.equal(listed, 3);
});

test("a serialiser of the application's own is used for every value", async (t) => {
  const turned = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0xff);
  const serde = {
    dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => [
      "json",
      turned(Buffer.from(JSON.stringify(value))),
    ],
    loadsTyped: async (type: string, data: Uint8Array | string) => {
      assert.equal(type, "json");
      return JSON.parse(Buffer.from(turned(data as Uint8Array)).toString());
    },
  };
  const home = join(temporaryDirectory(t), "home");
  const saver = new ThroughlineSaver(await open(t, home), { serde });
  const channels = { list: Array.from({ length: 99 }, () => "lighthouse"), word: "lighthouse" };
  const versions = { list: 1, word: 1 };
  const config = await saver.put(thread("t"), checkpointWith(channels), metadata, versions);
  await saver.putWrites(config, [["word", "lighthouse"]], "task");
  const tuple = await saver.getTuple(config);
  assert.deepEqual(tuple?.checkpoint.channel_values, channels);
  assert.deepEqual(tuple?.pendingWrites, [["task", "word", "lighthouse"]]);
  assert.ok(!bytesUnder(home).includes("lighthouse"));
});

test("a wrong configuration is refused with a code, and the field is named", async (t) => {
  const saver = await saverOf(t);
  const put = (configurable: object) =>
    saver.put({ configurable }, checkpointWith({}), metadata, {});
  const refused: readonly (readonly [call: () => Promise<unknown>, says: RegExp])[] = [
    [() => put({}), /thread_id must be a string/],
    [() => put({ thread_id: 7 }), /thread_id/],
    [() => put({ thread_id: "" }), /thread_id/],
    [() => put({ thread_id: "x".repeat(1_025) }), /thread_id/],
    [() => put({ thread_id: "t", checkpoint_ns: 1 }), /checkpoint_ns/],
    [() => put({ thread_id: "t", checkpoint_id: {} }), /checkpoint_id/],
    [() => saver.putWrites(thread("t"), [["x", 1]], "task"), /checkpoint_id/],
    [() => saver.getTuple({ configurable: { thread_id: [] } }), /thread_id/],
    [() => saver.deleteThread(""), /thread_id/],
  ];
  for (const [call, message] of refused) {
    await assert.rejects(call, (error: unknown) => {
      assert.ok(isThroughlineError(error), String(error));
      assert.match(error.message, message);
      return true;
    });
  }
  assert.equal(await saver.getTuple({ configurable: {} }), undefined);
});

test("a thread that is deleted and begun again by another saver is not taken for the old one", async (t) => {
  const throughline = await open(t);
  const [one, two] = [new ThroughlineSaver(throughline), new ThroughlineSaver(throughline)];
  const value = { text: randomText(5_000) };
  const put = (saver: ThroughlineSaver) =>
    saver.put(thread("t"), checkpointWith({ value }), metadata, { value: 1 });
  await put(one);
  await two.deleteThread("t");
  await two.put(thread("t"), checkpointWith({ other: 1 }), metadata, { other: 1 });
  const config = await put(one);
  assert.deepEqual((await two.getTuple(config))?.checkpoint.channel_values, { value });
});

test("two savers that write one thread at once lose nothing, and list all of it", async (t) => {
  const throughline = await open(t);
  const savers = [new ThroughlineSaver(throughline), new ThroughlineSaver(throughline)];
  const puts = savers.flatMap((saver, which) =>
    Array.from({ length: 20 }, async (_, i) => {
      const checkpoint = checkpointWith({ x: `${which}:${i}` }, i);
      const config = await saver.put(thread("t"), checkpoint, metadata, { x: i });
      await saver.putWrites(config, [["x", `write ${which}:${i}`]], "task");
    }),
  );
  await Promise.all(puts);
  for (const saver of savers) {
    const tuples = await Array.fromAsync(saver.list(thread("t")));
    const found = tuples.map(({ checkpoint, pendingWrites }) => {
      const { x } = checkpoint.channel_values;
      assert.deepEqual(pendingWrites, [["task", "x", `write ${x}`]]);
      return x;
    });
    assert.equal(new Set(found).size, 40);
    const ids = tuples.map(({ checkpoint }) => checkpoint.id);
    assert.deepEqual(ids, ids.toSorted().reverse());
    assert.equal((await saver.getTuple(thread("t")))?.checkpoint.id, ids[0]);
  }
});

test("what is said in a thread is in the chat of its id, whatever a crash left out", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const throughline = await open(t, home);
  const config = thread("telegram:42");
  const ask = (checkpointer: ThroughlineSaver, text: string) =>
    answering(checkpointer).invoke({ messages: [new HumanMessage(text)] }, config);
  const copying = new ThroughlineSaver(throughline, { transcript: "messages" });
  await ask(copying, "one");
  await ask(new ThroughlineSaver(throughline), "two"); // as if the process had died before each copy
  await ask(copying, "three");
  const { messages } = await throughline.chats.messages("telegram:42");
  assert.deepEqual(
    columns(messages, "role", "content"),
    ["one", "two", "three"].flatMap((text) => [
      ["user", text],
      ["assistant", `answer to ${text}`],
    ]),
  );
  const [hit] = await throughline.chats.search("three", { limit: 1 });
  assert.equal(hit?.chat_id, "telegram:42");
  const inner = { messages: [new HumanMessage({ content: "scratch", id: "inner" })] };
  await copying.put(thread("telegram:42", "sub:1"), checkpointWith(inner), metadata);
  await ask(copying, randomText(1_100_000));
  const { messages: after } = await throughline.chats.messages("telegram:42");
  assert.equal(after.length, 6, "too long for a chat, and kept in the thread alone");
});

/** Its types, read by the compiler, take the extensions of another package away from zod's. */
const langchain: string = "langchain";

test("an agent of langchain remembers over a restart, tool results among it", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const { createAgent, fakeModel, tool } = await import(langchain);
  const look = tool(() => "it is raining", {
    name: "look",
    description: "Looks outside.",
    schema: { type: "object", properties: {} },
  });
  const call = new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "look", args: {} }] });
  const agentOn = (throughline: Throughline, ...answers: AIMessage[]) => {
    const model = answers.reduce((fake, answer) => fake.respond(answer), fakeModel());
    return createAgent({ model, tools: [look], checkpointer: new ThroughlineSaver(throughline) });
  };
  const config = thread("t");
  const ask = (text: string) => ({ messages: [new HumanMessage(text)] });
  {
    await using throughline = await openThroughline({ home });
    const agent = agentOn(throughline, call, new AIMessage("Take an umbrella."));
    await agent.invoke(ask("How is the weather?"), config);
  }
  const agent = agentOn(await open(t, home), new AIMessage("Rain."));
  const { messages } = await agent.invoke(ask("What?"), config);
  assert.deepEqual(
    messages.map((message: BaseMessage) => [message.getType(), message.text]),
    [
      ["human", "How is the weather?"],
      ["ai", ""],
      ["tool", "it is raining"],
      ["ai", "Take an umbrella."],
      ["human", "What?"],
      ["ai", "Rain."],
    ],
  );
});

/** Turns, and the megabytes that they may take; LangGraph's SQLite saver takes 23.5 and 340.7. */
const [turns, megabytes] = isFull ? [400, 10] : [30, 0.75];

test(`${turns} turns of 1 kB take at most ${megabytes} MB`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const throughline = await open(t, home);
  const half = () => randomText(500);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", ({ messages }) => ({
      messages: [new AIMessage(`${messages.length} ${half()}`)],
    }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: new ThroughlineSaver(throughline) });
  const config = { ...thread("t"), durability: "sync" } as const;
  let last = 0;
  for (let turn = 1; turn <= turns; turn++) {
    const began = performance.now();
    await graph.invoke({ messages: [new HumanMessage(`${turn} ${half()}`)] }, config);
    last = performance.now() - began;
  }
  const bytes = bytesUnder(join(home, "langgraph")).length;
  t.diagnostic(`${(bytes / 1e6).toFixed(2)} MB; the last turn took ${last.toFixed(0)} ms`);
  assert.ok(bytes <= megabytes * 1e6, `${bytes} bytes`);
});

const kills = isFull ? 12 : 1;

test(`after each of ${kills} kills all that was answered is there, and the run under way is finished`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const config = thread("t");
  const random = seededRandom(7);
  const answered: string[] = [];
  let resumed = 0;
  for (let kill = 1; kill <= kills; kill++) {
    const name = `k${kill}`;
    const noted = { once: `${name} ${1 + random(3)}\n`, delayMs: random(30) };
    answered.push(...(await killed("langgraph", [home, "t", name], noted)));
    await using throughline = await openThroughline({ home });
    const graph = graphWithTool(new ThroughlineSaver(throughline));
    // The tasks of the next step; one whose writes are stored is not run again.
    const { tasks } = await graph.getState(config);
    const isCut = tasks.length > 0;
    if (isCut) await graph.invoke(null, config);
    if (isCut) resumed++;
    const texts = textsOf((await graph.getState(config)).values.messages);
    const wanted = new Set(answered.flatMap((text) => [text, answerTo(text)]));
    const found = texts.filter((text) => wanted.has(text));
    assert.deepEqual(found, [...wanted], `kill ${kill}`);
    // A run that the process had begun is whole: a question, a call, a result and an answer each.
    assert.equal(texts.length % 4, 0, `kill ${kill}: ${texts.slice(-9).join(", ")}`);
    assert.match(texts.at(-1) ?? "", /^answer to result of call/);
  }
  t.diagnostic(`${answered.length} runs answered, ${resumed} cut in the middle and finished`);
});
