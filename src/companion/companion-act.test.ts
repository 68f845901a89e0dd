import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CompanionAct } from "./companion-act.ts";
import { readAct, toldAct } from "./companion-act.ts";

const acts: readonly CompanionAct[] = [
  { act: "event", name: "insult", intensity: 2 },
  { act: "words", text: "hello" },
  { act: "person" },
  { act: "mood", mood: "proud", seconds: 10 },
  { act: "reset" },
  { act: "said", chat: "a", text: "hello", at: 1 },
  { act: "replied", chat: "a", text: "hello", at: 1 },
  { act: "seen", name: "Ada", at: 1 },
  { act: "sleep", state: "asleep" },
  { act: "welcomed", chat: "a" },
  {
    act: "welcomed",
    chat: "a",
    reception: { chatId: "a", kind: "short_break", status: "delivered", text: "hi" },
  },
];

for (const act of acts) {
  test(`${JSON.stringify(act)} is read as it was told, and not without one of its fields`, () => {
    const told = toldAct(act);
    assert.deepEqual(readAct(told), act);
    for (const name of Object.keys(told)) {
      if (name === "reception") continue; // a chat may have been told nothing
      assert.equal(readAct({ ...told, [name]: undefined }), undefined, name);
      assert.equal(readAct({ ...told, [name]: { of: "another kind" } }), undefined, name);
    }
  });
}

test("a text of 10,001 characters is told as its first 10,000, well formed", () => {
  const told = toldAct({ act: "words", text: `${"x".repeat(9_999)}😀` });
  const { text } = told as { text: string };
  assert.equal(text.length, 10_000);
  assert.ok(text.isWellFormed());
});

test("whatever else is told is no act", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (told) => {
      assert.equal(readAct(told), undefined);
    }),
  );
});
