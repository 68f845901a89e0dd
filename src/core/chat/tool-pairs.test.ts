import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredMessage } from "./message.ts";
import { pairToolCalls } from "./tool-pairs.ts";

const timestamp = "2026-03-03T10:00:00.000Z";
const look = {
  id: "call_0",
  type: "function",
  function: { name: "look", arguments: "{}" },
} as const;

function call(number: number): StoredMessage {
  const id = `t:call:${number}`;
  const tool_calls = [look];
  return { id, seq: number, timestamp, turn: "t", role: "assistant", content: "", tool_calls };
}

function result(number: number): StoredMessage {
  const content = `result ${number}`;
  const fields = { role: "tool", content, tool_call_id: "call_0" } as const;
  return { id: `t:result:${number}`, seq: 10 + number, timestamp, turn: "t", ...fields };
}

const paired = (...messages: readonly StoredMessage[]) =>
  [...pairToolCalls(messages).values()].flatMap((calls) =>
    calls.map((each) => each.result?.content),
  );

test("calls of a turn that run at once under one id have each its own result", () => {
  assert.deepEqual(paired(call(1), call(2), result(2), result(1)), ["result 1", "result 2"]);
});

test("a call that has no result gets none of a later call of its id", () => {
  assert.deepEqual(paired(call(1), call(2), result(2)), [undefined, "result 2"]);
});
