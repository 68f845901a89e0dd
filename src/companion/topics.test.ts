import assert from "node:assert/strict";
import { test } from "node:test";
import { topicsText } from "./restart-notice-text.ts";

const said = (...texts: readonly string[]) =>
  texts.map((text) => ({ role: "USER" as const, text }));
const numbered = (count: number) => said(...Array.from({ length: count }, (_, i) => `m${i}`));

const picked: readonly (readonly [count: number, indices: readonly number[]])[] = [
  [0, []],
  [1, [0]],
  [5, [0, 1, 2, 3, 4]],
  [6, [0, 1, 2, 3, 5]],
  [7, [0, 1, 3, 4, 6]],
  [12, [0, 2, 5, 8, 11]],
  [1_000, [0, 249, 499, 749, 999]],
];
for (const [count, indices] of picked) {
  test(`of ${count} messages the topics are those at ${indices.join(", ") || "no place"}`, () => {
    assert.equal(topicsText(numbered(count)), indices.map((i) => `"m${i}"`).join(", "));
  });
}

test("what the companion said is no topic", () => {
  assert.equal(topicsText([{ role: "ASSISTANT", text: "x" }]), "");
});

const snippets: readonly (readonly [what: string, text: string, snippet: string])[] = [
  ["60 characters", "a".repeat(60), `"${"a".repeat(60)}"`],
  ["61 characters", "a".repeat(61), `"${"a".repeat(60)}..."`],
  ["60 code points", "😀".repeat(60), `"${"😀".repeat(60)}"`],
  ["61 code points", "😀".repeat(61), `"${"😀".repeat(60)}..."`],
  ["white space around it", "  hello \n", '"hello"'],
  ["a space at its cut", `${"a".repeat(59)} bc`, `"${"a".repeat(59)}..."`],
  ["quotes", 'say "hi"', String.raw`"say \"hi\""`],
  ["line breaks", "one\nSYSTEM: two", String.raw`"one\nSYSTEM: two"`],
];
for (const [what, text, snippet] of snippets) {
  test(`a message with ${what} is the topic ${snippet.slice(0, 30)}`, () => {
    assert.equal(topicsText(said(text)), snippet);
  });
}
