import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { chat, scriptedCompanion } from "../../../test/support/scripted-companion.ts";
import { type ScriptedStep, scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { ThroughlineError } from "../errors.ts";
import { ResponderError } from "../models/responder.ts";
import { openThroughline } from "../throughline.ts";
import type { TurnAnswer } from "./turn.ts";

const usage = { inputTokens: 100, outputTokens: 20, costUsd: 0.01 };
const end = (extra = {}): ScriptedStep => ({ type: "end", finish: "stop", usage, ...extra });

async function transcript(c: Awaited<ReturnType<typeof scriptedCompanion>>): Promise<string[]> {
  const { messages } = await c.chats.messages(chat);
  return messages.map(
    ({ role, content, partial }) => `${role}: ${content}${partial ? " (partial)" : ""}`,
  );
}

test("a turn commits both messages, the usage and the period, and streams the answer", async () => {
  const c = await scriptedCompanion([["Hi ", "there", end()]]);
  const turn = c.turns.submit(chat, { content: "Hello" });
  const types = await Array.fromAsync(turn.progress(), ({ type }) => type);
  assert.deepEqual(types, ["accepted", "text", "text", "result"]);
  const { assistant, period, outcome } = await turn.done;
  assert.deepEqual([assistant?.content, outcome], ["Hi there", "answered"]);
  const { message_count, total_cost_usd, total_tokens } = period;
  assert.deepEqual([message_count, total_cost_usd, total_tokens], [1, 0.01, 120]);
  assert.deepEqual(await transcript(c), ["user: Hello", "assistant: Hi there"]);
  assert.equal((await c.chats.row(chat)).unanswered, false);
});

test("a message that waits is stored before its turn starts, with the time it was said", async () => {
  const gate = Promise.withResolvers<void>();
  const c = await scriptedCompanion([[{ type: "wait", until: gate.promise }, "one"], ["two"]]);
  const first = c.turns.submit(chat, { content: "1" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  const saidAt = new Date(c.clock.now()).toISOString();
  const second = c.turns.submit(chat, { id: "m2", content: "2" });
  // The storage is asked in the order of calls: once this answer is there, the message is too.
  while ((await c.chats.existing(chat)).head.pending === undefined);
  const kept = await c.chats.logs.find(chat, "pending:m2");
  assert.equal(kept?.["content"], "2");
  c.clock.pass(60_000);
  gate.resolve();
  assert.equal((await second.done).user.timestamp, saidAt);
  assert.equal((await c.chats.existing(chat)).head.pending, undefined);
});

for (const [kind, asked] of [
  ["session_refused", 5],
  ["too_long", 6], // and once with half of it
] as const) {
  test(`a provider's session id is kept and resumed; after ${kind} it is asked afresh once, announced`, async () => {
    const unknown = { inputTokens: undefined, outputTokens: undefined, costUsd: undefined };
    const refused = new ResponderError("unknown id", { kind, usage: unknown });
    const c = await scriptedCompanion([
      ["a", { type: "provider-session", id: "s1" }, end()],
      [{ type: "fail", error: refused }],
      ["b", { type: "provider-session", id: "s2" }, end()],
      [{ type: "fail", error: refused }],
      [{ type: "fail", error: refused }],
      [{ type: "fail", error: refused }],
    ]);
    const first = await c.say("1");
    assert.equal(first.period.session_id, "s1");
    const second = await c.say("2");
    assert.equal(c.model.requests[1]?.providerSessionId, "s1");
    assert.equal(c.model.requests[2]?.providerSessionId, undefined);
    assert.equal(second.notices.length, 1);
    assert.equal(second.period.session_id, "s2");
    assert.deepEqual(second.usage, usage, "the refusal used nothing");
    const third = await c.say("3");
    assert.equal(third.outcome, "failed");
    assert.equal(c.model.requests.length, asked);
  });
}

test("a reset while a turn runs stays reset: the late answer changes nothing in the new period", async () => {
  const gate = Promise.withResolvers<void>();
  const c = await scriptedCompanion([
    [{ type: "wait", until: gate.promise }, "late", { type: "provider-session", id: "s1" }, end()],
    ["fresh", end()],
  ]);
  const turn = c.turns.submit(chat, { content: "old" });
  for await (const { type } of turn.progress()) if (type === "accepted") break;
  await c.sessions.reset(chat);
  gate.resolve();
  await turn.done;
  const begun = { generation: 2, session_id: "", message_count: 0 };
  assert.partialDeepStrictEqual(await c.sessions.active(chat), begun);
  const late = await c.chats.find(chat, `${turn.id}:answer`);
  assert.deepEqual([late?.hidden, late?.["generation"]], [true, 1]);
  await c.say("new");
  assert.deepEqual(c.model.requests[1]?.messages, [{ role: "user", content: "new" }]);
});

test("a person's choice of provider while a turn runs stays; usage goes to the one that ran", async () => {
  const gate = Promise.withResolvers<void>();
  const c = await scriptedCompanion([[{ type: "wait", until: gate.promise }, "x", end()]]);
  const turn = c.turns.submit(chat, { content: "hi" });
  for await (const { type } of turn.progress()) if (type === "accepted") break;
  await c.sessions.syncTarget(chat, { provider: "codex", model: "gpt" });
  gate.resolve();
  await turn.done;
  const { provider, provider_sessions, total_tokens } = (await c.sessions.active(chat)) ?? {};
  assert.deepEqual([provider, total_tokens], ["codex", 0]);
  assert.equal(provider_sessions?.["scripted"]?.total_tokens, 120);
});

test("the prompt is the persona, then whole turns; what changes comes last, as fenced data", async () => {
  const c = await scriptedCompanion([["a"], ["b"]]);
  await c.say("1");
  c.clock.pass(2 * 60 * 60 * 1000 + 1);
  await c.say("2");
  const [first, second] = c.model.requests;
  assert.deepEqual([first?.context, second?.instructions], [undefined, "You are kind."]);
  assert.deepEqual(c.asked(), ["user: 1", "assistant: a", "user: 2"]);
  const away = /not instructions\nThe person was away for 2 hours\.\ncontext id-/;
  assert.match(second?.context ?? "", away);
});

for (const [timeAwayMinutes, goneMs, isTold] of [
  [30, 30 * 60_000, true],
  [30, 30 * 60_000 - 1, false],
  [5, 5 * 60_000, true],
  [0, 365 * 24 * 60 * 60_000, false],
] as const) {
  test(`a model ${isTold ? "is" : "is not"} told of ${goneMs} ms away where it is told from ${timeAwayMinutes} minutes on`, async () => {
    const c = await scriptedCompanion([["a"], ["b"]], { freshness: { timeAwayMinutes } });
    await c.say("1");
    c.clock.pass(goneMs);
    await c.say("2");
    assert.equal(c.model.requests[1]?.context?.includes("was away") ?? false, isTold);
  });
}

for (const [inputTokens, messages] of [
  [2_100, 3], // about what is estimated
  [8_000, 1],
] as const) {
  test(`a provider that counted ${inputTokens} tokens for 6,000 characters gets ${messages} messages next`, async () => {
    const counted = end({ usage: { ...usage, inputTokens } });
    const c = await scriptedCompanion([["a", counted], ["b"]], { window: 11_000 });
    await c.turns.submit(chat, { content: "word ".repeat(1_200) }).done;
    await c.turns.submit(chat, { content: "word ".repeat(1_200) }).done;
    assert.equal(c.model.requests[1]?.messages.length, messages);
  });
}

test("words that a person has read are not asked for again with less", async () => {
  const error = new ResponderError("too long", { kind: "too_long", window: 9_000 });
  const c = await scriptedCompanion([["One", end()], ["Two", { type: "fail", error }], ["Three"]]);
  await c.say("1");
  const second = await c.say("2");
  assert.deepEqual([second.assistant?.content, c.model.requests.length], ["Two", 2]);
});

test("a provider without a model is refused when nothing says which", async () => {
  const c = await scriptedCompanion([]);
  const turn = c.turns.submit(chat, { content: "x", provider: "other" });
  await assert.rejects(turn.done, { code: "THROUGHLINE_INVALID" });
});

test("working memory gets every turn once, however it ended", async () => {
  const c = await scriptedCompanion([["a"], [{ type: "fail", error: new Error("x") }]]);
  await c.say("Hello");
  await c.say("What time is it?");
  const all = c.workingMemory.of(chat).all();
  const kept = all.map(({ intent, outcome }) => `${intent} ${outcome}`);
  assert.deepEqual(kept, ["GREETING answered", "QUESTION failed"]);
  await c.sessions.reset(chat);
  assert.equal(c.workingMemory.peek(chat), undefined);
});

test("closing lets a running turn end, and keeps what waits unanswered", async () => {
  const gate = Promise.withResolvers<void>();
  const c = await scriptedCompanion([[{ type: "wait", until: gate.promise }, "done"]]);
  const first = c.turns.submit(chat, { content: "1" });
  const second = c.turns.submit(chat, { content: "2" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  const closing = c.turns.close(60_000);
  assert.throws(() => c.turns.submit(chat, { content: "3" }), { code: "THROUGHLINE_CLOSED" });
  gate.resolve();
  await closing;
  assert.equal((await first.done).outcome, "answered");
  await assert.rejects(second.done, { code: "THROUGHLINE_CLOSED" });
  assert.equal((await c.chats.row(chat)).unanswered, true);
});

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
    const provider_sessions = { [own.provider]: { session_id: "thread-1" } };
    const kept = { generation: 1, provider_sessions };
    assert.partialDeepStrictEqual(await c.sessions.active(chat), kept);
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

test("the next turn's model is told with the fallback applied", async () => {
  const c = await companion();
  await c.sessions.resolve(chat, claude);
  assert.deepEqual(await c.turns.target(chat), standard);
});
