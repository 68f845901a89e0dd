import assert from "node:assert/strict";
import { test } from "node:test";
import { modelServer } from "../../test/support/model-server.ts";
import { companion } from "../../test/support/server-fixture.ts";
import { parseModelName } from "../core/models/model-name.ts";
import { ResponderRegistry } from "../core/models/registry.ts";
import { openThroughline } from "../core/throughline.ts";
import { modelList } from "./answer-schemas.ts";

test("GET /api/models lists what can be chosen, also while a provider is down", async (t) => {
  await using server = await modelServer();
  server.offered.ollama = [{ name: "qwen3", size: 5_200_000_000, capabilities: ["vision"] }];
  server.offered.instead = (path, response) => {
    if (!path.startsWith("/openai")) return false;
    response.writeHead(401).end("canary-openai is wrong");
    return true;
  };
  const responders = await ResponderRegistry.open({
    standard: parseModelName("ollama/qwen3"),
    allowed: ["openai"],
    settings: server.settings,
  });
  const throughline = await openThroughline({ storage: "memory", ...responders.standard });
  const turns = await throughline.turns({ model: responders });
  t.after(() => throughline.close());
  const { get, ask } = await companion([], { throughline, turns });
  const list = await get("/api/models");
  assert.deepEqual(list, {
    standard: { provider: "ollama", model: "qwen3" },
    providers: [
      {
        provider: "ollama",
        models: [{ model: "qwen3", size_bytes: 5_200_000_000, takes_pictures: true }],
      },
      {
        provider: "openai",
        models: [],
        error: "OpenAI refused to list its models (HTTP 401): check its key",
      },
    ],
  });
  assert.deepEqual(modelList.parse(list), list, "it is described");
  const asked = server.seen.length;
  await get("/api/models");
  assert.equal(server.seen.length, asked, "the lists are kept");
  delete server.offered.instead;
  server.offered.openai = [{ id: "gpt-5", created: 1 }];
  const again = await get("/api/models?again=true");
  assert.deepEqual(again.providers[1], { provider: "openai", models: [{ model: "gpt-5" }] });
  assert.equal((await ask("/api/models?again=yes")).status, 400);
});

test("turns with one model list that one", async () => {
  const { get, model } = await companion();
  const { provider, model: name } = model;
  assert.deepEqual(await get("/api/models"), {
    standard: { provider, model: name },
    providers: [{ provider, models: [{ model: name }] }],
  });
});
