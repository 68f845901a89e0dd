import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { titleFrom, titleLength } from "./chat-head.ts";

for (const [what, content, title] of [
  ["479 spaces before it", `${" ".repeat(479)}😀 hi`, "😀 hi"],
  ["2,000 spaces before it", `${"\n\t ".repeat(2_000)}Hello`, "Hello"],
  ["2,000 spaces in it", `Hello${" ".repeat(2_000)}there`, "Hello there"],
  ["500 pictures", "😀".repeat(500), "😀".repeat(titleLength)],
  ["nothing but space", " \n ".repeat(1_000), ""],
  ["nothing", "", ""],
] as const) {
  test(`the title of a text with ${what} is whole`, () => assert.equal(titleFrom(content), title));
}

test("a title is the first 120 code points of the text, its spaces collapsed", () => {
  const part = fc.oneof(fc.constantFrom(" ", "\n", "\u3000", "a", "😀", "\u0301"), fc.string());
  fc.assert(
    fc.property(fc.array(part, { maxLength: 400 }), (parts) => {
      const content = parts.join("");
      const whole = [...content.replace(/\s+/gu, " ").trim()];
      assert.equal(titleFrom(content), whole.slice(0, titleLength).join(""));
    }),
  );
});
