import assert from "node:assert/strict";
import { test } from "node:test";
import { ollamaModels, ollamaUrl } from "./providers.ts";

const rows: readonly [string | undefined, string][] = [
  [undefined, "http://127.0.0.1:11434"],
  [" 127.0.0.1 ", "http://127.0.0.1:11434"],
  ["127.0.0.1:1234", "http://127.0.0.1:1234"],
  [":1234", "http://127.0.0.1:1234"],
  ["0.0.0.0", "http://127.0.0.1:11434"],
  ["box.lan", "http://box.lan:11434"],
  ["box.lan:80", "http://box.lan"],
  ["box.lan/ollama/", "http://box.lan:11434/ollama"],
  ["http://box.lan", "http://box.lan"],
  ["https://box.lan/path", "https://box.lan/path"],
  ["[::1]", "http://[::1]:11434"],
  ["[::1]:1234", "http://[::1]:1234"],
  ["::1", "http://[::1]:11434"],
  ["::", "http://[::1]:11434"],
];
test("OLLAMA_HOST is read as Ollama reads it", () => {
  for (const [host, url] of rows) assert.equal(ollamaUrl(host), url, host);
});

test("an OLLAMA_HOST that is no address is a configuration error that does not repeat it", () => {
  for (const host of ["a b", "http://", "user:secret@box", "http://u:secret@box", "http://box?x"]) {
    assert.throws(() => ollamaUrl(host), {
      code: "THROUGHLINE_CONFIGURATION",
      message: /^(?!.*secret)/,
    });
  }
});

const embedder = { name: "nomic-embed-text:latest", details: { family: "nomic-bert" } };
test("Ollama's list offers its models in their order, without those for embeddings", () => {
  for (const [body, offered] of [
    [{ models: [{ name: "qwen3:8b" }, embedder, { name: "llama3" }] }, ["qwen3:8b", "llama3"]],
    [{ models: [{ name: "a b" }, { name: 7 }, null] }, []],
    [{ models: "qwen3" }, undefined],
  ] as const) {
    const models = ollamaModels(body)?.map(({ model }) => model);
    assert.deepEqual(models, offered);
  }
});
