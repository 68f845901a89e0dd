// Turns whose model is called elsewhere, in several processes of one companion.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { Opened, OpenTurn } from "../src/core/turns/open-turn.ts";
import { heldTwo, pass, until } from "./support/cluster-world.ts";
import { answer, call, chat, result, target, usage } from "./support/open-turn-words.ts";

const m1 = { id: "m1", content: "Lamp?" };
const end = (id: string) => ({ messages: [answer(id)], usage, outcome: "answered" }) as const;

async function two() {
  const w = await heldTwo();
  const ids = async () => (await w.b.chats.messages(chat)).messages.map(({ id }) => id);
  return { ...w, ids };
}

async function opened(opening: Promise<Opened>): Promise<OpenTurn> {
  const result = await opening;
  return result.state === "open" ? result.turn : assert.fail(`it is ${result.state}`);
}

test("a message waits for the open turn of another process; the same message gets its answer there", async () => {
  const w = await two();
  const turn = await opened(w.a.turns.open(chat, m1, target));
  const again = w.b.turns.open(chat, m1, target);
  const next = w.b.turns.open(chat, { id: "m2", content: "And now?" }, target);
  await until(async () => {
    const { pending = [] } = (await w.b.chats.existing(chat)).head;
    return pending.includes("m2");
  });
  assert.deepEqual(await w.ids(), ["m1"]);
  await turn.close(end("m1"));
  const { state } = await again;
  assert.equal(state, "answered");
  await (await opened(next)).close(end("m2"));
  assert.deepEqual(await w.ids(), ["m1", "m1-answer", "m2", "m2-answer"]);
});

test("stop from another process aborts the signal of an open turn", async () => {
  const w = await two();
  const turn = await opened(w.a.turns.open(chat, m1, target));
  const stopped = once(turn.signal, "abort");
  assert.equal(await w.b.turns.stopAnywhere(chat), true);
  await stopped;
  await turn.close({ ...end("m1"), outcome: "interrupted" });
  assert.equal((await w.b.chats.message(chat, "m1-answer")).partial_reason, "stopped");
});

test("forgetting from another process waits until an open turn has ended", async () => {
  const w = await two();
  const turn = await opened(w.a.turns.open(chat, m1, target));
  turn.signal.addEventListener("abort", () => void turn.fail());
  await w.b.turns.end(chat);
  assert.equal(w.a.turns.running(chat), undefined);
});

test("what a process kept that died is there for the process that opens its message next", async () => {
  const w = await two();
  const turn = await opened(w.a.turns.open(chat, m1, target));
  await turn.keep([call("m1"), result("m1")]);
  w.kill();
  const opening = opened(w.b.turns.open(chat, m1, target));
  await pass(w.clock, 10_500, w.timers.b);
  const next = await opening;
  assert.equal(next.attempt, 2);
  assert.deepEqual(
    next.kept.map(({ id }) => id),
    ["m1-call", "m1-result"],
  );
  await next.close(end("m1"));
  assert.deepEqual(await w.ids(), ["m1", "m1-call", "m1-result", "m1-answer"]);
});

test("a process that lost its chat gets an aborted signal, and stores nothing more", async () => {
  const w = await two();
  const turn = await opened(w.a.turns.open(chat, m1, target));
  // The other one takes the chat while this one sleeps; then it wakes.
  await pass(w.clock, 10_500, w.timers.b);
  await (await opened(w.b.turns.open(chat, m1, target))).close(end("m1"));
  await assert.rejects(turn.keep([call("m1")]), { code: "THROUGHLINE_FENCED" });
  await w.timers.a.pass(0);
  await until(() => turn.signal.aborted);
  const late = { ...end("m1"), messages: [{ role: "assistant", content: "Late" }] } as const;
  await assert.rejects(turn.close(late), { code: "THROUGHLINE_FENCED" });
  assert.deepEqual(await w.ids(), ["m1", "m1-answer"]);
  await until(async () => {
    await w.timers.a.pass(0);
    return w.a.turns.size === 0;
  });
});
