import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { MarkdownStyler } from "./markdown-styles.ts";

/** What comes out of these pieces, with the styles of its characters in angle brackets: `<bold>a</>`. */
function shown(...pieces: readonly string[]): string {
  return named(styledPieces(pieces));
}

function styledPieces(pieces: readonly string[]): string {
  const styler = new MarkdownStyler();
  return pieces.map((piece) => styler.push(piece)).join("") + styler.end();
}

const begins: Readonly<Record<string, string>> = { 1: "bold", 36: "code" };
const ends: Readonly<Record<string, readonly string[]>> = { 22: ["bold"], 39: ["code"] };

function named(text: string): string {
  const open = new Set<string>();
  let now = "";
  let result = "";
  for (const [index, part] of text.split("\u001b[").entries()) {
    const [, code = "", rest = part] = (index > 0 && /^(\d+)m(.*)$/s.exec(part)) || [];
    if (begins[code] !== undefined) open.add(begins[code]);
    for (const style of ends[code] ?? []) open.delete(style);
    const styles = [...open].toSorted().join(" ");
    if (rest === "") continue;
    if (styles !== now) result += `${now && "</>"}${styles && `<${styles}>`}`;
    now = styles;
    result += rest;
  }
  assert.equal(open.size, 0);
  return now === "" ? result : `${result}</>`;
}

const rows: readonly [markdown: string, expected: string][] = [
  ["a **b** c", "a <bold>**b**</> c"],
  ["a *b* _c_ d", "a *b* _c_ d"],
  ["**a *b* c**", "<bold>**a *b* c**</>"],
  ["2 * 3 ** 4 _ 5", "2 * 3 ** 4 _ 5"],
  ["* one\n* two", "* one\n* two"],
  ["a `b**c**` d", "a <code>`b**c**`</> d"],
  ["``a ` b`` c", "<code>``a ` b``</> c"],
  ["# One\ntwo", "# One\ntwo"],
  ["```ts\nx **y**\n```\nz", "<code>```ts</>\n<code>x **y**</>\n<code>```</>\nz"],
  ["- a\n  ```\n  b\n  ````\nc", "- a\n  <code>```</>\n<code>  b</>\n<code>  ````</>\nc"],
  ["````\n```\n````\nx", "<code>````</>\n<code>```</>\n<code>````</>\nx"],
  ["**open\nnext", "<bold>**open</>\nnext"],
  ["`open\nnext", "<code>`open</>\nnext"],
  ["```", "<code>```</>"],
  ["a**", "a**"],
  ["", ""],
];
test("bold words and code are shown with styles, in one piece and letter by letter", () => {
  for (const [markdown, expected] of rows) {
    assert.equal(shown(markdown), expected);
    assert.equal(shown(...markdown), expected);
  }
});

const markdown = fc
  .array(fc.constantFrom(..."`*_#~\\ \n\n-a1".split(""), "```", "**", "\n```\n", "# ", "~~~"), {
    maxLength: 40,
  })
  .map((parts) => parts.join(""));

test("no character is lost, added or moved, and the pieces change nothing but when it is shown", () => {
  const cut = fc.array(fc.nat({ max: 60 }), { maxLength: 6 });
  fc.assert(
    fc.property(markdown, cut, (text, places) => {
      const cuts = [0, ...places.toSorted((a, b) => a - b), text.length];
      const pieces = cuts.slice(1).map((end, index) => text.slice(cuts[index], end));
      const out = styledPieces(pieces);
      assert.equal(stripVTControlCharacters(out), text);
      assert.equal(named(out), shown(text));
    }),
    { numRuns: process.env["THROUGHLINE_FULL"] ? 2_000 : 200 },
  );
});

test("after every piece no style is open, and plain words are shown at once", () => {
  const styler = new MarkdownStyler();
  assert.equal(styler.push("Hello wor"), "Hello wor");
  const bold = styler.push(" **ld");
  assert.equal(stripVTControlCharacters(bold), " **ld");
  assert.ok(bold.endsWith("\u001b[22m"));
  assert.equal(stripVTControlCharacters(styler.push(" more")), " more");
});
