import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { holdsEvery, queryPhrases, searchTokens } from "./search-words.ts";

/** Any text, lone surrogates too. */
const codeUnit = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0xffff }))
  .map((unit) => String.fromCharCode(unit));
const anyText = fc.string({ unit: codeUnit });

const rows: readonly (readonly [text: string, tokens: readonly string[]])[] = [
  ["", []],
  ["Green TEA, at five!", ["green", "tea", "at", "five"]],
  ["don't a_b x-1 4.5", ["don", "t", "a", "b", "x", "1", "4", "5"]],
  ["Café CAFE\u0301 naïve Ångström", ["cafe", "cafe", "naive", "angstrom"]],
  ["Straße ẞ STRASSE", ["strasse", "ss", "strasse"]],
  ["ΟΔΟΣ όδος", ["οδοσ", "οδοσ"]],
  ["İstanbul ılık", ["istanbul", "ilik"]],
  ["Ёлка й", ["елка", "и"]],
  ["ＡＢＣ１２ ﬁn ²", ["abc12", "fin", "2"]],
  ["日本語text混在", ["日", "本", "語", "text", "混", "在"]],
  ["サーバー ｶﾞ が か", ["サ", "ー", "バ", "ー", "ガ", "が", "か"]],
  ["カタカナ", ["カ", "タ", "カ", "ナ"]],
  ["한국어", ["한", "국", "어"]],
  ["한국어".normalize("NFD"), ["한", "국", "어"]],
  ["人々〇", ["人", "々", "〇"]],
  ["किताब", ["किताब"]],
  ["สวัสดี", ["สวัสดี"]],
  ["שָׁלוֹם", ["שלום"]],
  ["مُحَمَّد", ["محمد"]],
  ["soft\u00adware \ufeffa\u200f b\u200bc", ["software", "a", "b", "c"]],
  ["👋hello👩‍👧 ❤️", ["hello"]],
  ["a\0b\ud800c\u2028d", ["a", "b", "c", "d"]],
  ["\u0301\u3099", []],
];

for (const [text, tokens] of rows) {
  test(`the words of ${JSON.stringify(text)} are ${JSON.stringify(tokens)}`, () => {
    assert.deepEqual(searchTokens(text), tokens);
  });
}

test("folding is done once: the words of words are the same words, for any text", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const tokens = searchTokens(text);
      assert.deepEqual(searchTokens(tokens.join(" ")), tokens);
    }),
  );
});

test("the words of every code point are the same in composed and in decomposed form", () => {
  for (let point = 0; point < 0x110000; point++) {
    if (point >= 0xd800 && point < 0xe000) continue;
    const text = `a${String.fromCodePoint(point)}b`;
    if (text.normalize("NFD") === text.normalize("NFC")) continue;
    const tokens = searchTokens(text.normalize("NFC"));
    assert.deepEqual(searchTokens(text.normalize("NFD")), tokens, point.toString(16));
  }
});

test("no word holds white space, a control character or ASCII punctuation, for any text", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      for (const token of searchTokens(text)) {
        assert.doesNotMatch(token, /[\s\p{Cc}\p{Cs}!-/:-@[-`{-~]/u);
        assert.notEqual(token, "");
      }
    }),
  );
});

test("the words of ASCII text are the same by the short way and by the long one", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary-ascii" }), (text) => {
      // A letter that is not ASCII, at the end, takes the long way.
      assert.deepEqual(searchTokens(`${text} é`), [...searchTokens(text), "e"]);
    }),
  );
});

test("a query asks for one phrase per word between white space, and for nothing without letters", () => {
  assert.deepEqual(queryPhrases(" don't  NEAR(a,b)\t* 北京 \u3000"), [
    ["don", "t"],
    ["near", "a", "b"],
    ["北", "京"],
  ]);
  assert.deepEqual(queryPhrases(" \" ' () \0 👋 "), []);
});

test("a phrase is held where its words stand side by side, in order", () => {
  const tokens = ["a", "b", "a", "c"];
  const held: readonly (readonly [string[][], boolean])[] = [
    [[["a", "c"]], true],
    [[["c"], ["a", "b"]], true],
    [[["a"], ["d"]], false],
    [[["b", "c"]], false],
    [[["a", "b", "a", "c"]], true],
    [[["c", "a"]], false],
    [[["a", "b", "a", "c", "a"]], false],
  ];
  for (const [phrases, expected] of held) assert.equal(holdsEvery(tokens, phrases), expected);
});

test("every piece of a text that is cut between words is found in it", () => {
  const word = fc.constantFrom("tea", "Tee", "北", "京", "e\u0301té", "ß", "x1");
  fc.assert(
    fc.property(fc.array(word, { minLength: 1 }), fc.nat(), fc.nat(), (words, from, count) => {
      const start = from % words.length;
      const piece = words.slice(start, start + 1 + (count % 4)).join("-");
      assert.ok(holdsEvery(searchTokens(words.join(", ")), queryPhrases(piece)));
    }),
  );
});
