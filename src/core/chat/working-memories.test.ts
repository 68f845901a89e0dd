import assert from "node:assert/strict";
import { test } from "node:test";
import { isThroughlineError } from "../errors.ts";
import type { NewInteraction } from "./summary.ts";
import { WorkingMemories } from "./working-memory.ts";

const said = (utterance: string): NewInteraction => ({
  utterance,
  intent: "unknown",
  response: "ok",
  outcome: "answered",
});

test("a chat keeps its memory from call to call, and no other chat sees it", () => {
  const memories = new WorkingMemories();
  memories.of("telegram:42").append(said("Hello"));
  memories.of("telegram:43").append(said("Bonjour"));
  assert.deepEqual(memories.of("telegram:42").recentUtterances(), ["Hello"]);
  assert.deepEqual(memories.of("telegram:43").recentUtterances(), ["Bonjour"]);
  assert.deepEqual(memories.of("Telegram:42").recentUtterances(), []);
});

for (const [chatId, code] of [
  ["", "THROUGHLINE_INVALID"],
  [42, "THROUGHLINE_INVALID"],
  ["c".repeat(1_025), "THROUGHLINE_TOO_LARGE"],
] as const) {
  test(`a chat id that is a ${typeof chatId} of ${String(chatId).length} is ${code}`, () => {
    const memories = new WorkingMemories();
    assert.throws(
      () => memories.of(chatId as string),
      (error) => isThroughlineError(error, code),
    );
    assert.deepEqual(memories.stats(), []);
  });
}

test("a dropped chat is forgotten, also where it was handed out, and begins again at turn 1", () => {
  const memories = new WorkingMemories();
  memories.of("a").append(said("Hello"));
  memories.of("b").append(said("Bonjour"));
  const view = memories.peek("a");
  assert.equal(memories.remove("a"), 1);
  assert.equal(memories.remove("a"), 0);
  assert.equal(view?.summary(), "");
  assert.equal(memories.peek("a"), undefined);
  assert.equal(memories.of("a").append(said("Again")).turn, 1);
  assert.deepEqual(memories.of("b").recentUtterances(), ["Bonjour"]);
});

test("a cleared set of memories has no chat, and what it handed out is empty", () => {
  const memories = new WorkingMemories();
  memories.of("a").append(said("Hello"));
  memories.of("b").append(said("Bonjour"));
  const views = [memories.peek("a"), memories.peek("b")];
  memories.clear();
  assert.deepEqual(memories.stats(), []);
  assert.deepEqual(
    views.map((view) => view?.count),
    [0, 0],
  );
});

test("stats are the counts of each chat, most recently used first, without texts", () => {
  const clock = { now: () => 0, monotonic: () => 0 };
  const memories = new WorkingMemories({ capacity: 1, clock });
  memories.of("a").append(said("a secret"));
  memories.of("b");
  const empty = { count: 0, full: false, empty: true, last_turn: 0 };
  const held = { count: 1, full: true, empty: false, last_turn: 1 };
  assert.deepEqual(memories.stats(), [
    { chat_id: "b", capacity: 1, session_age_seconds: 0, ...empty },
    { chat_id: "a", capacity: 1, session_age_seconds: 0, ...held },
  ]);
});

test("a capacity of 0 is refused before there is a chat", () => {
  assert.throws(() => new WorkingMemories({ capacity: 0 }), {
    code: "THROUGHLINE_CONFIGURATION",
  });
});

test("1,000 chats are remembered at once, the most recently used ones", () => {
  const memories = new WorkingMemories();
  for (let i = 0; i < 1_000; i++) memories.of(`chat:${i}`);
  const first = memories.of("chat:0");
  const second = memories.of("chat:2");
  second.append(said("Hello"));
  memories.peek("chat:1"); // no use
  for (const chatId of ["a", "b"]) memories.of(chatId);
  assert.equal(memories.stats().length, 1_000);
  assert.deepEqual([memories.peek("chat:0"), memories.peek("chat:1")], [first, undefined]);
  assert.deepEqual(memories.peek("chat:2"), second);
  assert.equal(memories.peek("chat:3"), undefined);
});
