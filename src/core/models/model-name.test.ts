import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type ModelSpec, modelName, namedProviders, parseModelName } from "./model-name.ts";

const rows: readonly [string, ModelSpec][] = [
  ["offline", { provider: "offline", model: "offline" }],
  ["ollama/qwen3", { provider: "ollama", model: "qwen3" }],
  [
    "ollama/hf.co/someone/model:Q4_K_M",
    { provider: "ollama", model: "hf.co/someone/model:Q4_K_M" },
  ],
  ["bedrock/us.amazon.nova-pro-v1:0", { provider: "bedrock", model: "us.amazon.nova-pro-v1:0" }],
  [
    "http://127.0.0.1:8080/v1#qwen3",
    { provider: "openai-compatible", model: "qwen3", baseUrl: "http://127.0.0.1:8080/v1" },
  ],
  [
    "https://gateway.example/a/b/#org/model:x",
    { provider: "openai-compatible", model: "org/model:x", baseUrl: "https://gateway.example/a/b" },
  ],
  ["HTTP://[::1]:1#m", { provider: "openai-compatible", model: "m", baseUrl: "http://[::1]:1" }],
];
test("a model is named by its provider, by the URL of its server, or is offline", () => {
  for (const [name, spec] of rows) assert.deepEqual(parseModelName(name), spec);
});

const bad = [
  "",
  "qwen3",
  "ollama/",
  "Ollama/qwen3",
  "offline/x",
  "mistral/x",
  "ollama/a b",
  "openai/a\nb",
  `openai/${"x".repeat(201)}`,
  "http://127.0.0.1:8080/v1",
  "http://127.0.0.1/v1#",
  "http://127.0.0.1/v1?key=1#m",
  "http://#m",
  "http://a/v1#%E0%A4%A",
  "__proto__/x",
  "https://me:canary-secret@host.example/v1#m",
];
test("any other text names no model, and a password in it is not repeated", () => {
  for (const name of bad) {
    const refused = { code: "THROUGHLINE_INVALID", message: /^(?!.*secret)/ };
    assert.throws(() => parseModelName(name), refused, name);
  }
});

test("every name that is written is read back as the same model", () => {
  const model = fc
    .string({ minLength: 1, maxLength: 60, unit: "grapheme" })
    .filter((text) => /^[^\s\p{Cc}]{1,200}$/u.test(text));
  const plain = { noNullPrototype: true };
  const spec = fc.oneof(
    fc.record({ provider: fc.constantFrom(...namedProviders), model }, plain),
    fc.record(
      {
        provider: fc.constant("openai-compatible" as const),
        model,
        baseUrl: fc.constantFrom("http://127.0.0.1:8080/v1", "https://a.example"),
      },
      plain,
    ),
  );
  fc.assert(fc.property(spec, (one) => assert.deepEqual(parseModelName(modelName(one)), one)));
});
