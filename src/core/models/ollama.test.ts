import assert from "node:assert/strict";
import { test } from "node:test";
import { isThroughlineError } from "../errors.ts";
import { ollamaModels, ollamaUrl } from "./providers.ts";

const rows: readonly [string | undefined, string][] = [
  [undefined, "http://127.0.0.1:11434"],
  ["", "http://127.0.0.1:11434"],
  [" 127.0.0.1 ", "http://127.0.0.1:11434"],
  ["127.0.0.1:1234", "http://127.0.0.1:1234"],
  [":1234", "http://127.0.0.1:1234"],
  ["0.0.0.0", "http://127.0.0.1:11434"],
  ["0.0.0.0:1234", "http://127.0.0.1:1234"],
  ["box.lan", "http://box.lan:11434"],
  ["box.lan:80", "http://box.lan"],
  ["box.lan/ollama/", "http://box.lan:11434/ollama"],
  ["http://box.lan", "http://box.lan"],
  ["http://box.lan:11434/", "http://box.lan:11434"],
  ["https://box.lan/path", "https://box.lan/path"],
  ["[::1]", "http://[::1]:11434"],
  ["[::1]:1234", "http://[::1]:1234"],
  ["::1", "http://[::1]:11434"],
  ["::", "http://[::1]:11434"],
];
for (const [host, url] of rows) {
  test(`OLLAMA_HOST=${host} is reached at ${url}`, () => {
    assert.equal(ollamaUrl(host), url);
  });
}

for (const host of [
  "a b",
  "http://",
  "user:secret@box",
  "http://u:secret@box",
  "box:port",
  "http://box?x",
]) {
  test(`OLLAMA_HOST=${host} is a configuration error that does not repeat it`, () => {
    assert.throws(
      () => ollamaUrl(host),
      (error: Error) =>
        isThroughlineError(error, "THROUGHLINE_CONFIGURATION") && !error.message.includes("secret"),
    );
  });
}

const embedder = { name: "nomic-embed-text:latest", details: { family: "nomic-bert" } };
for (const [what, body, offered] of [
  ["two models", { models: [{ name: "qwen3:8b" }, { name: "llama3" }] }, ["qwen3:8b", "llama3"]],
  ["a model for embeddings", { models: [embedder, { name: "qwen3" }] }, ["qwen3"]],
  ["no models", { models: [] }, []],
  ["a name that is not one", { models: [{ name: "a b" }, { name: 7 }, null] }, []],
  ["something else", { models: "qwen3" }, undefined],
] as const) {
  test(`a server that lists ${what} offers ${offered?.join(" and ")}`, () => {
    assert.deepEqual(
      ollamaModels(body)?.map(({ model }) => model),
      offered,
    );
  });
}
