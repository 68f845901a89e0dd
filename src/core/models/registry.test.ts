import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { modelServer } from "../../../test/support/model-server.ts";
import { chatStream } from "../../../test/support/openai-server.ts";
import { type NamedProvider, parseModelName } from "./model-name.ts";
import { type RegistryOptions, ResponderRegistry } from "./registry.ts";
import type { ModelList, Responder } from "./responder.ts";
import type { ModelSettings } from "./settings.ts";

const noNetwork: typeof fetch = () => Promise.reject(new Error("no network here"));

/** An Ollama at any address, and a record of what was asked of it. */
function ollama(models: readonly string[]) {
  const urls: string[] = [];
  const fetch: typeof globalThis.fetch = async (input) => {
    const url = String(input instanceof Request ? input.url : input);
    urls.push(url);
    if (url.endsWith("/api/tags")) {
      return Response.json({ models: models.map((name) => ({ name })) });
    }
    return new Response(chatStream("Hello."), { headers: { "content-type": "text/event-stream" } });
  };
  return { urls, fetch };
}

/** One that runs on the offline responder and may ask this provider too. */
function openAllowed(provider: NamedProvider, settings: ModelSettings = {}) {
  const standard = parseModelName("offline");
  return ResponderRegistry.open({ standard, settings, allowed: [provider], fetch: noNetwork });
}

const say = async (responder: Responder) => (await collectAnswer(responder, "Hi")).text;

test("with no model named nothing is asked, and new sessions run on the offline responder", async () => {
  const { fetch, urls } = ollama(["qwen3:8b"]);
  const registry = await ResponderRegistry.open({ settings: {}, fetch });
  assert.deepEqual(registry.standard, { provider: "offline", model: "offline" });
  const responder = await registry.get("offline", "offline");
  assert.match(await say(responder), /built-in responder/);
  assert.equal((await registry.get("offline", "qwen3")).model, "offline");
  await registry.list({ again: true });
  assert.deepEqual([registry.providers, urls], [["offline"], []]);
});

for (const [host, isAsked] of [
  [undefined, true],
  ["localhost:1234", true],
  ["[::1]", true],
  ["127.1.2.3", true],
  ["0.0.0.0", true],
  ["box.lan", false],
  ["192.168.0.7", false],
  ["127.0.0.1.example", false],
] as const) {
  test(`with no model named an Ollama at ${host} is ${isAsked ? "" : "not "}asked once it is chosen`, async () => {
    const { fetch, urls } = ollama(["qwen3:8b"]);
    const registry = await ResponderRegistry.open({ settings: { ollamaHost: host }, fetch });
    const { providers } = await registry.list({ ollama: true });
    if (!isAsked) {
      assert.match(providers[0]?.error ?? "", /^ollama is not allowed here: .*--model/);
      await assert.rejects(registry.get("ollama", "qwen3:8b"), { code: "THROUGHLINE_INVALID" });
      assert.deepEqual(urls, []);
      return;
    }
    assert.equal(await say(await registry.get("ollama", "qwen3:8b")), "Hello.");
    assert.deepEqual(registry.providers, ["offline", "ollama"]);
  });
}

test("a key alone allows no provider: not one that a session or a request names", async () => {
  const { fetch, urls } = ollama([]);
  const settings = { openaiApiKey: "k", anthropicApiKey: "k" };
  const standard = parseModelName("anthropic/claude");
  const registry = await ResponderRegistry.open({ standard, settings, fetch });
  assert.deepEqual(registry.providers, ["anthropic", "offline"]);
  for (const provider of ["openai", "ollama", "bedrock"]) {
    const message = new RegExp(`^${provider} is not allowed here: .*--model.* providers`);
    await assert.rejects(registry.get(provider, "m"), { code: "THROUGHLINE_INVALID", message });
  }
  assert.equal((await registry.get("anthropic", "other")).model, "other");
  assert.deepEqual(urls, []);
});

test("a model is made once, however often and however fast it is asked for", async () => {
  const registry = await openAllowed("ollama");
  const [first, second] = await Promise.all([1, 2].map(() => registry.get("ollama", "a")));
  assert.equal(first, second);
  assert.equal(await registry.get("ollama", "a"), first);
  assert.notEqual(await registry.get("ollama", "b"), first);
});

test("an unknown provider, and a model without a usable name, are refused", async () => {
  const registry = await openAllowed("ollama");
  const message =
    "provider must be one of ollama, openai, anthropic, bedrock, openai-compatible, offline";
  for (const provider of ["", "Ollama", "__proto__", "http://evil.test/v1"]) {
    await assert.rejects(registry.get(provider, "m"), { code: "THROUGHLINE_INVALID", message });
  }
  for (const model of ["", "a b"]) {
    await assert.rejects(registry.get("ollama", model), { code: "THROUGHLINE_INVALID" });
  }
});

test("a model that is not set up is refused, and found once its key is there", async () => {
  const settings = { openaiApiKey: "" };
  const registry = await openAllowed("openai", settings);
  await assert.rejects(registry.get("openai", "gpt"), { code: "THROUGHLINE_CONFIGURATION" });
  settings.openaiApiKey = "sk-test";
  assert.equal((await registry.get("openai", "gpt")).model, "gpt");
});

test("a standard model that is not set up is refused at the start, one of a session that was named by URL when it is asked", async () => {
  const code = "THROUGHLINE_CONFIGURATION";
  const opening = ResponderRegistry.open({ standard: parseModelName("anthropic/m"), settings: {} });
  await assert.rejects(opening, { code, message: /ANTHROPIC_API_KEY/ });
  const registry = await ResponderRegistry.open({ settings: {}, fetch: noNetwork });
  const getting = registry.get("openai-compatible", "m");
  await assert.rejects(getting, { code, message: /--model http/ });
});

type Server = Awaited<ReturnType<typeof modelServer>>;

function open(server: Server, named: string | undefined, more: Partial<RegistryOptions> = {}) {
  const standard = named === undefined ? undefined : parseModelName(named);
  const { settings } = server;
  return ResponderRegistry.open({ standard, settings, ...more });
}

/** The names of the models of each provider, and the errors. */
function shown({ providers }: ModelList): Record<string, readonly string[] | string> {
  return Object.fromEntries(
    providers.map(({ provider, models, error }) => [
      error === undefined ? provider : `${provider}: ${error}`,
      models.map(({ model }) => model),
    ]),
  );
}

/** The headers in which a key can travel. */
function keys(server: Server): Record<string, string> {
  const keyOf = (headers: Server["seen"][number]["headers"]) =>
    String(headers["x-api-key"] ?? headers.authorization ?? "none");
  return Object.fromEntries(server.seen.map(({ path, headers }) => [path, keyOf(headers)]));
}

test("each provider that is allowed lists its chat models, and each gets its own key only", async () => {
  await using server = await modelServer();
  server.offered.ollama = [
    { name: "llama3:latest", size: 4_700_000_000, details: { family: "llama" } },
    { name: "nomic-embed-text", details: { family: "nomic-bert" } },
    { name: "llava:7b", details: { family: "llama", families: ["llama", "clip"] } },
    { name: "qwen3-vl", size: 0, capabilities: ["completion", "vision"] },
  ];
  server.offered.openai = [
    { id: "gpt-4.1", created: 1 },
    { id: "text-embedding-3-small", created: 5 },
    { id: "gpt-5", created: 3 },
    { id: "whisper-1", created: 4 },
    { id: "a b", created: 9 },
  ];
  server.offered.anthropic = [{ id: "claude-sonnet-4-5" }, { id: "claude-haiku-4-5" }];
  const registry = await open(server, "ollama/llama3", { allowed: ["openai", "anthropic"] });
  const list = await registry.list();
  assert.deepEqual(list.standard, { provider: "ollama", model: "llama3" });
  assert.deepEqual(shown(list), {
    ollama: ["llama3", "llava:7b", "qwen3-vl"],
    openai: ["gpt-5", "gpt-4.1"],
    anthropic: ["claude-sonnet-4-5", "claude-haiku-4-5"],
  });
  const [llama, llava, qwen] = list.providers[0]?.models ?? [];
  assert.deepEqual([llama?.sizeBytes, llama?.takesPictures], [4_700_000_000, undefined]);
  assert.deepEqual([llava?.takesPictures, qwen?.takesPictures], [true, true]);
  assert.deepEqual(keys(server), {
    "/api/tags": "none",
    "/openai/v1/models": "Bearer canary-openai",
    "/anthropic/v1/models?limit=1000": "canary-anthropic",
  });
  assert.doesNotMatch(JSON.stringify(list), /canary/);
});

test("a list is kept for a minute, a failed one too, unless it is wanted again", async () => {
  await using server = await modelServer();
  const clock = new HeldClock();
  const registry = await open(server, "openai/gpt-5", { clock });
  const asked = () => server.seen.length;
  server.offered.instead = (_, response) => refuse(response, 500);
  const failed = { "openai: OpenAI refused to list its models (HTTP 500)": ["gpt-5"] };
  assert.deepEqual(shown(await registry.list()), failed);
  delete server.offered.instead;
  server.offered.openai = [{ id: "gpt-4.1", created: 1 }];
  clock.pass(59_999);
  assert.deepEqual(shown(await registry.list()), failed);
  assert.equal(asked(), 1);
  clock.pass(1);
  assert.deepEqual(shown(await registry.list()), { openai: ["gpt-5", "gpt-4.1"] });
  server.offered.openai = [];
  await registry.list();
  assert.equal(asked(), 2);
  assert.deepEqual(shown(await registry.list({ again: true })), { openai: ["gpt-5"] });
  assert.equal(asked(), 3);
});

function refuse(response: ServerResponse, status: number): true {
  response.writeHead(status).end("the key canary-openai is wrong");
  return true;
}

const failures: readonly [string, (response: ServerResponse) => unknown, RegExp][] = [
  ["refuses the key", (response) => refuse(response, 401), /^OpenAI refused .*HTTP 401.*its key$/],
  [
    "redirects to another address",
    (response) => response.writeHead(302, { location: "/elsewhere" }).end(),
    /^http:..127.0.0.1:\d+ redirects to .*Nothing was sent there/,
  ],
  ["breaks the connection", (response) => response.destroy(), /^OpenAI cannot be reached$/],
  ["sends no JSON", (response) => response.end("<html>canary"), /^OpenAI sent no list of models$/],
  [
    "sends another form",
    (response) => response.end('{"data":7}'),
    /^OpenAI sent no list of models$/,
  ],
  [
    "sends a list of 9 MB",
    (response) => response.end(`{"data":[]}${" ".repeat(9e6)}`),
    /^OpenAI (?:sent no list|did not answer within 2 seconds)/, // on a busy machine they take longer
  ],
  ["does not answer", () => undefined, /^OpenAI did not answer within 2 seconds$/],
];
for (const [what, answer, says] of failures) {
  test(`a provider that ${what} has an error without its words, and the others have their lists`, async () => {
    await using server = await modelServer();
    server.offered.ollama = [{ name: "qwen3" }];
    server.offered.instead = (path, response) => {
      if (path.startsWith("/api/tags")) return false;
      answer(response);
      return true;
    };
    const registry = await open(server, "ollama/qwen3", { allowed: ["openai"] });
    const begun = performance.now();
    const { providers } = await registry.list();
    assert.ok(performance.now() - begun < 4_000);
    const [ollama, openai] = providers;
    assert.deepEqual([ollama?.models.map(({ model }) => model), openai?.models], [["qwen3"], []]);
    assert.match(openai?.error ?? "", says);
    assert.doesNotMatch(JSON.stringify(providers), /canary/);
    assert.ok(!server.seen.some(({ path }) => path === "/elsewhere"));
  });
}

test("a provider that is not set up, or has no list, is asked nothing, and the error says why", async () => {
  const region = { awsRegion: "eu-central-1", awsBearerToken: "canary" };
  const noList = "Amazon Bedrock is not asked for its list: name a model as bedrock/<model>";
  for (const [provider, settings, says] of [
    ["openai", { openaiApiKey: " " }, /OPENAI_API_KEY/],
    ["bedrock", {}, /AWS_REGION/],
    ["bedrock", region, new RegExp(`^${noList}$`)],
  ] as const) {
    await using server = await modelServer();
    const options = { allowed: [provider], settings: { ...server.settings, ...settings } };
    const { providers } = await (await open(server, "offline", options)).list();
    assert.match(providers[0]?.error ?? "", says);
    assert.deepEqual(server.seen, []);
  }
});

test("an OpenAI-compatible server is asked at its address for the models that it lists, and for no other", async () => {
  await using server = await modelServer();
  server.offered.openai = [
    { id: "local-large", created: 2 },
    { id: "local", created: 1 },
  ];
  const clock = new HeldClock();
  const registry = await open(server, `${server.url}/v1#local`, { clock });
  assert.deepEqual(shown(await registry.list()), { "openai-compatible": ["local", "local-large"] });
  const large = await registry.get("openai-compatible", "local-large");
  assert.equal(await say(large), "local hears you.");
  assert.equal(keys(server)["/v1/models"], "Bearer canary-compatible");
  const elsewhere = registry.get("openai-compatible", "elsewhere");
  await assert.rejects(elsewhere, { code: "THROUGHLINE_CONFIGURATION" });
  // The server is away when its list is asked for again: what was asked before still can be.
  await server.stop();
  clock.pass(60_000);
  assert.equal((await registry.get("openai-compatible", "local-large")).model, "local-large");
});

test("an Ollama is looked for when that is asked for, and can be asked from then on", async () => {
  await using server = await modelServer();
  await server.stop();
  const registry = await open(server, undefined);
  const unreached = { "ollama: Ollama cannot be reached": [], offline: ["offline"] };
  assert.deepEqual(shown(await registry.list()), { offline: ["offline"] });
  assert.deepEqual(shown(await registry.list({ ollama: true })), unreached);
  await server.start();
  const empty = await registry.list({ again: true });
  assert.deepEqual(shown(empty), { ollama: [], offline: ["offline"] });
  server.offered.ollama = [{ name: "qwen3" }, { name: "llama3" }];
  const ready = await registry.list({ again: true });
  assert.deepEqual(ready.standard, { provider: "offline", model: "offline" });
  assert.deepEqual(shown(ready), { ollama: ["qwen3", "llama3"], offline: ["offline"] });
  assert.equal(await say(await registry.get("ollama", "llama3")), "llama3 hears you.");
  await server.stop();
  assert.deepEqual(shown(await registry.list({ again: true })), unreached);
});
