// The model's own way to remember a reaction: its tool call makes a package, and its answer goes on.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { LLMock } from "@copilotkit/aimock";
import { openCompanion } from "../src/app/open-companion.ts";
import { readEnvironment } from "../src/cli/env.ts";
import { resolveSettings } from "../src/cli/settings.ts";
import { silentLogger } from "../src/core/logger.ts";
import { parseModelName } from "../src/core/models/model-name.ts";
import { createResponder } from "../src/core/models/registry.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { systemTimers } from "../src/core/timers.ts";
import type { Turn } from "../src/core/turns/turn.ts";
import { consentWording } from "../src/moments/record/consent.ts";
import { offerSkills } from "../src/moments/start-moments.ts";
import { reactionsPrompt } from "../src/moments/turns/skills.ts";
import { createServer } from "../src/server/server.ts";
import { started } from "./support/moments-home.ts";
import { jsonOf } from "./support/server-fixture.ts";

// It speaks each provider's own protocol on one port of loopback.
const mock = new LLMock({ port: 0, logLevel: "silent" });
await mock.start();
after(() => mock.stop());

const settings = () => ({
  ...{ openaiApiKey: "canary-key", openaiBaseUrl: `${mock.url}/v1` },
  ...{ anthropicApiKey: "canary-key", anthropicBaseUrl: mock.url },
  ollamaHost: mock.url,
});

async function home(t: TestContext, model: string) {
  const path = mkdtempSync(join(tmpdir(), "throughline-skills-"));
  const responder = await createResponder(parseModelName(model), settings(), { maxRetries: 0 });
  const standard = { provider: responder.provider, model: responder.model };
  const throughline = await openThroughline({ home: path, ...standard });
  const moments = await started(throughline, { consent: undefined, persona: "You are kind." });
  const { chats } = throughline;
  const turns = await throughline.turns({
    model: responder,
    persona: "You are kind.",
    maxQueued: 4,
    tools: offerSkills(moments.recorder, systemTimers),
  });
  t.after(async () => {
    mock.clearFixtures();
    await turns.close(0);
    await throughline.close();
    rmSync(path, { recursive: true, force: true });
  });
  const say = (content: string) => turns.submit("local:me", { content }).done;
  const packages = () => readdirSync(join(path, "feedback")).filter((name) => !name.endsWith("n"));
  return { path, say, chats, moments, packages };
}

const call = {
  // Some proxies put what a model has to be sent back into the id.
  id: `call_1__thought__${"x".repeat(4_000)}`,
  name: "remember_positively",
  arguments: '{"what":"told a joke about a cat","trigger":"laughter"}',
};
const joke = "Why did the cat sit on the computer? To watch the mouse.";

const models = ["openai/gpt-5", "anthropic/claude-sonnet-4-5", "ollama/qwen3"];
for (const model of models) {
  test(`a tool call of ${model} makes a package of the turn before, and the answer goes on after it`, async (t) => {
    mock.onMessage(/joke/, { content: joke });
    mock.on({ userMessage: /haha/, hasToolResult: false }, { toolCalls: [call] });
    mock.on({ userMessage: /haha/, hasToolResult: true }, { content: "Glad you liked it." });
    const at = await home(t, model);
    await at.say("Tell me a joke");
    const { assistant, outcome } = await at.say("haha, good one");
    assert.deepEqual([outcome, assistant?.content], ["answered", "Glad you liked it."]);

    const [name = "", ...others] = at.packages();
    assert.match(name, /_positive_fb_[0-9a-f]{12}$/);
    assert.deepEqual(others, []);
    const { differences, state } = await at.moments.packages.verify(name);
    assert.deepEqual([state, differences], ["whole", []]);
    const { manifest, messages } = await at.moments.packages.read(name);
    assert.deepEqual(
      [manifest.what, manifest.trigger, manifest.source, manifest.annotator.kind],
      ["told a joke about a cat", "laughter", "skill", "human"],
    );
    assert.equal(messages[manifest.target?.index ?? -1]?.text, joke);
    assert.equal(messages[manifest.trigger_turn?.index ?? -1]?.text, "haha, good one");

    const { messages: log } = await at.chats.messages("local:me");
    const said = log.map((m) => [m.role, m.tool_calls?.[0]?.function.name ?? m.content]);
    assert.deepEqual(said.slice(2), [
      ["user", "haha, good one"],
      ["assistant", "remember_positively"],
      ["tool", "Remembered."],
      ["assistant", "Glad you liked it."],
    ]);
    const [{ body }] = mock.getRequests().slice(-1) as unknown as [{ body: object }];
    assert.ok(JSON.stringify(body).includes(reactionsPrompt), "the seed's words are in the prompt");
    // What it was told is legal history for the next turn.
    mock.onMessage(/next/, { content: "Here I am." });
    assert.equal((await at.say("what next?")).assistant?.content, "Here I am.");
  });
}

test("a companion of the command line offers the skills, and its packages say who was there, how it felt, and what it was told", async (t) => {
  mock.onMessage(/joke/, { content: joke });
  mock.on({ userMessage: /haha/, hasToolResult: false }, { toolCalls: [call] });
  mock.on({ userMessage: /haha/, hasToolResult: true }, { content: "Glad you liked it." });
  const path = mkdtempSync(join(tmpdir(), "throughline-skills-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  const variables = {
    ...{ THROUGHLINE_HOME: path, THROUGHLINE_MODEL: "openai/gpt-5", OPENAI_API_KEY: "canary-key" },
    ...{ OPENAI_BASE_URL: `${mock.url}/v1`, FEEDBACK_STORAGE: "cloud" },
  };
  const settings = resolveSettings({}, readEnvironment(variables, path));
  const { throughline, turns, started, close } = await openCompanion(settings, silentLogger);
  const features = await started.routes();
  const server = createServer({ throughline, turns, version: "0.0.0", features });
  const headers = { host: "127.0.0.1:7423", "content-type": "application/json" };
  const ask = async (path: string, body?: object) => {
    const method = body === undefined ? "GET" : "POST";
    const init = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
    return jsonOf(await server.fetch(new Request(`http://127.0.0.1:7423${path}`, init)), 200);
  };
  try {
    await ask("/api/feedback/consent", { messages: true, frames: true, wording: consentWording });
    await ask("/api/person", { name: "Ann" });
    await turns.submit("local:me", { content: "Tell me a joke" }).done;
    writeFileSync(join(path, "persona.md"), "You are Nova."); // the next turn has it, and so has its package
    await turns.submit("local:me", { content: "haha, good one" }).done;
    const [{ name }] = (await ask("/api/feedback")).packages;
    const manifest = readFileSync(join(path, "feedback", name, "feedback.json"), "utf8");
    const { people, latched, session_id } = JSON.parse(manifest);
    const session = await ask("/api/session");
    assert.deepEqual([people, session_id], [["Ann"], session.session_id]);
    assert.deepEqual(Object.keys(latched ?? {}).sort(), [
      ...["model", "mood", "persona", "provider", "system_prompt", "tools"],
    ]);
    assert.equal(latched?.["persona"], "You are Nova.");
    assert.equal(latched?.["system_prompt"], `You are Nova.\n\n${reactionsPrompt}`);
    assert.match(JSON.stringify(latched?.["tools"]), /remember_positively.*remember_negatively/);
    assert.equal((await ask("/api/feedback/stats")).storage_reason, "unknown_mode");
  } finally {
    mock.clearFixtures();
    await server.close();
    await close(0);
  }
});

test("arguments that are wrong are told to the model, and nothing is recorded", async (t) => {
  const wrong = { name: "remember_negatively", arguments: '{"what":""}' };
  mock.on({ userMessage: /stop/, hasToolResult: false }, { toolCalls: [wrong] });
  mock.on({ userMessage: /stop/, hasToolResult: true }, { content: "Sorry." });
  const at = await home(t, "openai/gpt-5");
  assert.equal((await at.say("stop it")).assistant?.content, "Sorry.");
  const { messages } = await at.chats.messages("local:me");
  assert.match(messages.find(({ role }) => role === "tool")?.content ?? "", /^Not recorded: what/);
  assert.deepEqual(at.packages(), []);
});

test("calls of one turn to which the service gave the same id are each recorded, and the same call once", async (t) => {
  mock.onMessage(/joke/, { content: joke });
  const at = await home(t, "openai/gpt-5");
  await at.say("Tell me a joke");
  const longest = { id: "t".repeat(200), retryId: "r".repeat(36) };
  const { tools } = offerSkills(at.moments.recorder, systemTimers)(
    { ...longest, chatId: "local:me", synthetic: undefined } as unknown as Turn,
    { provider: "openai", model: "gpt-5" },
  );
  const run = (index: number, what: string) => {
    const { name, run: told } = tools[index]!;
    const args = { what };
    const written = { name, arguments: JSON.stringify(args) };
    return told(args, { id: "call_0", type: "function", function: written }, "key");
  };
  assert.ok(
    tools.every(({ repeatable }) => repeatable),
    "so that a call that was cut off is run again",
  );
  for (const [index, what] of [
    [0, "the joke"],
    [1, "the joke"],
    [1, "the voice"],
    [1, "the voice"],
  ] as const) {
    assert.equal(await run(index, what), "Remembered.");
  }
  const sentiments = at.packages().map((name) => name.split("_")[1]);
  assert.deepEqual(sentiments.sort(), ["negative", "negative", "positive"]);
});
