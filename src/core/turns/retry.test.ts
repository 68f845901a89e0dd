import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chat,
  down,
  type Script,
  scriptedCompanion,
} from "../../../test/support/scripted-companion.ts";
import type { ScriptedStep } from "../../../test/support/scripted-responder.ts";

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

test("a regenerated answer takes the place of the one before, which is kept and hidden", async () => {
  const c = await companion([
    ["first words", end],
    ["second words", end],
    ["goodbye", end],
  ]);
  await c.say("Hello", "t1");
  const { assistant, period } = await (await c.turns.retry(chat)).done;
  assert.equal(assistant?.content, "second words");
  assert.equal(period.total_cost_usd, 0.02, "what was asked twice cost twice");
  assert.deepEqual(await shown(c), [
    "user: Hello",
    "assistant: first words (replaced)",
    "assistant: second words",
  ]);
  assert.deepEqual(c.asked(1), ["user: Hello"], "the model does not see the old answer");
  await c.say("Bye");
  assert.deepEqual(c.asked(2), ["user: Hello", "assistant: second words", "user: Bye"]);
});

test("a turn that regenerates an answer says who said the message, and what is beside it", async () => {
  const c = await companion([["1"], ["2"]]);
  const said = { name: "Ann", synthetic: "pat_hint", extra: { user: 7 } };
  const told: unknown[] = [];
  c.turns.onTurn(({ name, synthetic, extra }) => told.push({ name, synthetic, extra }));
  await c.turns.submit(chat, { content: "Hello", ...said }).done;
  await (await c.turns.retry(chat)).done;
  assert.deepEqual(told, [said, said]);
});

test("only the newest message can be regenerated, and not while an answer is made, which replaces nothing until it is stored", async () => {
  const gate = Promise.withResolvers<void>();
  const c = await companion([["1"], ["2"], [{ type: "wait", until: gate.promise }, "3"]]);
  const refused = async (code: string, options = {}) =>
    await assert.rejects(c.turns.retry(chat, options), { code: `THROUGHLINE_${code}` });
  await refused("NOT_FOUND");
  await c.say("one", "t1");
  await c.say("two");
  await refused("NOT_FOUND", { messageId: "t1" });
  await refused("INVALID", { id: "x".repeat(37) });
  const turn = await c.turns.retry(chat);
  for await (const { type } of turn.progress()) if (type === "accepted") break;
  await refused("CONFLICT");
  const before = ["user: one", "assistant: 1", "user: two", "assistant: 2"];
  assert.deepEqual(await shown(c), before, "as the disk has it now");
  assert.equal((await c.chats.row(chat)).unanswered, false);
  gate.resolve();
  assert.equal((await turn.done).assistant?.content, "3");
  await c.chats.clear(chat);
  await refused("NOT_FOUND");
});

test("a message without an answer is answered, not regenerated", async () => {
  const c = await companion([[down], ["late", end]]);
  await c.say("Hello");
  await assert.rejects((await c.turns.retry(chat)).done, { code: "THROUGHLINE_CONFLICT" });
  await (await c.turns.answer(chat)).done;
  assert.deepEqual(await shown(c), ["user: Hello", "assistant: late"]);
});

test("a model with a small window that regenerates is not given the answer before, nor is anybody after it", async () => {
  const c = await companion([["1st"], ["2nd"], ["again"], ["3rd"]], 4_096);
  await c.say("one");
  await c.say("two");
  await (await c.turns.retry(chat)).done;
  const asked = c.model.requests[2];
  assert.deepEqual(c.asked(2), ["user: two"]);
  assert.match(asked?.context ?? "", /Turn 1: You said 'one' \(.* UNKNOWN\). I responded '1st'\./);
  assert.doesNotMatch(asked?.context ?? "", /2nd|two/);
  assert.deepEqual(c.remembered(), ["1 one: 1st", "3 two: again"]);
  await c.say("three");
  assert.doesNotMatch(c.model.requests[3]?.context ?? "", /2nd/);
});

test("when no word comes the answer before stays the answer, in working memory too", async () => {
  const c = await companion([["1st"], [down], ["again"]]);
  await c.say("one");
  assert.equal((await (await c.turns.retry(chat)).done).outcome, "failed");
  assert.deepEqual(await shown(c), ["user: one", "assistant: 1st"]);
  assert.equal((await c.chats.row(chat)).unanswered, false);
  assert.deepEqual(c.remembered(), ["1 one: 1st"]);
  await (await c.turns.retry(chat)).done;
  assert.deepEqual(c.remembered(), ["2 one: again"]);
});

test("working memory replaces the answer to the message whose answer is regenerated, and not the newest", async () => {
  const c = await companion([[down], ["2nd"], ["1st"], ["again"]]);
  const first = { id: "t1", content: "the same words" };
  await c.turns.submit(chat, first).done;
  await c.say("the same words");
  await c.turns.submit(chat, first).done;
  assert.deepEqual(c.remembered(), ["2 the same words: 2nd", "3 the same words: 1st"]);
  await (await c.turns.retry(chat)).done;
  assert.deepEqual(c.remembered(), ["3 the same words: 1st", "4 the same words: again"]);
});
