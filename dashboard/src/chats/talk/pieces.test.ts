import assert from "node:assert/strict";
import { test } from "node:test";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import { piecesOf } from "./pieces.ts";
import { remarkGfm } from "./remark-gfm.ts";

const seed = Number(process.env["THROUGHLINE_SEED"] ?? Math.floor(Math.random() * 1e6));
let state = seed;
/** A whole number below `end`. */
function random(end: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * end);
}

const html = (text: string): string => {
  const shown = createElement(ReactMarkdown, { remarkPlugins: [remarkGfm] }, text);
  return renderToStaticMarkup(shown)
    .replaceAll(/[\r\n]/g, "")
    .replaceAll(long.trim(), "LONG");
};
/** So many texts are tried, and more until so many pieces were cut. */
const [rounds, mostRounds, leastCuts] = [150, 3_000, 16];
/** As long as a piece is at least. */
const long = "Words that fill a paragraph. ".repeat(70);
const lines = [
  ...[long, long, long, "words", "  words", "    words", "\twords", "# Heading", "---", "==="],
  ...[
    "- item",
    "* item",
    "-",
    "1. item",
    "2) item",
    "  - item",
    "   3. item",
    "- [ ] task",
    "> quote",
  ],
  ...[
    "```",
    "```ts",
    "````",
    "~~~",
    " ```",
    "  ```",
    "   ```",
    "    ```",
    "- ```",
    "> ```",
    "``` a`b",
  ],
  ...["| a | b |", "|---|---|", "<div>", "**bold", "`code", "*", "+ x", "$x", ">"],
];

test("a number behind indented code, which begins no list there, and a fence below it", () => {
  const text = `    words\n\n2) item\n   \`\`\`\n\n${long}\n\n$x\n\`\`\`\`\n~~~\n`;
  assert.equal(piecesOf(text).map(html).join(""), html(text));
});

test("pieces of a text mean the same as the whole, however its lines follow each other", () => {
  let cuts = 0;
  for (let round = 0; round < rounds || (cuts < leastCuts && round < mostRounds); round++) {
    const end = ["\n", "\n", "\r\n", "\r"][random(4)] ?? "";
    const text = Array.from({ length: 3 + random(12) }, () => {
      return lines[random(lines.length)] + end.repeat(1 + random(2));
    }).join("");
    const pieces = piecesOf(text);
    assert.equal(pieces.join(""), text);
    cuts += pieces.length - 1;
    const says = `THROUGHLINE_SEED=${seed} ${JSON.stringify(text.replaceAll(long, "LONG"))}`;
    assert.equal(pieces.map(html).join(""), html(text), says);
  }
  assert.ok(cuts >= leastCuts, `${cuts} cuts`);
});

const after = `\n\n${long}\n\nThe end.`;
const whole: readonly (readonly [string, string])[] = [
  ["a definition", `[home]\n\n${long}\n\n[home]: /there`],
  ["a footnote", `It is so.[^1]\n\n${long}\n\n[^1]: I said it.`],
  ["a list", `- one\n\n  ${long}\n\n- two`],
  ["code", `\`\`\`\n${long}\n\nmore\n\`\`\``],
  ["HTML that goes past blank lines", `<pre>\n\n${long}\n\n</pre>`],
];
for (const [what, text] of whole) {
  test(`${what} is not cut`, () => {
    assert.deepEqual(piecesOf(text), [text]);
  });
}

test("a long text is cut, and a piece stays the same when more of the text comes", () => {
  const text = `# Heading\n\n${long}${after}`;
  const [first = "", ...more] = piecesOf(text);
  assert.equal(more.length, 2);
  assert.equal(piecesOf(`${text} And more.`)[0], first);
});
