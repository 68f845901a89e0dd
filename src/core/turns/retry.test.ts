import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chat,
  down,
  type Script,
  scriptedCompanion,
} from "../../../test/support/scripted-companion.ts";
import type { ScriptedStep } from "../../../test/support/scripted-responder.ts";
import { renderChat } from "../chat/render-chat.ts";
import { isThroughlineError } from "../errors.ts";

const end: ScriptedStep = {
  type: "end",
  finish: "stop",
  usage: { inputTokens: 100, outputTokens: 20, costUsd: 0.01 },
};

async function companion(script: Script, window?: number) {
  const c = await scriptedCompanion(script, { window });
  const remembered = () => {
    const all = c.workingMemory.of(chat).all();
    return all.map(({ turn, utterance, response }) => `${turn} ${utterance}: ${response}`);
  };
  return { ...c, remembered };
}

async function shown(c: Awaited<ReturnType<typeof companion>>): Promise<string[]> {
  const { messages } = await c.chats.messages(chat);
  return messages.map(
    ({ role, content, replaced }) => `${role}: ${content}${replaced ? " (replaced)" : ""}`,
  );
}

const code = (wanted: string) => (error: unknown) =>
  isThroughlineError(error, wanted as "THROUGHLINE_CONFLICT");

test("a regenerated answer takes the place of the one before, which is kept and hidden", async () => {
  const c = await companion([
    ["first words", end],
    ["second words", end],
    ["goodbye", end],
  ]);
  await c.turns.submit(chat, { content: "Hello", id: "t1" }).done;
  const { assistant, period } = await (await c.turns.retry(chat)).done;
  assert.equal(assistant?.content, "second words");
  assert.equal(period.total_cost_usd, 0.02, "what was asked twice cost twice");
  assert.deepEqual(await shown(c), [
    "user: Hello",
    "assistant: first words (replaced)",
    "assistant: second words",
  ]);
  assert.deepEqual(
    c.model.requests[1]?.messages.map(({ role, content }) => `${role}: ${content}`),
    ["user: Hello"],
    "the model that regenerates does not see the old answer",
  );
  await c.turns.submit(chat, { content: "Bye" }).done;
  assert.deepEqual(
    c.model.requests[2]?.messages.map(({ role, content }) => `${role}: ${content}`),
    ["user: Hello", "assistant: second words", "user: Bye"],
  );
  assert.deepEqual(await c.chats.search("first"), []);
  const page = (await Array.fromAsync(await renderChat(c.chats, chat, "markdown", "UTC"))).join("");
  assert.ok(page.includes("second words") && !page.includes("first words"));
});

test("when no word comes the answer before stays the answer", async () => {
  const c = await companion([["first", end], [down]]);
  await c.turns.submit(chat, { content: "Hello" }).done;
  const { outcome } = await (await c.turns.retry(chat)).done;
  assert.equal(outcome, "failed");
  assert.deepEqual(await shown(c), ["user: Hello", "assistant: first"]);
  assert.equal((await c.chats.row(chat)).unanswered, false);
});

test("a retry that was cut off by a crash leaves the message answered as it was", async () => {
  const gate = Promise.withResolvers<void>();
  const c = await companion([
    ["first", end],
    [{ type: "wait", until: gate.promise }, "x", end],
  ]);
  await c.turns.submit(chat, { content: "Hello" }).done;
  const turn = await c.turns.retry(chat);
  for await (const { type } of turn.progress()) if (type === "accepted") break;
  assert.deepEqual(await shown(c), ["user: Hello", "assistant: first"], "as the disk has it now");
  assert.equal((await c.chats.row(chat)).unanswered, false);
  gate.resolve();
  await turn.done;
});

test("only the newest message can be regenerated, and not while an answer is made", async () => {
  const gate = Promise.withResolvers<void>();
  const c = await companion([
    ["1", end],
    ["2", end],
    [{ type: "wait", until: gate.promise }, "3", end],
  ]);
  await assert.rejects(c.turns.retry(chat), code("THROUGHLINE_NOT_FOUND"));
  await c.turns.submit(chat, { content: "one", id: "t1" }).done;
  await c.turns.submit(chat, { content: "two", id: "t2" }).done;
  await assert.rejects(c.turns.retry(chat, { messageId: "t1" }), code("THROUGHLINE_NOT_FOUND"));
  await assert.rejects(c.turns.retry(chat, { id: "x".repeat(37) }), code("THROUGHLINE_INVALID"));
  const turn = c.turns.submit(chat, { content: "three" });
  await assert.rejects(c.turns.retry(chat), code("THROUGHLINE_CONFLICT"));
  gate.resolve();
  await turn.done;
  await c.chats.clear(chat);
  await assert.rejects(c.turns.retry(chat), code("THROUGHLINE_NOT_FOUND"));
});

test("a message without an answer is answered, not regenerated", async () => {
  const c = await companion([[down], ["late", end]]);
  await c.turns.submit(chat, { content: "Hello" }).done;
  await assert.rejects((await c.turns.retry(chat)).done, code("THROUGHLINE_CONFLICT"));
  await (await c.turns.answer(chat)).done;
  assert.deepEqual(await shown(c), ["user: Hello", "assistant: late"]);
});

test("a model with a small window that regenerates is not given the answer before, nor is anybody after it", async () => {
  const c = await companion([["1st"], ["2nd"], ["again"], ["3rd"]], 4_096);
  await c.turns.submit(chat, { content: "one" }).done;
  await c.turns.submit(chat, { content: "two" }).done;
  await (await c.turns.retry(chat)).done;
  const asked = c.model.requests[2];
  assert.deepEqual(
    asked?.messages.map(({ content }) => content),
    ["two"],
  );
  assert.match(asked?.context ?? "", /Turn 1: You said 'one' .* I responded '1st'\./);
  assert.doesNotMatch(asked?.context ?? "", /2nd|two/);
  assert.deepEqual(c.remembered(), ["1 one: 1st", "3 two: again"]);
  await c.turns.submit(chat, { content: "three" }).done;
  assert.doesNotMatch(c.model.requests[3]?.context ?? "", /2nd/);
});

test("working memory keeps the answer before when no word comes of a new one", async () => {
  const c = await companion([["1st"], [down], ["again"]]);
  await c.turns.submit(chat, { content: "one" }).done;
  await (await c.turns.retry(chat)).done;
  assert.deepEqual(c.remembered(), ["1 one: 1st"]);
  await (await c.turns.retry(chat)).done;
  assert.deepEqual(c.remembered(), ["2 one: again"]);
});

test("working memory replaces the answer to the message whose answer is regenerated, and not the newest", async () => {
  const c = await companion([[down], ["2nd"], ["1st"], ["again"]]);
  const first = { id: "t1", content: "the same words" };
  await c.turns.submit(chat, first).done;
  await c.turns.submit(chat, { content: "the same words" }).done;
  await c.turns.submit(chat, first).done;
  assert.deepEqual(c.remembered(), ["2 the same words: 2nd", "3 the same words: 1st"]);
  await (await c.turns.retry(chat)).done;
  assert.deepEqual(c.remembered(), ["3 the same words: 1st", "4 the same words: again"]);
});
