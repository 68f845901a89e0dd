// Held against what a parser of CommonMark, and one of GFM, make of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { toString as textOf } from "mdast-util-to-string";
import { gfm } from "micromark-extension-gfm";
import { quotedMarkdown } from "./quoted-markdown.ts";

type Tree = ReturnType<typeof fromMarkdown>;
type Node = Tree | Tree["children"][number];

const parsers: Readonly<Record<string, (text: string) => Tree>> = {
  CommonMark: (text) => fromMarkdown(text),
  GFM: (text) => fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }),
};

function nodesIn(node: Node): readonly Node[] {
  return [node, ...("children" in node ? node.children : []).flatMap((child) => nodesIn(child))];
}

/** What must not be in a quotation, and whether all of it is in the one quotation. */
function assertHarmless(text: string): void {
  const quoted = quotedMarkdown(text);
  for (const [name, parse] of Object.entries(parsers)) {
    const tree = parse(`before\n\n${quoted}\nafter [a] [b][] [^1]\n`);
    const says = `${name} of ${JSON.stringify(text)} as ${JSON.stringify(quoted)}`;
    const outside = tree.children.map(({ type }) => type);
    assert.deepEqual(outside, ["paragraph", "blockquote", "paragraph"], says);
    const wrong = ["html", "image", "imageReference", "definition", "footnoteDefinition"];
    for (const { type } of nodesIn(tree)) assert.ok(!wrong.includes(type), `${type}: ${says}`);
  }
}

/** The values of its code blocks and spans. */
function codeIn(text: string, parse = parsers["GFM"]): readonly string[] {
  const nodes = nodesIn(parse?.(quotedMarkdown(text)) ?? fromMarkdown(""));
  return nodes.flatMap((node) => ("value" in node && /ode$/.test(node.type) ? [node.value] : []));
}

const keeps: readonly [text: string, code: readonly string[]][] = [
  ["```html\n<b>]: ![x]</b>\n```", ["<b>]: ![x]</b>"]],
  ["1. Install:\n\n   ```sh\n   npm i <name>\n   ```\n2. Run `a <b>`", ["npm i <name>", "a <b>"]],
  ["- a\n  ~~~\n  <b>\n\n  ~~~\n- `<c>`", ["<b>\n", "<c>"]],
  ["Use `<div>` and ``<a> ` <b>``, not `<c>`", ["<div>", "<a> ` <b>", "<c>"]],
  ["| a | b |\n|---|---|\n| `<x>` | `<y>` |", ["<x>", "<y>"]],
  ["see https://x.y and `<b>`", ["<b>"]],
  ["```\n    ```\n<b>\n```\n`<c>`", ["    ```\n<b>", "<c>"]],
  ["    if (a < b) x", ["if (a < b) x"]],
  ["\tif (a < b) x", ["if (a < b) x"]],
  ["1. a\n\n\t```\n\tx < y\n\t```", ["x < y"]],
];
for (const [text, code] of keeps) {
  test(`the code of ${JSON.stringify(text)} is ${JSON.stringify(code)}`, () => {
    for (const parse of Object.values(parsers)) {
      if (text.includes("|")) assert.deepEqual(codeIn(text), code);
      else assert.deepEqual(codeIn(text, parse), code);
    }
    assertHarmless(text);
  });
}

test("headings, lists, emphasis, links and quotations of a text are still those", () => {
  const text = "# One\n\nTwo **three**\n\n- four\n\n> five [six](http://x.y)\n\nseven\n===";
  const found = nodesIn(fromMarkdown(quotedMarkdown(text))).map(({ type }) => type);
  for (const type of ["heading", "strong", "list", "blockquote", "link"]) {
    assert.ok(found.includes(type as Node["type"]), type);
  }
  assert.equal(found.filter((type) => type === "heading").length, 2);
});

test("what is HTML, a picture or a definition is shown as it was written", () => {
  const text = '<b onclick="x">a</b>\n\n![b](http://c.d/e.png)\n\n[f]: http://g.h';
  const shown = textOf(fromMarkdown(quotedMarkdown(text)));
  assert.equal(shown, '<b onclick="x">a</b>!b[f]: http://g.h');
});

test("a line break that a person typed stays one, and code stays as it is", () => {
  const quoted = quotedMarkdown("one\ntwo\n\n```\nthree\nfour\n```", true);
  assert.equal(quoted, "> one  \n> two\n>\n> ```\n> three\n> four\n> ```\n");
  const breaks = nodesIn(fromMarkdown(quoted)).filter(({ type }) => type === "break");
  assert.equal(breaks.length, 1);
});

// Each was a way out of an earlier version.
const waysOut = [
  "  ```\n```\n<img src=x>\n```",
  "- ```\n  ```\n<img src=x>",
  "- ```\n  ```\n  <img src=x>",
  "- ```\n```\n<img src=x>\n```\n<b>",
  "- a\n  ```\n     ```\n  <img src=x>",
  "> ```\n<img src=x>\n```\n<b>\n```",
  "- a\n  ```\nb\n```\n<img src=x>",
  "a\n    ```x\n    <img src=x>\n    ````",
  "`a\n- b` <img src=x>",
  "`\n` <img src=x> `",
  "| `a | <b>` |\n|-|-|\n| `a | <b>` |",
  '[a](b "`") <img src=x> `',
  "www.a.com/` <img src=x> `",
  "www.a.com/<img src=x>",
  "www.a.com/\\<img src=x>",
  "www.a.com/\\![a](b)",
  "\\<img src=x>",
  "\\\\<img src=x>",
  "\\`<img src=x>`",
  "`\\`<img src=x>`",
  "[a\nb]: http://c.d\n[a b]",
  "[^1]: <img src=x>",
  "<!--",
  "<details>",
];
for (const text of waysOut) {
  test(`${JSON.stringify(text)} stays in its quotation`, () => assertHarmless(text));
}

const pieces = [
  ..."`~<>|\\[]():!\n\n\n \t-*_#\"'a".split(""),
  ...["```", "````", "~~~", "``", "    ", "  ", "   ", "\n- ", "\n1. ", "\n> ", "\n\n"],
  ...["<b>", "</b>", "<!--", "-->", "<?", "![", "](", "]:", "[a]: b", "[^1]: ", "[^1]"],
  ...[
    "www.a.b/",
    "http://a.b/",
    "a@b.c",
    "\n```\n",
    "\n  ```\n",
    "\n    ```\n",
    "\n|-|-|\n",
    "<br",
  ],
];

test("no text at all gets out of its quotation", () => {
  const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map((all) => all.join(""));
  fc.assert(fc.property(texts, assertHarmless), { numRuns: 1_000 });
});

test("a long hostile text takes no longer than its length asks for", () => {
  for (const piece of ["`", "`a`", "``a`", "[", "*_", "> ", "<b>", "a|`b`", "\n- ```", "\\`"]) {
    const before = process.cpuUsage();
    quotedMarkdown(piece.repeat(100_000));
    // In microseconds of this process: linear takes a tenth of it, and anything else minutes.
    assert.ok(process.cpuUsage(before).user < 2_000_000, JSON.stringify(piece));
  }
});
