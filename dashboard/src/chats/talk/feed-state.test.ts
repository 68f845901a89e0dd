import assert from "node:assert/strict";
import { test } from "node:test";
import { messageIdFor } from "../../api/client.ts";
import type { Message } from "../../api/openapi-types.ts";
import {
  isShown,
  type Waiting,
  withAnswer,
  withMessage,
  withNewest,
  withoutStored,
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

test("the answer of a retry takes the place of the one before with its calls, and of no other", () => {
  const said = (seq: number, id: string, turn: string, role: Message["role"] = "assistant") =>
    message(seq, { id, turn, role });
  const had = [
    said(2, "t1:answer", "t1"),
    said(3, "t2", "t2", "user"),
    said(4, "t2:call:1", "t2"),
    said(5, "t2:result:1", "t2", "tool"),
    said(6, "t2:answer", "t2"),
    said(7, "t2:call:r1:1", "t2"),
    said(8, "t2:result:r1:1", "t2", "tool"),
  ];
  assert.deepEqual(numbers(withAnswer(had, said(9, "t2:answer:r1", "t2"))), [2, 3, 7, 8, 9]);
  assert.deepEqual(numbers(withAnswer(had, said(9, "t2:answer:r2", "t2"))), [2, 3, 9]);
  assert.deepEqual(
    numbers(withAnswer(had.slice(0, 4), said(6, "t2:answer", "t2"))),
    [2, 3, 4, 5, 6],
  );
  assert.deepEqual(numbers(withAnswer(had, said(9, "t3:answer", "t3"))), [2, 3, 4, 5, 6, 7, 8, 9]);
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

const entry = (key: string, state: Waiting["state"]) => ({ key, content: "hi", state });
const keysOf = (waiting: readonly Waiting[]) => waiting.map(({ key }) => key);

test("a message that is stored waits no more, and no other with its words", () => {
  const waiting = [entry("a", "failed"), entry("b", "waiting"), entry("c", "sending")];
  const after = withoutWaiting(waiting, messageIdFor("b"));
  assert.deepEqual(keysOf(after), ["a", "c"]);
  assert.equal(withoutWaiting(after, messageIdFor("b")), after);
});

test("what failed and was stored all the same waits no more; what is being sent does", () => {
  const waiting = [entry("a", "failed"), entry("b", "sending"), entry("c", "lost")];
  const stored = ["a", "b"].map((key) => message(1, { id: messageIdFor(key) }));
  assert.deepEqual(keysOf(withoutStored(waiting, stored)), ["b", "c"]);
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
