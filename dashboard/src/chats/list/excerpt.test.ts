import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { plainWords } from "../../ui/plain-words.ts";
import { excerpt, type Piece } from "./excerpt.ts";

const inBrackets = (pieces: readonly Piece[]) =>
  pieces.map((piece) => (piece.isHit ? `[${piece.text}]` : piece.text)).join("");

const marked = (text: string, query: string) => inBrackets(excerpt(text, query));

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

for (const [before, shown] of [
  [Infinity, "What do the notes say about the [tide]?"],
  [12, "…about the [tide]?"],
  [3, "…[tide]?"],
] as const) {
  test(`with at most ${before} letters before the hit, an excerpt begins with a whole word`, () => {
    const pieces = excerpt("What do the notes say about the tide?", "tide", before);
    assert.equal(inBrackets(pieces), shown);
  });
}

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
