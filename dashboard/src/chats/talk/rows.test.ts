import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../../api/openapi-types.ts";
import { isOf, rowsOf } from "./rows.ts";

function message(seq: number, more: Partial<Message>): Message {
  return { id: `m${seq}`, seq, role: "assistant", content: "", timestamp: "", turn: "t", ...more };
}
const call = (id: string, name = "look", args = "{}") => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const result = (seq: number, id: string, content: string, more: Partial<Message> = {}) =>
  message(seq, { role: "tool", tool_call_id: id, name: "look", content, ...more });

/** A row in one line: what was said, then each call with its result. */
function lines(messages: readonly Message[]): string[] {
  return rowsOf(messages).map((row) => {
    if (row.kind === "result") return `result ${row.message.content}`;
    assert.equal(row.kind, "message");
    if (row.kind !== "message") return "";
    const calls = row.calls.map(
      ({ name, args, result }) => `${name}${args}=${result?.content ?? "?"}`,
    );
    return [row.message.content, ...calls].join(" ").trim();
  });
}

for (const [says, messages, shown] of [
  [
    "results stand with their calls, in the order in which things were said",
    [
      message(1, { content: "Wait.", tool_calls: [call("a", "look", '{"x":1}')] }),
      message(2, { tool_calls: [call("b")] }),
      result(3, "b", "second"),
      result(4, "a", "first"),
      message(5, { content: "Here." }),
    ],
    ['Wait. look{"x":1}=first', "look{}=second", "Here."],
  ],
  [
    "calls of one turn may have the same id",
    [
      message(1, { tool_calls: [call("a")] }),
      result(2, "a", "one"),
      message(3, { tool_calls: [call("a")] }),
      result(4, "a", "two"),
    ],
    ["look{}=one", "look{}=two"],
  ],
  [
    "a result belongs to no call of another turn",
    [
      message(1, { tool_calls: [call("a")] }),
      message(2, { role: "user", content: "Hm?", turn: "u" }),
      result(3, "a", "late"),
    ],
    ["look{}=?", "Hm?", "result late"],
  ],
  [
    "a result whose call is on an older page is there all the same",
    [result(7, "a", "alone"), message(8, { content: "So." })],
    ["result alone", "So."],
  ],
  [
    "what is hidden or removed is no row",
    [
      message(1, { tool_calls: [call("a")], hidden: true }),
      result(2, "a", "no", { hidden: true }),
      message(4, { content: "" }),
      message(5, { reasoning_content: "Hm." }),
    ],
    [""],
  ],
  [
    "imported calls may have other forms",
    [message(1, { tool_calls: [{ name: "look", input: { x: 1 } }, "odd", null] })],
    ['look{"x":1}=? a tool=? a tool=?'],
  ],
] as const) {
  test(says, () => assert.deepEqual(lines(messages), shown));
}

test("all answers to a message have the same row, and a search finds it by the one that is shown", () => {
  const shown = (id: string, variants?: string[]) =>
    rowsOf([message(2, { id, content: "Here.", variants })])[0];
  for (const row of [
    shown("t:answer"),
    shown("t:answer:r1"),
    shown("t:answer:r2", ["t:answer:r1", "t:answer:r2"]),
    shown("x", ["x", "t:answer:r1"]),
  ]) {
    assert.equal(row?.key, "t:answer");
    const { id } = row?.kind === "message" ? row.message : { id: "" };
    assert.ok(row !== undefined && isOf(row, id) && !isOf(row, "another"));
  }
});
