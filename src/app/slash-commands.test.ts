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
import { slashCommand } from "./slash-commands.ts";

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

test("/model lists the models, and tells the current one", async (t) => {
  const { told, said, period } = await talk(t, "ollama/qwen3", ["/model"]);
  assert.equal(said, "");
  assert.equal(period, undefined, "nothing was begun");
  const end =
    "ollama/qwen3 answers now. /model PROVIDER/MODEL switches this chat to another model.";
  assert.equal(told, `ollama/qwen3\nollama/llama3\nopenai/gpt-5\n${end}\n`);
});

test("/model with a name switches from the next message on", async (t) => {
  const { told, said, period } = await talk(t, "ollama/qwen3", [
    "hello",
    "/model ollama/llama3",
    "hello",
    "/model openai/gpt-5",
    "/model openai/gpt-5",
    "hello",
    "/model offline",
    "hello",
    "/model ollama/qwen3",
    "hello",
  ]);
  const heard = said.split("\n").filter((line) => line.endsWith("hears you."));
  const names = ["qwen3", "llama3", "gpt-5", "qwen3"];
  assert.deepEqual(
    heard,
    names.map((name) => `${name} hears you.`),
  );
  assert.deepEqual(told.trim().split("\n"), [
    "ollama/llama3 answers from your next message on.",
    "openai/gpt-5 answers from your next message on.",
    "This chat already runs on openai/gpt-5.",
    "Built-in responder (no model) answers from your next message on.",
    "ollama/qwen3 answers from your next message on.",
  ]);
  assert.deepEqual([period?.provider, period?.model], ["ollama", "qwen3"]);
});

test("/model refuses what cannot be asked here, and the chat stays on its model", async (t) => {
  const { told, said } = await talk(t, "ollama/qwen3", [
    "/model 2",
    "/model anthropic/claude",
    "/model gemini/x",
    "/model http://evil.test/v1#m",
    "hello",
  ]);
  assert.equal(said, "qwen3 hears you.\n");
  assert.match(told, /^Name a model as PROVIDER\/MODEL/);
  assert.match(told, /\(anthropic is not allowed here: .*providers in throughline.config.json\)/);
  assert.match(told, /\(provider must be one of/);
  assert.match(told, /no address/);
});

test("/model without a model says how one is found, and /model ollama finds it", async (t) => {
  const { told, said } = await talk(t, undefined, [
    "/model",
    "/model ollama",
    "/model ollama/qwen3",
    "Hi",
  ]);
  assert.match(said, /qwen3 hears you\./);
  assert.match(
    told,
    /^openai\/gpt-5\n(?:Built-in.*\n)?\/model ollama looks for an Ollama on this machine\.\nBuilt-in responder \(no model\) answers now\./,
  );
  assert.match(told, /\nollama\/qwen3\n/);
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

test("a command is one word after a slash, and /model may have one more", () => {
  for (const [line, command] of [
    ["/model", "model"],
    ["/Model  ollama/qwen3 ", "model ollama/qwen3"],
    ["/model two words", undefined],
    ["/new things", undefined],
    ["/models/qwen3", undefined],
  ] as const) {
    assert.equal(slashCommand(line), command);
  }
});
