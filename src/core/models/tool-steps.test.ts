// Tools that the AI SDK runs: what is on record when they run, and when the model is asked again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { openThroughline } from "../throughline.ts";
import { aiSdkResponder } from "./ai-sdk-responder.ts";
import type { ResponderRequest, ResponderTool, TurnTool } from "./responder.ts";

const chat = "local:me";
const usage = {
  inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};
const finish = (unified: string) => ({
  type: "finish",
  finishReason: { unified, raw: "raw" },
  usage,
});
const says = (delta: string) => [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta },
  { type: "text-end", id: "t" },
];
const calls = (toolCallId: string, to: string) => ({
  type: "tool-call",
  toolCallId,
  toolName: "pay",
  input: JSON.stringify({ to }),
});

/** A model that gives these answers, one each time that it is asked. */
function mocked(answers: readonly (readonly object[])[], onAsked = async () => {}) {
  const left = [...answers];
  return new MockLanguageModelV4({
    provider: "mocked",
    async doStream() {
      await onAsked();
      const chunks = [...(left.shift() ?? assert.fail("not asked so often"))];
      const pace = { initialDelayInMs: null, chunkDelayInMs: null };
      return { stream: simulateReadableStream({ chunks, ...pace }) as never };
    },
  });
}

async function companion(
  answers: readonly (readonly object[])[],
  run: (to: string) => Promise<string>,
) {
  const clock = new HeldClock();
  let ids = 0;
  const newId = () => `id-${++ids}`;
  /** What is on record each time that the model is asked. */
  const records: string[][] = [];
  const model = mocked(answers, async () => void records.push(await shown()));
  const responder = aiSdkResponder({ provider: "p", modelId: "m", model, maxRetries: 0 });
  const standard = { provider: "p", model: "m" };
  const throughline = await openThroughline({ storage: "memory", clock, newId, ...standard });
  const { chats } = throughline;
  const pay: TurnTool = {
    name: "pay",
    description: "Pays.",
    parameters: { type: "object", properties: {} },
    run: (args) => run((args as { to: string }).to),
  };
  const turns = await throughline.turns({
    model: responder,
    persona: "You are kind.",
    maxQueued: 4,
    tools: () => ({ instructions: "", tools: [pay] }),
  });
  const shown = async () => {
    const { messages } = await chats.messages(chat);
    return messages.map(({ role, content, tool_calls: [call] = [] }) =>
      call === undefined ? `${role}: ${content}` : `call of ${call.function.arguments}`,
    );
  };
  return { turns, shown, records };
}

/** What a model that says this is asked with, and what its responder tells, with these tools to pay. */
async function answered(
  answers: readonly (readonly object[])[],
  runs: readonly ResponderTool["run"][],
) {
  const model = mocked(answers);
  const parameters = { type: "object" };
  const tools = runs.map((run, at) => ({
    name: "pay",
    description: `Pays ${at}.`,
    parameters,
    run,
  }));
  const request: ResponderRequest = {
    instructions: "",
    messages: [{ role: "user", content: "Pay" }],
    tools: { instructions: "", tools },
  };
  const price = { inputPerMillionUsd: 1, outputPerMillionUsd: 1 };
  const responder = aiSdkResponder({ provider: "p", modelId: "m", model, price, maxRetries: 0 });
  const { events, error } = await collectAnswer(responder, request);
  assert.equal(error, undefined);
  return { events, asked: model.doStreamCalls };
}

test("each of the calls that a model makes at once is stored before its tool runs, and all results before it is asked again", async () => {
  const seen: boolean[] = [];
  const c = await companion(
    [
      [...says("Both. "), calls("c1", "Ada"), calls("c2", "Bo"), finish("tool-calls")],
      [...says("Paid."), finish("stop")],
    ],
    async (to) => {
      seen.push((await c.shown()).includes(`call of {"to":"${to}"}`));
      return `paid ${to}`;
    },
  );
  const { outcome } = await c.turns.submit(chat, { content: "Pay both" }).done;
  assert.equal(outcome, "answered");
  assert.deepEqual(seen, [true, true]);
  const [, again] = c.records;
  assert.deepEqual(again?.toSorted(), [
    'call of {"to":"Ada"}',
    'call of {"to":"Bo"}',
    "tool: paid Ada",
    "tool: paid Bo",
    "user: Pay both",
  ]);
  assert.equal((await c.shown()).at(-1), "assistant: Paid.");
});

test("a call whose id was used before in the turn is a call of its own", async () => {
  const ran: string[] = [];
  const c = await companion(
    [
      [calls("c0", "Ada"), finish("tool-calls")],
      [calls("c0", "Bo"), finish("tool-calls")],
      [...says("Paid."), finish("stop")],
    ],
    async (to) => {
      ran.push(to);
      return `paid ${to}`;
    },
  );
  await c.turns.submit(chat, { content: "Pay both" }).done;
  assert.deepEqual(ran, ["Ada", "Bo"]);
  assert.deepEqual((await c.shown()).slice(1), [
    'call of {"to":"Ada"}',
    "tool: paid Ada",
    'call of {"to":"Bo"}',
    "tool: paid Bo",
    "assistant: Paid.",
  ]);
});

test("a turn that is stopped while a tool runs ends at once, and keeps the call", async () => {
  const isRunning = Promise.withResolvers<void>();
  const c = await companion([[...says("Wait. "), calls("c1", "Ada"), finish("tool-calls")]], () => {
    isRunning.resolve();
    return new Promise(() => undefined);
  });
  const turn = c.turns.submit(chat, { content: "Pay Ada" });
  await isRunning.promise;
  turn.stop();
  assert.equal((await turn.done).outcome, "interrupted");
  assert.deepEqual(await c.shown(), ["user: Pay Ada", 'call of {"to":"Ada"}']);
});

test("a turn that is stopped while a tool hangs keeps the result of the call beside it", async () => {
  const c = await companion(
    [[calls("c1", "Ada"), calls("c2", "Bo"), finish("tool-calls")]],
    (to) => (to === "Bo" ? Promise.reject(new Error("no")) : new Promise(() => undefined)),
  );
  const turn = c.turns.submit(chat, { content: "Pay both" });
  const late = setTimeout(() => turn.stop(), 2_000);
  for await (const event of turn.progress()) {
    if (event.type === "message" && event.message.role === "tool") break;
  }
  clearTimeout(late);
  turn.stop();
  assert.equal((await turn.done).outcome, "interrupted");
  assert.equal((await c.shown()).at(-1), "tool: The tool failed.");
});

for (const reason of ["length", "error"]) {
  test(`a call in an answer that ends with "${reason}" is kept, and its tool does not run`, async () => {
    const ran: string[] = [];
    const c = await companion(
      [
        [...says("I pay. "), calls("c1", "Ada"), finish(reason)],
        [...says("Paid."), finish("stop")],
      ],
      async (to) => {
        ran.push(to);
        return `paid ${to}`;
      },
    );
    await c.turns.submit(chat, { content: "Pay Ada" }).done;
    assert.deepEqual([ran, c.records.length], [[], 1]);
    assert.ok((await c.shown()).includes('call of {"to":"Ada"}'));
  });
}

for (const input of ["", " \n"]) {
  test(`the arguments ${JSON.stringify(input)} of a call are an empty object`, async () => {
    const { events, asked } = await answered(
      [
        [{ ...calls("c1", "Ada"), input }, finish("tool-calls")],
        [...says("Paid."), finish("stop")],
      ],
      [async (args) => `paid ${JSON.stringify(args)}`],
    );
    const call = events.find(({ type }) => type === "tool-call");
    assert.ok(call?.type === "tool-call");
    assert.equal(call.call.function.arguments, "{}");
    const result = events.find(({ type }) => type === "tool-result");
    assert.ok(result?.type === "tool-result");
    assert.deepEqual([result.content, result.isError], ["paid {}", false]);
    const [repeated] = asked[1]?.prompt.filter(({ role }) => role === "assistant") ?? [];
    assert.partialDeepStrictEqual(repeated?.content, [{ type: "tool-call", input: {} }]);
  });
}

test("of two tools with one name the last is offered, and runs", async () => {
  const { events, asked } = await answered(
    [
      [calls("c1", "Ada"), finish("tool-calls")],
      [...says("Paid."), finish("stop")],
    ],
    [() => assert.fail("it must not run"), async () => "paid by the last"],
  );
  assert.partialDeepStrictEqual(asked[0]?.tools, [{ name: "pay", description: "Pays 1." }]);
  assert.equal(asked[0]?.tools?.length, 1);
  const result = events.find(({ type }) => type === "tool-result");
  assert.ok(result?.type === "tool-result");
  assert.equal(result.content, "paid by the last");
});

test("usage is what the steps before cost when the last one closes without an end", async () => {
  const { events } = await answered(
    [[...says("Wait. "), calls("c1", "Ada"), finish("tool-calls")], says("Pa")],
    [async () => "paid"],
  );
  const end = events.at(-1);
  assert.ok(end?.type === "end" && end.finish === "other");
  const { inputTokens, outputTokens, costUsd } = end.usage;
  assert.deepEqual([inputTokens, outputTokens, costUsd], [5, 2, 0.000007]);
});

test("the next step gets what the provider ran itself, and an empty text with a signature", async () => {
  const search = { toolCallId: "s1", toolName: "search" };
  const signed = { google: { thoughtSignature: "sig" } };
  const result = { ...search, type: "tool-result", dynamic: true };
  const { asked } = await answered(
    [
      [
        { ...search, type: "tool-call", input: "{}", providerExecuted: true },
        { ...result, result: { hits: 1 }, preliminary: true },
        { ...result, result: { hits: 2 } },
        { type: "text-start", id: "empty" },
        { type: "text-end", id: "empty", providerMetadata: signed },
        { type: "text-start", id: "nothing" },
        calls("c1", "Ada"),
        finish("tool-calls"),
      ],
      [...says("Paid."), finish("stop")],
    ],
    [async () => "paid"],
  );
  const [repeated] = asked[1]?.prompt.filter(({ role }) => role === "assistant") ?? [];
  assert.partialDeepStrictEqual(repeated?.content, [
    { type: "tool-call", toolCallId: "s1", input: {}, providerExecuted: true },
    { type: "tool-result", toolCallId: "s1", output: { type: "json", value: { hits: 2 } } },
    { type: "text", text: "", providerOptions: signed },
    { type: "tool-call", toolCallId: "c1", input: { to: "Ada" } },
  ]);
  assert.equal(repeated?.content.length, 4);
});

test("a call of an unknown tool and one that is not JSON are stored with the error that the model gets", async () => {
  const c = await companion(
    [
      [
        { ...calls("c1", "Ada"), toolName: "steal" },
        { ...calls("c2", "Ada"), input: "{not json" },
        finish("tool-calls"),
      ],
      [...says("Sorry."), finish("stop")],
    ],
    () => assert.fail("it must not run"),
  );
  await c.turns.submit(chat, { content: "Pay Ada" }).done;
  const lines = await c.shown();
  assert.deepEqual(
    lines.filter((line) => line.startsWith("call of")),
    ['call of {"to":"Ada"}', "call of {not json"],
  );
  assert.equal(lines.filter((line) => line.startsWith("tool: ")).length, 2);
  assert.equal(lines.at(-1), "assistant: Sorry.");
});
