import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isThroughlineError } from "../errors.ts";
import type { NewInteraction } from "./summary.ts";
import { WorkingMemories } from "./working-memory.ts";

const said = (utterance: string): NewInteraction => ({
  utterance,
  intent: "unknown",
  response: "ok",
  outcome: "answered",
});

const ids = (memories: WorkingMemories) => memories.stats().map(({ chat_id }) => chat_id);

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

for (const maxChats of [0, -1, 2.5, 100_001, "10", null]) {
  test(`at most ${typeof maxChats} ${maxChats} chats is refused at construction`, () => {
    assert.throws(() => new WorkingMemories({ maxChats: maxChats as number }), {
      code: "THROUGHLINE_CONFIGURATION",
    });
  });
}

test("a capacity of 0 is refused before there is a chat", () => {
  assert.throws(() => new WorkingMemories({ capacity: 0 }), {
    code: "THROUGHLINE_CONFIGURATION",
  });
});

test("1,000 chats are remembered by default, as the option's documentation states", () => {
  const memories = new WorkingMemories();
  for (let i = 0; i <= 1_000; i++) memories.of(`chat:${i}`);
  assert.equal(memories.stats().length, 1_000);
  assert.equal(memories.peek("chat:0"), undefined);
  assert.notEqual(memories.peek("chat:1"), undefined);
});

test("for any uses and drops, the chats held are the most recently used ones", () => {
  const step = fc.tuple(fc.constantFrom("of", "remove", "peek"), fc.constantFrom(..."abcdef"));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step), (maxChats, steps) => {
      const memories = new WorkingMemories({ maxChats });
      let used: string[] = [];
      for (const [call, chatId] of steps) {
        if (call === "peek") {
          assert.equal(memories.peek(chatId) !== undefined, used.includes(chatId));
          continue;
        }
        memories[call as "of" | "remove"](chatId);
        used = used.filter((id) => id !== chatId);
        if (call === "of") used = [chatId, ...used].slice(0, maxChats);
        assert.deepEqual(ids(memories), used);
      }
    }),
  );
});
