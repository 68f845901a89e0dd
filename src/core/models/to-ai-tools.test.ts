import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { LLMock } from "@copilotkit/aimock";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import { parseModelName } from "./model-name.ts";
import { createResponder } from "./registry.ts";
import type { OfferedTools } from "./responder.ts";

const mock = new LLMock({ port: 0, logLevel: "silent" });
before(() => mock.start());
after(() => mock.stop());
beforeEach(() => {
  mock.clearFixtures();
  mock.clearRequests();
});

const parameters = { type: "object", properties: { city: { type: "string" } } } as const;

function tools(run: OfferedTools["tools"][number]["run"]): OfferedTools {
  const weather = { name: "weather", description: "Looks out of the window.", parameters, run };
  return { instructions: "You can look out of the window.", tools: [weather] };
}

/** What was sent, and a responder that sends it. */
async function model(name = "openai/gpt-5") {
  const sent: string[] = [];
  const record: typeof fetch = (input, init) => {
    sent.push(String(init?.body ?? ""));
    return fetch(input, init);
  };
  const settings = {
    openaiApiKey: "canary",
    openaiBaseUrl: `${mock.url}/v1`,
    ollamaHost: mock.url,
  };
  const usd = { inputPerMillionUsd: 1, outputPerMillionUsd: 1 };
  const options = { fetch: record, maxRetries: 0, prices: { [name]: usd } };
  const responder = await createResponder(parseModelName(name), settings, options);
  const ask = (content: string, offered?: OfferedTools) =>
    collectAnswer(responder, {
      instructions: "Be kind.",
      messages: [{ role: "user", content }],
      ...(offered === undefined ? {} : { tools: offered }),
    });
  return { sent, ask };
}

const call = { name: "weather", arguments: '{"city":"Berlin"}' };
const usage = { input_tokens: 11, output_tokens: 5, prompt_tokens: 11, completion_tokens: 5 };

test("a tool is run once with what the model said, told as call and result, and both requests are paid for", async () => {
  mock.on({ userMessage: /rain/, hasToolResult: false }, { toolCalls: [call], usage });
  mock.on({ userMessage: /rain/, hasToolResult: true }, { content: "It does.", usage });
  const runs: unknown[] = [];
  const { ask, sent } = await model();
  const run = async (args: unknown) => {
    runs.push(args);
    return "Rain.";
  };
  const { events, text } = await ask("Is there rain?", tools(run));
  assert.deepEqual(runs, [{ city: "Berlin" }]);
  assert.deepEqual(
    events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]),
    ["tool-call", "tool-result", "text", "provider-session", "provider-data", "end"],
  );
  assert.equal(text, "It does.");
  const result = events.find((event) => event.type === "tool-result");
  assert.deepEqual([result?.content, result?.isError], ["Rain.", false]);
  const end = events.at(-1);
  assert.ok(end?.type === "end");
  assert.deepEqual([end.usage.inputTokens, end.usage.outputTokens], [22, 10]);
  assert.equal(end.usage.costUsd, 0.000032);
  assert.ok(sent.every((body) => body.includes("You can look out of the window.")));
});

test("a tool that fails is told as an error without its reason, and the answer goes on", async () => {
  mock.on({ userMessage: /rain/, hasToolResult: false }, { toolCalls: [call] });
  mock.on({ userMessage: /rain/, hasToolResult: true }, { content: "I cannot see." });
  const { ask, sent } = await model();
  const { events, text } = await ask(
    "rain?",
    tools(() => Promise.reject(new Error("secret"))),
  );
  const result = events.find((event) => event.type === "tool-result");
  assert.deepEqual([result?.content, result?.isError], ["The tool failed.", true]);
  assert.equal(text, "I cannot see.");
  assert.equal(sent.join().includes("secret"), false);
});

test("a model that calls a tool again and again is asked 4 times in all", async () => {
  mock.onMessage(/rain/, { toolCalls: [call] });
  const { ask, sent } = await model();
  const { events } = await ask(
    "rain?",
    tools(async () => "Rain."),
  );
  assert.equal(sent.length, 4);
  const end = events.at(-1);
  assert.ok(end?.type === "end" && end.finish === "tool-calls");
});

for (const status of [400, 404, 422]) {
  test(`a model that refuses tools with ${status} is asked without them, then and from then on`, async () => {
    const message = "registry/gemma does not support tools";
    const takesNone = { predicate: (asked: { tools?: unknown }) => asked.tools !== undefined };
    mock.on(takesNone, { error: { message, type: "api_error" }, status });
    mock.onMessage(/hello/, { content: "Hi." });
    const { ask, sent } = await model("ollama/gemma");
    for (const requests of [2, 3]) {
      const { text, error } = await ask(
        "hello",
        tools(async () => "Rain."),
      );
      assert.deepEqual([error, text], [undefined, "Hi."]);
      assert.equal(sent.length, requests);
    }
    assert.deepEqual(
      sent.map((body) => body.includes("out of the window")),
      [true, false, false],
    );
  });
}

test("a refusal that tools are not to blame for is told, and tools are offered again", async () => {
  mock.onMessage(/hello/, { error: { message: "too long", type: "invalid" }, status: 400 });
  const { ask, sent } = await model("ollama/gemma");
  for (const requests of [1, 2]) {
    const { error } = await ask(
      "hello",
      tools(async () => "Rain."),
    );
    assert.match(String(error), /refused the request \(HTTP 400/);
    assert.equal(sent.length, requests);
  }
});
