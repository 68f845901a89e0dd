import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../api/types.ts";
import {
  isShown,
  type Waiting,
  withAnswer,
  withMessage,
  withNewest,
  withoutWaiting,
} from "./feed-state.ts";

function message(seq: number, more: Partial<Message> = {}): Message {
  return { id: `m${seq}`, seq, role: "user", content: `words ${seq}`, timestamp: "", ...more };
}
const numbers = (messages: readonly Message[]) => messages.map(({ seq }) => seq);
const all = (...seqs: number[]) => seqs.map((seq) => message(seq));

for (const [had, seq, has] of [
  [[], 1, [1]],
  [[1, 2], 3, [1, 2, 3]],
  [[1, 3], 2, [1, 2, 3]],
  [[2, 3], 1, [1, 2, 3]],
  [[1, 2, 3], 2, [1, 2, 3]],
] as const) {
  test(`message ${seq} put into [${had}] makes [${has}]`, () => {
    assert.deepEqual(numbers(withMessage(all(...had), message(seq))), has);
  });
}

test("a message that came again is the newer one", () => {
  const [, second] = withMessage(all(1, 2, 3), message(2, { content: "", redacted: true }));
  assert.equal(second?.redacted, true);
});

test("an answer takes the place of the one to the same message, and of no other", () => {
  const answer = (seq: number, id: string, turn: string) =>
    message(seq, { id, turn, role: "assistant" });
  const had = [
    answer(2, "t1:answer", "t1"),
    answer(3, "t2:tool", "t2"),
    answer(4, "t2:answer", "t2"),
  ];
  assert.deepEqual(numbers(withAnswer(had, answer(5, "t2:answer:r1", "t2"))), [2, 3, 5]);
  assert.deepEqual(numbers(withAnswer(had, answer(5, "t3:answer", "t3"))), [2, 3, 4, 5]);
});

for (const [says, had, known, page, before, has, asks] of [
  ["meets what was there", [1, 2, 3], [1, 2, 3], [3, 4], 3, [1, 2, 3, 4], undefined],
  ["leaves a gap", [1, 2], [1, 2], [8, 9], 8, [8, 9], 8],
  ["is older than what came since", [1, 2, 3], [1], [1], undefined, [1, 2, 3], undefined],
  ["is empty, and something came since", [5], [], [], undefined, [5], undefined],
  ["is empty after a clear", [], [], [], undefined, [], undefined],
  ["lacks what was hidden", [1, 2, 3], [1, 2, 3], [1, 3], undefined, [1, 3], undefined],
] as const) {
  test(`a newest page [${page}] that ${says} makes [${has}] of [${had}]`, () => {
    const state = { messages: all(...had), before: undefined };
    const newest = withNewest(state, { messages: all(...page), before }, all(...known));
    assert.deepEqual(numbers(newest.messages), has);
    assert.equal(newest.before, asks);
  });
}

test("of two that wait with the same words the first was stored, and one that failed was not", () => {
  const entry = (key: string, state: Waiting["state"]) => ({ key, content: "hi", state });
  const waiting = [entry("a", "failed"), entry("b", "waiting"), entry("c", "sending")];
  assert.deepEqual(
    withoutWaiting(waiting, "hi").map(({ key }) => key),
    ["a", "c"],
  );
  assert.equal(withoutWaiting(waiting, "other"), waiting);
});

for (const [more, shown] of [
  [{}, true],
  [{ role: "assistant" }, true],
  [{ role: "tool" }, false],
  [{ role: "system" }, false],
  [{ hidden: true }, false],
  [{ content: "" }, false],
  [{ content: "", redacted: true }, true],
] as const) {
  test(`a message with ${JSON.stringify(more)} is ${shown ? "" : "not "}shown`, () => {
    assert.equal(isShown(message(1, more)), shown);
  });
}
