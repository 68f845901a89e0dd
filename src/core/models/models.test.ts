import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { LLMock } from "@copilotkit/aimock";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import { bodyOf, loopback } from "../../../test/support/loopback.ts";
import { openAiServer } from "../../../test/support/openai-server.ts";
import { pdf, png } from "../../../test/support/sample-files.ts";
import type { ModelFile } from "../chat/message.ts";
import type { JsonObject } from "../json.ts";
import { type ModelSpec, parseModelName } from "./model-name.ts";
import { installed } from "./providers.ts";
import { createResponder } from "./registry.ts";
import { type OfferedTools, ResponderError, type ResponderRequest } from "./responder.ts";
import type { ModelSettings } from "./settings.ts";

// aimock speaks each provider's own protocol on one port of loopback.
const mock = new LLMock({ port: 0, logLevel: "silent" });
before(() => mock.start());
after(() => mock.stop());
beforeEach(() => mock.clearFixtures());

/** Every setting points at the mock; the keys are canaries. */
function settings(): ModelSettings {
  return {
    openaiApiKey: "canary-openai ",
    openaiBaseUrl: `${mock.url}/v1`,
    anthropicApiKey: "canary-anthropic",
    anthropicBaseUrl: mock.url,
    ollamaHost: mock.url,
    awsRegion: "eu-central-1",
    awsAccessKeyId: "canary-access",
    awsSecretAccessKey: "canary-secret",
    bedrockBaseUrl: mock.url,
  };
}

/** The bodies as they went over the wire, which the mock does not keep. */
function recording() {
  const sent: { readonly body: JsonObject; readonly headers: Headers }[] = [];
  const record: typeof fetch = (input, init) => {
    const body = JSON.parse(String(init?.body ?? "{}"));
    sent.push({ body, headers: new Headers(init?.headers) });
    return fetch(input, init);
  };
  return { sent, fetch: record };
}

const names = [
  "ollama/qwen3",
  "openai/gpt-5",
  "anthropic/claude-sonnet-4-5",
  "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0",
];
const call = { name: "weather", arguments: '{"city":"Berlin"}' };
const usage = { input_tokens: 11, output_tokens: 5, prompt_tokens: 11, completion_tokens: 5 };
/** Bytes between two places where an answer closes. */
const step = process.env["THROUGHLINE_FULL"] === "1" ? 24 : 120;

for (const name of names) {
  const spec = parseModelName(name);

  test(`${name} streams its answer, with usage, over its own protocol`, async () => {
    mock.onMessage(/hello/, { content: "Good to hear you.", usage });
    const prices = { [name]: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 } };
    const responder = await createResponder(spec, settings(), { prices });
    assert.deepEqual([responder.provider, responder.model], [spec.provider, spec.model]);
    const { text, events, error } = await collectAnswer(responder, "hello");
    assert.equal(error, undefined);
    assert.equal(text, "Good to hear you.");
    const end = events.at(-1);
    assert.ok(end?.type === "end" && end.finish === "stop");
    const counts = [end.usage.inputTokens, end.usage.outputTokens, end.usage.costUsd];
    assert.deepEqual(counts, [11, 5, 0.000016]);
  });

  test(`${name} takes a history with tool calls, results and context`, async () => {
    mock.onMessage(/thanks/, { content: "You are welcome." });
    const responder = await createResponder(spec, settings());
    const toolCalls = [{ id: "c1", type: "function", function: call }] as const;
    const { text, error } = await collectAnswer(responder, {
      instructions: "Be kind.",
      messages: [
        { role: "user", content: "weather?" },
        { role: "assistant", content: "I look.", toolCalls },
        { role: "tool", toolCallId: "c1", toolName: "weather", content: "sunny" },
        { role: "assistant", content: "Sunny." },
        { role: "user", content: "thanks" },
      ],
      context: "Back after 2 hours.",
    });
    assert.equal(error, undefined);
    assert.equal(text, "You are welcome.");
  });

  test(`${name} that is refused with HTTP 401 throws without its key`, async () => {
    const message = "Incorrect API key provided: canary";
    mock.onMessage(/hello/, { error: { message, type: "authentication_error" }, status: 401 });
    const { error } = await collectAnswer(await createResponder(spec, settings()), "hello");
    assert.ok(error instanceof ResponderError);
    assert.equal(error.kind, "refused");
    assert.match(error.message, /HTTP 401.*check its key/);
    assert.doesNotMatch(JSON.stringify([error.message, error.stack, error.cause]), /canary/);
  });

  test(`${name} whose answer closes at every ${step}th byte is whole only when its finish came`, async () => {
    const content = "One two three.";
    mock.onMessage(/hello/, { content }, { chunkSize: 5 });
    const whole = await bytesOf(spec, "hello");
    let partial = 0;
    for (let length = 0; length < whole.bytes.length; length += step) {
      const body = whole.bytes.slice(0, length);
      const cut: typeof fetch = async () => new Response(body, { headers: whole.headers });
      const responder = await createResponder(spec, settings(), { fetch: cut, maxRetries: 0 });
      const { text, events, error } = await collectAnswer(responder, "hello");
      const end = events.at(-1);
      const where = `${length} of ${whole.bytes.length} bytes`;
      assert.ok(content.startsWith(text), where);
      if (text !== "" && text !== content) partial++;
      if (error !== undefined) {
        assert.ok(error instanceof ResponderError && error.kind === "unavailable", where);
      } else {
        assert.ok(end?.type === "end" && text !== "", where);
        if (end.finish === "stop") assert.equal(text, content, where);
        else assert.ok(end.finish === "other" || end.finish === "error", where);
      }
    }
    assert.ok(partial > 0, "some cuts fell into the text");
  });
}

/** One whole answer as bytes. */
async function bytesOf(spec: ModelSpec, words: string) {
  let whole = { bytes: new Uint8Array(), headers: new Headers() };
  const keeping: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const bytes = new Uint8Array(await response.arrayBuffer());
    whole = { bytes, headers: response.headers };
    return new Response(bytes, { headers: response.headers });
  };
  await collectAnswer(await createResponder(spec, settings(), { fetch: keeping }), words);
  return whole;
}

test("OpenAI names its response, and the next turn resumes it with only what is new", async () => {
  mock.onMessage(/hello/, { content: "Hi.", id: "resp_first" });
  mock.onMessage(/more/, { content: "More.", id: "resp_second" });
  const wire = recording();
  const spec = parseModelName("openai/gpt-5");
  const responder = await createResponder(spec, settings(), { fetch: wire.fetch });
  const persona = { instructions: "Be kind." };
  const hello = { role: "user" as const, content: "hello" };
  const first = await collectAnswer(responder, { ...persona, messages: [hello] });
  const session = first.events.find((event) => event.type === "provider-session");
  const data = first.events.find((event) => event.type === "provider-data");
  assert.equal(session?.id, "resp_first");
  assert.deepEqual(data?.data, { response_id: "resp_first", reasoning: undefined });
  const request: ResponderRequest = {
    ...persona,
    messages: [
      hello,
      { role: "assistant", content: "Hi.", providerData: data.data },
      { role: "user", content: "tell me more" },
    ],
    context: "Back after 2 hours.",
    providerSessionId: session.id,
  };
  const second = await collectAnswer(responder, request);
  assert.equal(second.text, "More.");
  const [one, two] = wire.sent.map(({ body }) => body);
  for (const [body, previous] of [
    [one, undefined],
    [two, "resp_first"],
  ] as const) {
    const { instructions, previous_response_id } = body ?? {};
    assert.deepEqual([instructions, previous_response_id], ["Be kind.", previous]);
  }
  const input = two?.["input"] as { role: string; content: { text: string }[] }[];
  assert.equal(input.length, 1, "only the newest message");
  assert.deepEqual([input[0]?.role, input[0]?.content[1]?.text], ["user", "tell me more"]);
  assert.match(input[0]?.content[0]?.text ?? "", /Back after 2 hours/);
});

test("an id that OpenAI does not know is session_refused, and the same request without it is answered", async () => {
  const gone = { code: "previous_response_not_found", param: "previous_response_id" };
  await using server = await openAiServer(() => ({ status: 400, ...gone }));
  const spec = parseModelName("openai/gpt-5");
  const refusing = await createResponder(spec, { ...settings(), openaiBaseUrl: server.url });
  const request: ResponderRequest = {
    instructions: "",
    messages: [{ role: "user", content: "hello" }],
    providerSessionId: "resp_gone",
  };
  const { error, events } = await collectAnswer(refusing, request);
  assert.ok(error instanceof ResponderError);
  assert.equal(error.kind, "session_refused");
  const ids = server.requests.map(({ body }) => body["previous_response_id"]);
  assert.deepEqual([events, ids], [[], ["resp_gone"]]);
  mock.onMessage(/hello/, { content: "Hi." });
  const { providerSessionId: _, ...again } = request;
  assert.equal((await collectAnswer(await createResponder(spec, settings()), again)).text, "Hi.");
});

test("a signed thought of Anthropic goes back to it in front of its text", async () => {
  mock.onMessage(/hello/, {
    content: "Hi.",
    reasoning: "A greeting.",
    reasoningSignature: "signature-1",
    redactedThinking: ["opaque-1"],
  });
  const wire = recording();
  const spec = parseModelName("anthropic/claude-sonnet-4-5");
  const responder = await createResponder(spec, settings(), { fetch: wire.fetch });
  const { events, text } = await collectAnswer(responder, "hello");
  assert.equal(text, "Hi.");
  const data = events.find((event) => event.type === "provider-data");
  assert.ok(data !== undefined);
  assert.ok(!events.some((event) => event.type === "provider-session"));
  await collectAnswer(responder, {
    instructions: "",
    messages: [
      { role: "user", content: "hello" },
      { role: "assistant", content: "Hi.", providerData: JSON.parse(JSON.stringify(data.data)) },
      { role: "user", content: "hello again" },
    ],
  });
  const messages = wire.sent[1]?.body["messages"] as { content: JsonObject[] }[];
  assert.deepEqual(messages[1]?.content, [
    { type: "redacted_thinking", data: "opaque-1" },
    { type: "thinking", thinking: "A greeting.", signature: "signature-1" },
    { type: "text", text: "Hi." },
  ]);
});

test("a model named by URL gets its own key and no other", async () => {
  await using server = await openAiServer();
  const spec = parseModelName(`${server.url}#org/model:1`);
  const bare = await createResponder(spec, settings());
  assert.deepEqual([bare.provider, bare.model], ["openai-compatible", "org/model:1"]);
  assert.equal((await collectAnswer(bare, "hello")).text, "Hello from the model.");
  const own = await createResponder(spec, { ...settings(), compatibleApiKey: "mine" });
  await collectAnswer(own, "hello");
  const keys = server.requests.map(({ key }) => key);
  assert.deepEqual(keys, [undefined, "mine"]);
  assert.equal(server.requests[0]?.body["model"], "org/model:1");
});

const missing: readonly [string, Partial<ModelSettings>, RegExp][] = [
  ["openai/gpt-5", { openaiApiKey: "  " }, /OPENAI_API_KEY/],
  ["anthropic/claude-sonnet-4-5", { anthropicApiKey: undefined }, /ANTHROPIC_API_KEY/],
  ["bedrock/m", { awsRegion: undefined }, /AWS_REGION/],
  ["bedrock/m", { awsAccessKeyId: undefined }, /AWS_ACCESS_KEY_ID/],
  ["bedrock/m", { awsSecretAccessKey: undefined }, /AWS_SECRET_ACCESS_KEY/],
  ["ollama/m", { ollamaHost: "a b" }, /OLLAMA_HOST/],
];
test("a model whose setting is missing is a configuration error that names the setting", async () => {
  for (const [name, without, message] of missing) {
    const made = createResponder(parseModelName(name), { ...settings(), ...without });
    await assert.rejects(made, { code: "THROUGHLINE_CONFIGURATION", message });
  }
});

test("a provider whose package is not installed says what to install", async () => {
  const name = "@ai-sdk/not-installed";
  const missing = installed(name, () => import(name));
  const message = /npm install @ai-sdk\/not-installed/;
  await assert.rejects(missing, { code: "THROUGHLINE_CONFIGURATION", message });
  const broken = installed(name, () => Promise.reject(new SyntaxError("broken package")));
  await assert.rejects(broken, new SyntaxError("broken package"));
});

const bedrockAccess: readonly [string, Partial<ModelSettings>, RegExp][] = [
  ["its bearer token", { awsBearerToken: "canary-bearer" }, /^Bearer canary-bearer$/],
  ["static keys, signed", {}, /^AWS4-HMAC-SHA256 Credential=canary-access\//],
  [
    "a provider of credentials",
    { awsCredentials: async () => ({ accessKeyId: "canary-role", secretAccessKey: "s" }) },
    /^AWS4-HMAC-SHA256 Credential=canary-role\//,
  ],
];
for (const [what, access, header] of bedrockAccess) {
  test(`Bedrock is reached with ${what}`, async () => {
    mock.onMessage(/hello/, { content: "Hi." });
    const wire = recording();
    const of = { ...settings(), ...access };
    const responder = await createResponder(parseModelName("bedrock/m"), of, { fetch: wire.fetch });
    assert.equal((await collectAnswer(responder, "hello")).text, "Hi.");
    assert.match(wire.sent[0]?.headers.get("authorization") ?? "", header);
  });
}

function sent({ name, type = "", bytes }: typeof png): ModelFile {
  return { name, type, size: bytes.length, sha256: "0".repeat(64), bytes: new Uint8Array(bytes) };
}

const base64 = (file: typeof png) => Buffer.from(file.bytes).toString("base64");
const dataUri = (file: typeof png) => `data:${file.type};base64,${base64(file)}`;

/** What stands in the request of each protocol for a picture, and for a PDF where it takes one. */
const protocols: readonly (readonly [name: string, picture: object, pdf?: object])[] = [
  [
    "openai/gpt-5",
    { type: "input_image", image_url: dataUri(png) },
    { type: "input_file", filename: "plan.pdf", file_data: dataUri(pdf) },
  ],
  [
    "anthropic/claude-sonnet-4-5",
    { type: "image", source: { type: "base64", media_type: "image/png", data: base64(png) } },
    {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: base64(pdf) },
      title: "plan.pdf",
    },
  ],
  [
    "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0",
    { image: { format: "png", source: { bytes: base64(png) } } },
    { document: { format: "pdf", name: "plan", source: { bytes: base64(pdf) } } },
  ],
  ["ollama/llava", { type: "image_url", image_url: { url: dataUri(png) } }],
];
for (const [name, picture, document] of protocols) {
  const kinds = document === undefined ? "pictures" : "pictures and PDF files";
  test(`${name} is sent ${kinds} as bytes, beside the text that names them`, async () => {
    mock.onMessage(/./, { content: "Seen." });
    const wire = recording();
    const responder = await createResponder(parseModelName(name), settings(), {
      fetch: wire.fetch,
    });
    const files = document === undefined ? [sent(png)] : [sent(png), sent(pdf)];
    const content = "look\n\n[image: cat.png]";
    const request = { instructions: "", messages: [{ role: "user", content, files }] } as const;
    assert.equal((await collectAnswer(responder, request)).text, "Seen.");
    const parts = partsOf(wire.sent[0]?.body ?? {});
    assert.deepEqual(parts.slice(1), document === undefined ? [picture] : [picture, document]);
    assert.match(JSON.stringify(parts[0]), /look\\n\\n\[image: cat\.png\]/);
  });
}

/** The content of the newest message. */
function partsOf(body: { readonly input?: unknown; readonly messages?: unknown }): unknown[] {
  const messages = (body.input ?? body.messages) as { readonly content: unknown[] }[];
  return messages.at(-1)?.content ?? [];
}

const { signal } = new AbortController();
const takers: readonly (readonly [name: string, takes: readonly string[]])[] = [
  ["openai/gpt-5", ["image/png", "application/pdf"]],
  ["anthropic/claude-sonnet-4-5", ["image/png", "application/pdf"]],
  ["bedrock/amazon.nova-pro", ["image/png", "application/pdf"]],
  ["http://127.0.0.1:8080/v1#qwen3", ["image/png"]],
  ["offline", []],
];
test("a model takes the files of its provider's protocol, and no others", async () => {
  const types = ["image/png", "application/pdf", "image/svg+xml", "audio/wav"];
  for (const [name, takes] of takers) {
    const { takes: asks = () => false } = await createResponder(parseModelName(name), settings());
    const taken = types.filter((type) => asks(type, signal) === true);
    assert.deepEqual(taken, takes, name);
  }
});

test("a server that answers 500 to a picture refuses it, and is not asked again with it", async () => {
  let calls = 0;
  const message = "image input is not supported - hint: you may need to provide the mmproj";
  const error = { code: 500, message, type: "server_error" };
  const fetch = async () => {
    calls++;
    return Response.json({ error }, { status: 500, headers: { "retry-after-ms": "1" } });
  };
  const spec = parseModelName("http://127.0.0.1:8080/v1#qwen3");
  const responder = await createResponder(spec, {}, { fetch });
  const messages = [{ role: "user", content: "look", files: [sent(png)] }] as const;
  const answer = Array.fromAsync(responder.respond({ instructions: "", messages }, signal));
  await assert.rejects(answer, { kind: "refused" });
  assert.equal(calls, 1);
});

test("Ollama says which of its models see pictures, and is asked until it says so", async () => {
  const asked: string[] = [];
  let capabilities: readonly string[] | undefined;
  await using server = await loopback(async (incoming, response) => {
    asked.push(`${incoming.url} ${await bodyOf(incoming)}`);
    response.end(JSON.stringify({ capabilities }));
  });
  const spec = parseModelName("ollama/llava");
  const ofLlava = async () => {
    const { takes } = await createResponder(spec, { ollamaHost: new URL(server.url).host });
    return takes ?? assert.fail();
  };
  const takes = await ofLlava();
  assert.equal(await takes("application/pdf", signal), false);
  assert.deepEqual(asked, [], "it is not asked about what it never takes");
  assert.equal(await takes("image/png", signal), false, "it does not say");
  capabilities = ["completion", "vision"];
  assert.equal(await takes("image/png", signal), true);
  assert.equal(await takes("image/jpeg", signal), true);
  assert.deepEqual(asked, Array(2).fill('/api/show {"model":"llava"}'));
  capabilities = ["completion"];
  const blind = await ofLlava();
  assert.equal(await blind("image/png", signal), false);
  await server.close();
  const gone = await ofLlava();
  assert.equal(await gone("image/png", signal), false);
});

const parameters = { type: "object", properties: { city: { type: "string" } } } as const;

function tools(run: OfferedTools["tools"][number]["run"]): OfferedTools {
  const weather = { name: "weather", description: "Looks out of the window.", parameters, run };
  return { instructions: "You can look out of the window.", tools: [weather] };
}

const raining = tools(async () => "Rain.");

/** What was sent, and what asks a responder that sends it. */
async function model(name = "openai/gpt-5") {
  const { sent, fetch } = recording();
  const usd = { inputPerMillionUsd: 1, outputPerMillionUsd: 1 };
  const options = { fetch, maxRetries: 0, prices: { [name]: usd } };
  const responder = await createResponder(parseModelName(name), settings(), options);
  const ask = (content: string, tools?: OfferedTools) =>
    collectAnswer(responder, {
      instructions: "Be kind.",
      messages: [{ role: "user", content }],
      tools,
    });
  return { bodies: () => sent.map(({ body }) => JSON.stringify(body)), ask };
}

test("a tool is run once with what the model said, told as call and result, and both requests are paid for", async () => {
  mock.on({ userMessage: /rain/, hasToolResult: false }, { toolCalls: [call], usage });
  mock.on({ userMessage: /rain/, hasToolResult: true }, { content: "It does.", usage });
  const runs: unknown[] = [];
  const { ask, bodies } = await model();
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
  assert.ok(bodies().every((body) => body.includes("You can look out of the window.")));
});

test("a model that calls a tool again and again is asked 4 times in all", async () => {
  mock.onMessage(/rain/, { toolCalls: [call] });
  const { ask, bodies } = await model();
  const { events } = await ask("rain?", raining);
  assert.equal(bodies().length, 4);
  const end = events.at(-1);
  assert.ok(end?.type === "end" && end.finish === "tool-calls");
});

for (const status of [400, 404, 422]) {
  test(`a model that refuses tools with ${status} is asked without them, then and from then on`, async () => {
    const message = "registry/gemma does not support tools";
    const takesNone = { predicate: (asked: { tools?: unknown }) => asked.tools !== undefined };
    mock.on(takesNone, { error: { message, type: "api_error" }, status });
    mock.onMessage(/hello/, { content: "Hi." });
    const { ask, bodies } = await model("ollama/gemma");
    for (const requests of [2, 3]) {
      const { text, error } = await ask("hello", raining);
      assert.deepEqual([error, text, bodies().length], [undefined, "Hi.", requests]);
    }
    const offered = bodies().map((body) => body.includes("out of the window"));
    assert.deepEqual(offered, [true, false, false]);
  });
}
