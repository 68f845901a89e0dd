import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { ThroughlineError } from "../errors.ts";
import { openThroughline } from "../throughline.ts";
import type { TurnAnswer } from "./turn.ts";

const chat = "telegram:42";
const standard = { provider: "ollama", model: "qwen3" };
const claude = { provider: "claude", model: "opus" };
const gpt = { provider: "openai", model: "gpt-5" };

/** A companion in memory; each model answers with its name. What is `configured` can be changed. */
async function companion() {
  const clock = new HeldClock();
  let ids = 0;
  const newId = () => `id-${++ids}`;
  const configured = new Set(["ollama/qwen3"]);
  const asked: string[] = [];
  const throughline = await openThroughline({ storage: "memory", clock, newId, ...standard });
  const turns = await throughline.turns({
    model: {
      standard,
      async get(provider, model) {
        const name = `${provider}/${model}`;
        if (!configured.has(name)) {
          const code = provider === "claude" ? "THROUGHLINE_INVALID" : "THROUGHLINE_CONFIGURATION";
          throw new ThroughlineError(`${name} is not set up`, { code });
        }
        asked.push(name);
        return scriptedResponder([[`I am ${name}.`]], { provider, model });
      },
    },
    maxQueued: 8,
  });
  const say = async (content: string) => (await turns.submit(chat, { content }).done) ?? undefined;
  return { ...throughline, turns, configured, asked, say };
}

const answerOf = ({ assistant, notices }: TurnAnswer) => [assistant?.content, ...notices];

for (const own of [claude, gpt]) {
  const name = `${own.provider}/${own.model}`;
  test(`a chat of ${name}, which is not configured, is answered by the standard model and says so once`, async () => {
    const c = await companion();
    await c.sessions.resolve(chat, own);
    const usage = { messages: 1, cost_usd: 0, tokens: 5, outcome: "answered" } as const;
    const generations = { generation: 1, bucket_generation: 1 };
    const before = { turn: "t0", ...own, ...usage, ...generations, session_id: "thread-1" };
    await c.sessions.update(chat, before);
    const notice = `${name} is not configured here: ollama/qwen3 answers until it is.`;
    assert.deepEqual(answerOf(await c.say("Hello")), ["I am ollama/qwen3.", notice]);
    assert.deepEqual(answerOf(await c.say("And now?")), ["I am ollama/qwen3."]);
    const period = await c.sessions.active(chat);
    assert.equal(
      period?.provider_sessions[own.provider]?.session_id,
      "thread-1",
      "its part is kept",
    );
    assert.equal(period?.generation, 1);
  });

  test(`a chat of ${name} goes back to it when it is configured again, and says so once`, async () => {
    const c = await companion();
    await c.sessions.resolve(chat, own);
    await c.say("Hello");
    c.configured.add(name);
    const back = `${name} is configured again, and answers.`;
    assert.deepEqual(answerOf(await c.say("And now?")), [`I am ${name}.`, back]);
    assert.deepEqual(answerOf(await c.say("Still?")), [`I am ${name}.`]);
  });
}

test("what the chat goes back to survives a reset, and ends when another model is chosen", async () => {
  const c = await companion();
  await c.sessions.resolve(chat, gpt);
  await c.say("Hello");
  await c.sessions.reset(chat);
  assert.deepEqual(answerOf(await c.say("New")), ["I am ollama/qwen3."], "it is known already");
  await c.turns.submit(chat, { content: "Here", ...standard }).done;
  c.configured.add("openai/gpt-5");
  assert.deepEqual(answerOf(await c.say("Who?")), ["I am ollama/qwen3."]);
});

test("a model that a call names is asked or refused: nothing takes its place", async () => {
  const c = await companion();
  const turn = c.turns.submit(chat, { content: "Hello", ...gpt });
  await assert.rejects(turn.done, { code: "THROUGHLINE_CONFIGURATION" });
  assert.deepEqual(c.asked, []);
});

for (const asked of [{}, { provider: "ollama", model: "" }]) {
  test(`a message that waited for a model that is gone is answered by what the chat runs on, asked with ${JSON.stringify(asked)}`, async () => {
    const c = await companion();
    const { logs } = c.chats;
    await c.say("Hello");
    await c.chats.change(chat, async (transaction) => {
      transaction.control("pending_input", { content: "Wait", ...gpt }, "pending:m2");
      transaction.set({ pending: ["m2"] });
    });
    assert.ok(await logs.find(chat, "pending:m2"));
    const answer = await (await c.turns.answer(chat, asked)).done;
    assert.equal(answer.assistant?.content, "I am ollama/qwen3.");
  });
}

test("the next turn's model is told with the fallback applied", async () => {
  const c = await companion();
  await c.sessions.resolve(chat, claude);
  assert.deepEqual(await c.turns.target(chat), standard);
});
