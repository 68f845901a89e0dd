import assert from "node:assert/strict";
import { test } from "node:test";
import { chatStream } from "../../../test/support/openai-server.ts";
import { type NamedProvider, parseModelName } from "./model-name.ts";
import { ResponderRegistry } from "./registry.ts";
import { type Responder, ResponderError } from "./responder.ts";
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

async function say(responder: Responder): Promise<string> {
  const request = { instructions: "", messages: [{ role: "user" as const, content: "Hi" }] };
  let text = "";
  for await (const event of responder.respond(request, new AbortController().signal)) {
    if (event.type === "text") text += event.text;
  }
  return text;
}

test("with no model named nothing is asked, and new sessions run on the offline responder", async () => {
  const { fetch, urls } = ollama(["qwen3:8b"]);
  const registry = await ResponderRegistry.open({ settings: {}, fetch });
  assert.deepEqual(registry.standard, { provider: "offline", model: "offline" });
  const responder = await registry.get("offline", "offline");
  assert.match(await say(responder), /built-in responder/);
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
    await assert.rejects(registry.get(provider, "m"), {
      code: "THROUGHLINE_INVALID",
      message: new RegExp(`^${provider} is not allowed here: .*--model.* providers`),
    });
  }
  assert.equal((await registry.get("anthropic", "other")).model, "other");
  assert.deepEqual(urls, []);
});

test("with a model named, opening asks nothing of the network", async () => {
  const { fetch, urls } = ollama([]);
  const standard = parseModelName("ollama/qwen3");
  const registry = await ResponderRegistry.open({ standard, settings: {}, fetch });
  assert.deepEqual(registry.standard, { provider: "ollama", model: "qwen3" });
  assert.deepEqual(urls, []);
});

test("a model is made once, however often and however fast it is asked for", async () => {
  const registry = await openAllowed("ollama");
  const [first, second] = await Promise.all([
    registry.get("ollama", "a"),
    registry.get("ollama", "a"),
  ]);
  assert.equal(first, second);
  assert.equal(await registry.get("ollama", "a"), first);
  assert.notEqual(await registry.get("ollama", "b"), first);
});

test("the 100 models that were used last are kept, and one that is older is made again", async () => {
  const registry = await openAllowed("ollama");
  const first = await registry.get("ollama", "a");
  for (let n = 0; n < 99; n++) await registry.get("ollama", `other-${n}`);
  assert.equal(await registry.get("ollama", "a"), first);
  for (let n = 0; n < 99; n++) await registry.get("ollama", `more-${n}`);
  assert.equal(await registry.get("ollama", "a"), first, "used again in between");
  for (let n = 0; n < 100; n++) await registry.get("ollama", `last-${n}`);
  assert.notEqual(await registry.get("ollama", "a"), first);
});

for (const provider of ["", "Ollama", "gemini", "__proto__", "http://evil.test/v1"]) {
  test(`the provider ${JSON.stringify(provider)} is refused with the names of the known ones`, async () => {
    const registry = await ResponderRegistry.open({ settings: {}, fetch: noNetwork });
    await assert.rejects(registry.get(provider, "m"), {
      code: "THROUGHLINE_INVALID",
      message:
        "provider must be one of ollama, openai, anthropic, bedrock, openai-compatible, offline",
    });
  });
}

test("a model that is not set up is refused, and found once its key is there", async () => {
  const settings = { openaiApiKey: "" };
  const registry = await openAllowed("openai", settings);
  await assert.rejects(registry.get("openai", "gpt"), { code: "THROUGHLINE_CONFIGURATION" });
  settings.openaiApiKey = "sk-test";
  assert.equal((await registry.get("openai", "gpt")).model, "gpt");
});

test("a model without a name, or with a space in it, is refused", async () => {
  const registry = await openAllowed("ollama");
  for (const model of ["", "a b"]) {
    await assert.rejects(registry.get("ollama", model), { code: "THROUGHLINE_INVALID" });
  }
});

test("a server named by URL is asked for the model that was named with it, and for no other", async () => {
  const { fetch, urls } = ollama([]);
  const standard = parseModelName("http://127.0.0.1:8080/v1#qwen3");
  const registry = await ResponderRegistry.open({ standard, settings: {}, fetch });
  await assert.rejects(registry.get("openai-compatible", "a/b#c"), {
    code: "THROUGHLINE_CONFIGURATION",
    message: /openai-compatible model a\/b#c/,
  });
  assert.equal(await say(await registry.get("openai-compatible", "qwen3")), "Hello.");
  const at = "http://127.0.0.1:8080/v1";
  assert.deepEqual(urls, [`${at}/models`, `${at}/chat/completions`]);
});

test("a session that ran on a model named by URL is told to name it again when none is", async () => {
  const registry = await ResponderRegistry.open({ settings: {}, fetch: noNetwork });
  await assert.rejects(registry.get("openai-compatible", "m"), {
    code: "THROUGHLINE_CONFIGURATION",
    message: /--model http/,
  });
});

test("the offline responder answers under any model's name", async () => {
  const registry = await ResponderRegistry.open({ settings: {}, fetch: noNetwork });
  assert.equal((await registry.get("offline", "qwen3")).model, "offline");
});

test("a standard model that is not set up is refused when the registry is opened", async () => {
  const standard = parseModelName("anthropic/claude");
  await assert.rejects(ResponderRegistry.open({ standard, settings: {} }), {
    code: "THROUGHLINE_CONFIGURATION",
    message: /ANTHROPIC_API_KEY/,
  });
});

test("a model that cannot be reached fails at the turn, not before", async () => {
  const standard = parseModelName("ollama/qwen3");
  const registry = await ResponderRegistry.open({
    standard,
    settings: {},
    fetch: noNetwork,
    maxRetries: 0,
  });
  const responder = await registry.get("ollama", "qwen3");
  await assert.rejects(say(responder), (error) => error instanceof ResponderError);
});
