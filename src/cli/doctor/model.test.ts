import assert from "node:assert/strict";
import { test } from "node:test";
import { type NamedProvider, parseModelName } from "../../core/models/model-name.ts";
import type { ModelSettings } from "../../core/models/settings.ts";
import { checkModel, checkProviders } from "./model.ts";

/** What was sent, and a network on which these addresses answer. */
function network(...answering: readonly string[]) {
  const sent: { readonly url: string; readonly hasKey: boolean }[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    sent.push({ url: request.url, hasKey: request.headers.has("authorization") });
    if (!answering.some((address) => request.url.startsWith(address))) throw new Error("no route");
    return new Response(null, { status: 401 });
  };
  return { sent, fetch };
}

const rows: readonly [
  model: string | undefined,
  settings: ModelSettings,
  address: string | undefined,
  says: RegExp,
][] = [
  ["offline", {}, undefined, /^Built-in responder \(no model\) needs no network$/],
  [undefined, {}, undefined, /^no model is configured: the built-in responder answers$/],
  ["ollama/qwen3", { ollamaHost: "box:1" }, "http://box:1/", /^ollama\/qwen3 is configured, and /],
  ["openai/gpt", { openaiApiKey: "k" }, "https://api.openai.com/", /and .* responds$/],
  [
    "openai/gpt",
    { openaiApiKey: "k", openaiBaseUrl: "https://gate.example/v1" },
    "https://gate.example/",
    /and https:\/\/gate\.example responds$/,
  ],
  ["anthropic/claude", { anthropicApiKey: "k" }, "https://api.anthropic.com/", /responds$/],
  ["http://127.0.0.1:8080/v1#m", {}, "http://127.0.0.1:8080/", /responds$/],
];
test("a model is looked for at its address, without a key", async () => {
  for (const [name, models, address, says] of rows) {
    const addresses = address === undefined ? [] : [address];
    const { fetch, sent } = network(...addresses);
    const model = name === undefined ? undefined : parseModelName(name);
    const check = await checkModel({ model, models, prices: undefined }, fetch);
    assert.match(check.says, says);
    assert.equal(check.status, "ok");
    assert.deepEqual(
      sent,
      addresses.map((url) => ({ url, hasKey: false })),
    );
  }
});

test("a model that cannot be reached, or has no key, is a note and no damage", async () => {
  const { fetch } = network();
  const check = (name: string) =>
    checkModel({ model: parseModelName(name), models: {}, prices: undefined }, fetch);
  assert.deepEqual(await check("ollama/qwen3"), {
    id: "model",
    status: "note",
    says: "ollama/qwen3 is configured, but http://127.0.0.1:11434 cannot be reached",
  });
  const { status, says } = await check("openai/gpt");
  assert.equal(status, "note");
  assert.match(says, /OPENAI_API_KEY/);
});

const allowed: readonly [string | undefined, readonly NamedProvider[], string][] = [
  ["offline", [], "no provider is allowed: the built-in responder answers"],
  ["openai/gpt", [], "only these providers are allowed: openai"],
  ["openai/gpt", ["openai", "ollama"], "only these providers are allowed: openai, ollama"],
  [undefined, [], "only these providers are allowed: an Ollama on this machine, once it is chosen"],
];
test("doctor says which providers may be asked", () => {
  for (const [name, providers, says] of allowed) {
    const model = name === undefined ? undefined : parseModelName(name);
    assert.equal(checkProviders({ model, allowed: providers }).says, says);
  }
});
