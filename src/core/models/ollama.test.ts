import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { isThroughlineError } from "../errors.ts";
import { firstOllamaModel, ollamaUrl } from "./ollama.ts";

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

/** Serves one body at /api/tags; `undefined` never answers. */
async function tags(body: string | undefined, status = 200) {
  const server = createServer((request, response) => {
    if (body === undefined) return;
    response.writeHead(request.url === "/api/tags" ? status : 404, { location: "/elsewhere" });
    response.end(body);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const embedder = { name: "nomic-embed-text:latest", details: { family: "nomic-bert" } };
const bodies: readonly [string, string | undefined, number, string | undefined][] = [
  [
    "two models",
    JSON.stringify({ models: [{ name: "qwen3:8b" }, { name: "llama3" }] }),
    200,
    "qwen3:8b",
  ],
  [
    "a model for embeddings first",
    JSON.stringify({ models: [embedder, { name: "qwen3" }] }),
    200,
    "qwen3",
  ],
  ["only a model for embeddings", JSON.stringify({ models: [embedder] }), 200, undefined],
  ["no models", JSON.stringify({ models: [] }), 200, undefined],
  [
    "a name that is not one",
    JSON.stringify({ models: [{ name: "a b" }, { name: 7 }, null] }),
    200,
    undefined,
  ],
  ["something else", JSON.stringify(["hi"]), 200, undefined],
  ["no JSON", "<html>", 200, undefined],
  ["an error", JSON.stringify({ models: [{ name: "qwen3" }] }), 500, undefined],
  ["a redirect", JSON.stringify({ models: [{ name: "qwen3" }] }), 302, undefined],
  ["nothing in time", undefined, 200, undefined],
];
for (const [what, body, status, model] of bodies) {
  test(`a server that answers with ${what} offers ${model}`, async () => {
    await using server = await tags(body, status);
    const timeoutMs = body === undefined ? 40 : 5_000;
    assert.equal(await firstOllamaModel(server.url, fetch, timeoutMs), model);
  });
}
