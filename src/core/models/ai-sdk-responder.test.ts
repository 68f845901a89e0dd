import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { registerTelemetry } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import { chatStream, openAiServer } from "../../../test/support/openai-server.ts";
import { type AiSdkResponderOptions, aiSdkResponder } from "./ai-sdk-responder.ts";
import { unknownUsage } from "./prices.ts";
import { ResponderError, type ResponderRequest } from "./responder.ts";

const hi: ResponderRequest = { instructions: "", messages: [{ role: "user", content: "hi" }] };
const text = "Hello from the model, in nine words at most.";

/** A responder of a server of ours, with short deadlines where a test asks for them. */
function over(url: string, options: Partial<AiSdkResponderOptions> = {}) {
  const model = createOpenAICompatible({
    name: "ours",
    baseURL: url,
    includeUsage: true,
    apiKey: "canary-key-0123456789",
  })("asked-1");
  return aiSdkResponder({ provider: "ours", model, ...options });
}

function failed(error: unknown, kind: ResponderError["kind"], says: RegExp): ResponderError {
  assert.ok(error instanceof ResponderError, String(error));
  assert.equal(error.kind, kind);
  assert.match(error.message, says);
  const { detail: _, ...rest } = error; // the provider's own words
  assert.equal(JSON.stringify({ ...rest, stack: error.stack }).includes("canary"), false);
  return error;
}

// Whatever reaches the console or the process's warnings may quote what people said.
const printed: unknown[] = [];
const real = { error: console.error, warn: console.warn, log: console.log };
console.error = (...words) => printed.push(words);
console.warn = (...words) => printed.push(words);
process.on("warning", (warning) => printed.push(warning));
after(() => {
  console.error = real.error;
  console.warn = real.warn;
});

test("a whole answer is its text in order and an end with reason, usage, cost and model", async () => {
  await using server = await openAiServer(() => ({ text }));
  const price = { inputPerMillionUsd: 1, outputPerMillionUsd: 2 };
  const responder = over(server.url, { price, window: 8_192 });
  assert.partialDeepStrictEqual(responder, { provider: "ours", model: "asked-1", window: 8_192 });
  const answer = await collectAnswer(responder, "canary hi");
  assert.equal(answer.error, undefined);
  assert.equal(answer.text, text);
  assert.ok(answer.events.length > 5, "it streams");
  assert.deepEqual(answer.events.at(-1), {
    type: "end",
    finish: "stop",
    usage: { inputTokens: 12, outputTokens: 9, cachedInputTokens: 0, costUsd: 0.00003 },
    model: "served-1",
  });
});

test("usage that was cut off is unknown, not 0, although the answer is whole", async () => {
  const cutAt = Buffer.from(chatStream(text)).indexOf(
    'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"served-1","choices":[],"usage"',
  );
  assert.ok(cutAt > 0);
  await using server = await openAiServer(() => ({ text, cut: "close", cutAt }));
  const { events } = await collectAnswer(over(server.url), "hi");
  const end = events.at(-1);
  assert.ok(end?.type === "end" && end.finish === "stop");
  assert.deepEqual([end.usage.inputTokens, end.usage.outputTokens], [undefined, undefined]);
});

test("HTTP 503 after 3 calls is unavailable, without key or conversation in the error", async () => {
  await using server = await openAiServer(() => ({ status: 503 }));
  const { error } = await collectAnswer(over(server.url), "canary hi");
  assert.deepEqual(failed(error, "unavailable", /failed \(HTTP 503/).usage, unknownUsage);
  assert.equal(server.requests.length, 3);
});

const untilItsEnd = chatStream(text).indexOf(
  'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"served-1","choices":[{"index":0,"delta":{},',
);
const late = /did not answer within 0\.3 s/;
const hangs: readonly [string, cutAt: number, says: RegExp, kept: string][] = [
  ["no headers", -1, late, ""],
  ["headers but no word", 0, late, ""],
  ["its text but no end", untilItsEnd, /fell silent for 0\.5 s/, text],
];
for (const [what, cutAt, says, kept] of hangs) {
  test(`a model that sends ${what} is unavailable after its deadline, and its connection is let go`, async () => {
    await using server = await openAiServer((n) =>
      n === 0 ? { text } : { hang: true, text, cutAt },
    );
    // What is loaded for the first answer must not take the time of the second.
    await collectAnswer(over(server.url), "hi");
    // On a busy machine its text may be late; it must not be too late.
    const firstTokenTimeoutMs = kept === "" ? 300 : 10_000;
    const responder = over(server.url, { firstTokenTimeoutMs, idleTimeoutMs: 500 });
    const answer = await collectAnswer(responder, "hi");
    assert.deepEqual(failed(answer.error, "unavailable", says).usage, unknownUsage);
    assert.equal(answer.text, kept);
    await server.requests[1]!.gone;
  });
}

test("an answer that never ends is cut at the total deadline of 30 minutes", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const model = new MockLanguageModelV4({
    doStream: async () => ({
      stream: new ReadableStream({
        start: (controller) => controller.enqueue({ type: "text-start", id: "t" }),
        pull: async (controller) => {
          await new Promise((next) => setImmediate(next));
          controller.enqueue({ type: "text-delta", id: "t", delta: "la " });
        },
      }),
    }),
  });
  const song = aiSdkResponder({ provider: "p", model }).respond(hi, new AbortController().signal);
  let notes = 0;
  const listen = async () => {
    for await (const event of song) {
      assert.equal(event.type, "text");
      notes++;
      t.mock.timers.tick(60_000);
    }
  };
  const error = await listen().catch((thrown: unknown) => thrown);
  failed(error, "unavailable", /did not end its answer within 1800 s/);
  assert.equal(notes, 30);
});

test("a reader that takes longer than the deadline does not make the model late", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const events = mock(...words, finish("stop")).respond(hi, new AbortController().signal);
  const kinds: string[] = [];
  for await (const event of events) {
    kinds.push(event.type);
    t.mock.timers.tick(200_000);
  }
  assert.deepEqual(kinds, ["text", "end"]);
});

for (const when of ["before the call", "before the first byte", "after some text"] as const) {
  test(`an abort ${when} throws the signal's reason, and the model's connection is let go`, async () => {
    await using server = await openAiServer(() => ({
      text,
      hang: true,
      cutAt: when === "after some text" ? chatStream(text).length - 300 : -1,
    }));
    const controller = new AbortController();
    const reason = { why: "the person said stop" };
    if (when === "before the call") controller.abort(reason);
    const answer = over(server.url).respond(hi, controller.signal)[Symbol.asyncIterator]();
    let step = answer.next();
    if (when === "after some text") {
      assert.equal((await step).value.type, "text");
      step = drain(answer);
    }
    if (when === "before the first byte") {
      while (server.requests.length === 0) await new Promise((next) => setImmediate(next));
    }
    controller.abort(reason);
    await assert.rejects(step, (thrown) => thrown === reason);
    if (when === "before the call") assert.equal(server.requests.length, 0);
    else await server.requests[0]!.gone;
  });
}

async function drain<T>(iterator: AsyncIterator<T>): Promise<IteratorResult<T>> {
  for (;;) {
    const next = await iterator.next();
    if (next.done) return next;
  }
}

test("a reader that leaves in the middle lets the model's connection go", async () => {
  await using server = await openAiServer(() => ({ text, hang: true }));
  for await (const event of over(server.url).respond(hi, new AbortController().signal)) {
    assert.equal(event.type, "text");
    break;
  }
  await server.requests[0]!.gone;
});

test("a model that ignores its abort signal does not hold the turn", async () => {
  const model = new MockLanguageModelV4({ doStream: () => new Promise(() => undefined) });
  const responder = aiSdkResponder({ provider: "p", model, firstTokenTimeoutMs: 30 });
  failed((await collectAnswer(responder, "hi")).error, "unavailable", /did not answer/);
});

test("a stream that a model opens after the abort is cancelled", async () => {
  const stop = new AbortController();
  const opened = Promise.withResolvers<never>();
  let isCancelled = false;
  const cancel = () => {
    isCancelled = true;
  };
  const model = new MockLanguageModelV4({
    doStream: () => {
      stop.abort(new Error("stopped"));
      return opened.promise;
    },
  });
  const responder = aiSdkResponder({ provider: "p", model });
  const { error } = await collectAnswer(responder, "hi", stop.signal);
  assert.match(String(error), /stopped/);
  opened.resolve({ stream: new ReadableStream({ cancel }) } as never);
  await new Promise((next) => setImmediate(next));
  assert.ok(isCancelled);
});

type Part = Parameters<typeof simulateReadableStream>[0]["chunks"][number];
/** A model that says this, and then no more. */
function mock(...first: Part[]) {
  const answers = [first, [finish("stop")]];
  const model = new MockLanguageModelV4({
    provider: "mocked",
    async doStream() {
      const chunks = answers.shift() ?? assert.fail("not asked so often");
      const pace = { initialDelayInMs: null, chunkDelayInMs: null };
      return { stream: simulateReadableStream({ chunks, ...pace }) as never };
    },
  });
  return aiSdkResponder({ provider: "p", modelId: "m", model, maxRetries: 0 });
}
const usage = {
  inputTokens: { total: 5, noCache: 2, cacheRead: 3, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};
const finish = (unified: string, counts: object = usage) => ({
  type: "finish",
  finishReason: { unified, raw: "raw" },
  usage: counts,
});
const words = [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "so far" },
];
const overloaded = { type: "error", error: { message: "canary", type: "overloaded_error" } };

const reasons = ["stop", "length", "tool-calls", "content-filter", "other", "of tomorrow"];
test("a finish is the end with its usage, and one of tomorrow is another end", async () => {
  const usage = { inputTokens: 5, outputTokens: 2, cachedInputTokens: 3, costUsd: undefined };
  for (const reason of reasons) {
    const { events, error } = await collectAnswer(mock(...words, finish(reason)), "hi");
    assert.equal(error, undefined);
    const known = reason === "of tomorrow" ? "other" : reason;
    const end = { type: "end", finish: known, usage, model: "mock-model-id" };
    assert.deepEqual(events, [{ type: "text", text: "so far" }, end]);
  }
});

const thinking = [
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-delta", id: "r", delta: "hmm" },
];
const empty = { type: "text-delta", id: "t", delta: "", providerMetadata: { x: { y: 1 } } };
const unended: readonly [string, Part[], "error" | "other", begun: boolean][] = [
  ["an error", [overloaded], "error", false],
  ["an error after text", [...words, overloaded], "error", true],
  ["nothing", [], "other", false],
  ["a thought", thinking, "other", false],
  ["an empty piece of text, which is no event", [words[0] as Part, empty], "other", false],
  ["text", words, "other", true],
];
for (const [what, parts, kind, begun] of unended) {
  test(`a stream of ${what} without an end ${begun ? `ends as "${kind}"` : "is unavailable"}, with unknown usage`, async () => {
    const { events, error } = await collectAnswer(mock(...parts), "hi");
    const end = events.at(-1);
    if (begun) {
      assert.ok(end?.type === "end" && end.finish === kind);
      assert.deepEqual(end.usage, unknownUsage);
      return;
    }
    const says = kind === "error" ? /overloaded_error/ : /closed the connection/;
    assert.deepEqual(failed(error, "unavailable", says).usage, unknownUsage);
    assert.equal(events.filter(({ type }) => type !== "reasoning").length, 0);
  });
}

test("a tool call is reported as the model wrote it, with an error as its result", async () => {
  const id = "c1";
  const said = '{"city" : "Berlin"}';
  const call = { type: "tool-call", toolName: "weather" };
  const parts = [
    { type: "tool-input-start", id, toolName: "weather" },
    { type: "tool-input-delta", id, delta: said.slice(0, 10) },
    { type: "tool-input-delta", id, delta: said.slice(10) },
    { type: "tool-input-end", id },
    { ...call, toolCallId: id, input: said },
    { ...call, toolCallId: "c2", input: '{"a": 1}' },
  ];
  const { events } = await collectAnswer(mock(...parts, finish("tool-calls")), "hi");
  const calls = events.flatMap((event) => (event.type === "tool-call" ? [event.call] : []));
  const called = (id: string, args: string) => {
    return { id, type: "function", function: { name: "weather", arguments: args } };
  };
  assert.deepEqual(calls, [called(id, said), called("c2", '{"a": 1}')]);
  const results = events.flatMap((event) => (event.type === "tool-result" ? [event] : []));
  assert.equal(results.map(({ toolCallId }) => toolCallId).join(), "c1,c2");
  for (const { isError, content } of results) {
    assert.equal(isError, true);
    assert.match(content, /unavailable tool/);
  }
  assert.equal(events.at(-1)?.type, "end");
});

test("a tool that the provider ran itself brings its result along", async () => {
  const search = { toolCallId: "s1", toolName: "search", dynamic: true };
  const call = { ...search, type: "tool-call", input: "{}", providerExecuted: true };
  const found = { ...search, type: "tool-result", result: { hits: 2 } };
  const { events } = await collectAnswer(mock(call, found, ...words, finish("stop")), "hi");
  assert.equal(events.map(({ type }) => type).join(), "tool-call,tool-result,text,end");
  assert.partialDeepStrictEqual(events[1], { content: '{"hits":2}', isError: false });
});

test("a signed thought is provider data, also of an answer that is cut after it", async () => {
  const metadata = { anthropic: { signature: "sig" } };
  const thought = [
    ...thinking,
    { type: "reasoning-delta", id: "r", delta: "", providerMetadata: metadata },
    { type: "reasoning-end", id: "r" },
  ];
  const whole = await collectAnswer(mock(...thought, ...words, finish("stop")), "hi");
  assert.deepEqual(whole.events[0], { type: "reasoning", text: "hmm" });
  const data = { response_id: undefined, reasoning: [{ text: "hmm", metadata }] };
  assert.deepEqual(whole.events[1], { type: "provider-data", data });
  const cut = await collectAnswer(mock(...thought, ...words), "hi");
  assert.equal(cut.events.map(({ type }) => type).join(), "reasoning,provider-data,text,end");
});

const choice = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

const thought = { reasoning: "Two and two.", text: "Four <think>x</think>" };
const tagged: readonly (readonly [said: string, reasoning: string, text: string])[] = [
  [`<think>${thought.reasoning}</think>\n\n${thought.text}`, thought.reasoning, thought.text],
  [`\n <think>\na < b </thin\n</think>Four`, "\na < b </thin\n", "Four"],
  ["<think></think>Four", "", "Four"],
  ["Four <think>Two</think>", "", "Four <think>Two</think>"],
  ["<thinking of you>", "", "<thinking of you>"],
  ["<", "", "<"],
  ["Four</think>", "", "Four</think>"],
];
for (const [said, reasoning, text] of tagged) {
  test(`${JSON.stringify(said)}, in pieces of any size, is a thought and an answer`, async () => {
    for (const size of [1, 3, 1_000]) {
      const pieces = said.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      const stream = [...pieces.map((content) => choice({ content })), choice({}, "stop")].join("");
      const { events, error } = await collectAnswer(overBody(stream), "2 + 2?");
      assert.equal(error, undefined);
      const all = { reasoning: "", text: "" };
      for (const event of events) {
        if (event.type === "reasoning" || event.type === "text") all[event.type] += event.text;
      }
      assert.deepEqual(all, { reasoning, text });
      const hasData = events.some(({ type }) => type === "provider-data");
      assert.equal(hasData, reasoning !== "", "the thought goes back with its answer");
    }
  });
}

test("no telemetry sees a request, although an integration is registered for the process", async () => {
  const seen: string[] = [];
  const noting = (name: unknown) => () => void seen.push(String(name));
  registerTelemetry(new Proxy({}, { get: (_, name) => noting(name), has: () => true }) as never);
  await collectAnswer(mock(...words, finish("stop")), "hi");
  assert.doesNotMatch(seen.join(), /\bon/);
});

test("nothing is printed: neither the SDK's errors nor a model's warnings, which quote messages", async () => {
  printed.length = 0;
  const warnings = [{ type: "other", message: "Skipping part: canary" }];
  await collectAnswer(mock({ type: "stream-start", warnings }, overloaded), "hi");
  await collectAnswer(mock({ type: "stream-start", warnings }, ...words, finish("stop")), "hi");
  await new Promise((next) => setImmediate(next));
  assert.deepEqual(printed, []);
});

test("an option that is no whole number within its bounds is refused when the responder is made", () => {
  const model = new MockLanguageModelV4({});
  const waits = ["firstTokenTimeoutMs", "idleTimeoutMs", "totalTimeoutMs"];
  const rows = waits.flatMap((name) => [0, 1.5, Number.NaN, 2 ** 31].map((value) => [name, value]));
  for (const [name = "", value] of [...rows, ["maxRetries", 11], ["maxRetries", -1]]) {
    assert.throws(() => aiSdkResponder({ provider: "p", model, [name]: value }), {
      code: "THROUGHLINE_CONFIGURATION",
      message: new RegExp(`^${name} must be a whole number from `),
    });
  }
});

// A piece of a stream that is lost may have been the word that everything turns on.
const events = chatStream("I do NOT agree.").split(/(?<=\n\n)/);

/** A model whose answer comes as these server-sent events. */
const saying = (...sent: string[]) => overBody(sent.join(""));

/** A responder whose server answers with this body. */
function overBody(body: string) {
  const headers = { "content-type": "text/event-stream" };
  const fetch = async () => new Response(body, { headers });
  const options = { name: "ours", baseURL: "http://x", includeUsage: true };
  const make = createOpenAICompatible({ ...options, fetch });
  return aiSdkResponder({ provider: "ours", model: make("m"), maxRetries: 0 });
}

const half = (event: string) => `${event.slice(0, event.length / 2)}\n\n`;
const broken: Readonly<Record<string, (event: string) => string>> = {
  "is cut": half,
  "is no JSON": () => "data: NOT \n\n",
  "is of another form": () => 'data: {"choices":"NOT "}\n\n',
  "is an error": () => 'data: {"error":{"message":"canary"}}\n\n',
};

for (const [what, lose] of Object.entries(broken)) {
  test(`an answer one piece of which ${what} is what came before it, and ends as an error`, async () => {
    const [i, doing, not = "", ...rest] = events;
    const broken = saying(`${i}${doing}`, lose(not), ...rest);
    const { text, events: told } = await collectAnswer(broken, "hi");
    assert.equal(text, "I do ");
    const end = told.at(-1);
    assert.ok(end?.type === "end" && end.finish === "error");
    const usage = { inputTokens: 12, outputTokens: 4, cachedInputTokens: 0, costUsd: undefined };
    assert.deepEqual(end.usage, usage, "it was all paid for");
  });

  test(`an answer whose first piece ${what} is thrown as an error, and nothing of it is told`, async () => {
    const [first = "", ...rest] = events;
    const { error, events: told } = await collectAnswer(saying(lose(first), ...rest), "hi");
    assert.deepEqual(told, []);
    assert.ok(error instanceof ResponderError);
    assert.equal(error.message.includes("canary"), false);
    assert.equal(error.usage?.inputTokens, 12);
  });
}
