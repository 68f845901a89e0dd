import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fakeIo } from "../../test/support/command-line.ts";
import { modelServer } from "../../test/support/model-server.ts";
import { silentLogger } from "../core/logger.ts";
import { parseModelName } from "../core/models/model-name.ts";
import { ResponderRegistry } from "../core/models/registry.ts";
import { openThroughline } from "../core/throughline.ts";
import { createServer } from "../server/server.ts";
import { Talk } from "./chat.ts";
import { routesOf } from "./routes.ts";

const chatId = "local:me";

/** Talks these lines with a model server that has Ollama's models and OpenAI's. */
async function talk(t: TestContext, named: string | undefined, lines: readonly string[]) {
  const server = await modelServer();
  t.after(() => server[Symbol.asyncDispose]());
  server.offered.ollama = [
    { name: "qwen3", size: 5_200_000_000 },
    { name: "llama3", capabilities: ["vision"] },
  ];
  server.offered.openai = [{ id: "gpt-5", created: 1 }];
  const standard = named === undefined ? undefined : parseModelName(named);
  const { settings } = server;
  const allowed = ["openai"] as const;
  const responders = await ResponderRegistry.open({ standard, settings, allowed });
  const throughline = await openThroughline({ storage: "memory", ...responders.standard });
  const turns = await throughline.turns({ model: responders, persona: "" });
  t.after(async () => {
    await turns.close(0);
    await throughline.close();
  });
  const io = fakeIo(`${lines.join("\n")}\n`);
  const options = {
    path: `/api/chats/${chatId}`,
    target: {},
    companionName: "",
    isEphemeral: false,
  };
  const routes = routesOf(createServer({ throughline, turns, version: "0" }));
  await new Talk(routes, io, { ...options, logger: silentLogger }).run();
  const period = await throughline.sessions.active(chatId);
  return { said: io.output.text, told: io.errors.text, period, throughline };
}

test("/model lists the models by number, with what is known, and marks the current one", async (t) => {
  const { told, said, period } = await talk(t, "ollama/qwen3", ["/model"]);
  assert.equal(said, "");
  assert.equal(period, undefined, "nothing was begun");
  assert.equal(
    told,
    [
      "* 1  ollama/qwen3  (5.2 GB)",
      "  2  ollama/llama3  (takes pictures)",
      "  3  openai/gpt-5",
      "/model NUMBER or /model PROVIDER/MODEL switches this chat to another model.\n",
    ].join("\n"),
  );
});

test("/model with a number, a name or both switches from the next message on", async (t) => {
  const { told, said, period } = await talk(t, "ollama/qwen3", [
    "hello",
    "/Model  2 ",
    "hello",
    "/model openai/gpt-5",
    "/model gpt-5",
    "hello",
    "/model qwen3",
    "hello",
  ]);
  assert.deepEqual(said.trim().split("\n"), [
    "qwen3 hears you.",
    "llama3 hears you.",
    "gpt-5 hears you.",
    "qwen3 hears you.",
  ]);
  assert.deepEqual(told.trim().split("\n"), [
    "ollama/llama3 answers from your next message on.",
    "openai/gpt-5 answers from your next message on.",
    "This chat already runs on openai/gpt-5.",
    "ollama/qwen3 answers from your next message on.",
  ]);
  assert.deepEqual([period?.provider, period?.model], ["ollama", "qwen3"]);
});

test("/model refuses what cannot be asked here, and the chat stays on its model", async (t) => {
  const { told, said } = await talk(t, "ollama/qwen3", [
    "/model 9",
    "/model anthropic/claude",
    "/model gemini/x",
    "/model nothing",
    "/model http://evil.test/v1#m",
    "hello",
  ]);
  assert.equal(said, "qwen3 hears you.\n");
  assert.match(told, /There is no model 9 in the list/);
  assert.match(told, /\(anthropic is not allowed here: .*providers in throughline.config.json\)/);
  assert.match(told, /\(provider must be one of/);
  assert.equal(told.match(/Name a model as PROVIDER\/MODEL/g)?.length, 2);
});

test("/model without a model says how one is found, and /model ollama finds it", async (t) => {
  const { told, said } = await talk(t, undefined, ["/model", "/model ollama", "/model 2", "Hi"]);
  assert.match(said, /qwen3 hears you\./);
  assert.match(told, /^\s+1 {2}openai\/gpt-5\n\* 2 {2}Built-in responder \(no model\)\n/);
  assert.match(told, /\/model ollama looks for an Ollama on this machine\./);
  assert.match(told, /\d {2}ollama\/qwen3 {2}\(5\.2 GB\)/);
});

test("/answer asks the model that was chosen", async (t) => {
  const { said, throughline } = await talk(t, "ollama/nothing-there", [
    "hello",
    "/model ollama/llama3",
    "/answer",
  ]);
  assert.match(said, /HTTP 404.*\nllama3 hears you\.\n$/s);
  const { messages } = await throughline.chats.messages(chatId);
  assert.equal(messages.length, 2);
});
