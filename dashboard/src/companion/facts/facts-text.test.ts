import assert from "node:assert/strict";
import { test } from "node:test";
import { asFact, changed, type FactChange } from "./facts-text.ts";

const text = "# People\n\nLikes tea.\n  Has a dog.\n";

const rows: readonly [change: FactChange, text: string, then: string | undefined][] = [
  [{ kind: "add", fact: "New." }, "", "New."],
  [{ kind: "add", fact: "New." }, text, "# People\n\nLikes tea.\n  Has a dog.\nNew."],
  [{ kind: "add", fact: "New.", at: 1 }, text, "# People\n\nNew.\nLikes tea.\n  Has a dog."],
  [{ kind: "add", fact: "New.", at: 9 }, "One.", "One.\nNew."],
  [
    { kind: "edit", index: 1, old: "Likes tea.", fact: "Likes milk." },
    text,
    "# People\n\nLikes milk.\n  Has a dog.",
  ],
  [
    { kind: "edit", index: 0, old: "Has a dog.", fact: "Has a cat." },
    text,
    "# People\n\nLikes tea.\nHas a cat.",
  ],
  [{ kind: "edit", index: 1, old: "Likes coffee.", fact: "x" }, text, undefined],
  [{ kind: "remove", index: 2, old: "Has a dog." }, text, "# People\n\nLikes tea."],
  [{ kind: "remove", index: 1, old: "Same." }, "Same.\r\nSame.\r\nOther.", "Same.\nOther."],
  [{ kind: "remove", index: 0, old: "Gone." }, "", undefined],
];
for (const [change, before, then] of rows) {
  test(`${JSON.stringify(change)} makes ${JSON.stringify(then)} of ${JSON.stringify(before)}`, () => {
    assert.equal(changed(before, change), then);
  });
}

test("what is typed becomes one line", () => {
  assert.equal(asFact("  Likes\n  tea. "), "Likes tea.");
});
