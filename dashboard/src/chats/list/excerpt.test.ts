import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { plainWords } from "../../ui/plain-words.ts";
import { excerpt } from "./excerpt.ts";

const marked = (text: string, query: string) =>
  excerpt(text, query)
    .map((piece) => (piece.isHit ? `[${piece.text}]` : piece.text))
    .join("");

for (const [text, query, shown] of [
  ["I like tea", "TEA", "I like [tea]"],
  ["Le café au lait", "cafe", "Le [café] au lait"],
  ["tea and tea", "tea", "[tea] and [tea]"],
  ["nothing here", "zebra", "nothing here"],
  ["a < b", "<script>", "a < b"],
  ["", "x", ""],
  ["I like **green** tea", "green tea", "I like [green] [tea]"],
  ["# Tea\n- `one`", "one", "Tea\n[one]"],
  ["Read [this](https://example.org)", "this", "Read [this]"],
  ["Read [this](https://example.org)", "example", "Read [this](https://[example].org)"],
] as const) {
  test(`${JSON.stringify(text)} searched for ${JSON.stringify(query)} is shown as ${shown}`, () => {
    assert.equal(marked(text, query), shown);
  });
}

test("a hit far inside a long text is in its excerpt", () => {
  const shown = marked(`${"word ".repeat(500)}needle${" word".repeat(500)}`, "needle");
  assert.match(shown, /^….*\[needle\].*…$/);
  assert.ok(shown.length < 200);
});

test("an excerpt is a part of the text or of its plain words, whatever it and the query are", () => {
  const text = fc.string({ unit: "binary", maxLength: 400 });
  fc.assert(
    fc.property(text, fc.string({ maxLength: 20 }), (said, query) => {
      const pieces = excerpt(said, query).filter(({ at }) => at >= 0);
      for (const piece of pieces) {
        const texts = [said, plainWords(said)];
        const { at, text } = piece;
        assert.ok(texts.some((whole) => whole.slice(at, at + text.length) === text));
      }
      const shown = pieces.map((piece) => piece.text).join("");
      assert.ok(said.includes(shown) || plainWords(said).includes(shown));
    }),
  );
});
