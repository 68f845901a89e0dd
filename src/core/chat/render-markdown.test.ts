// Held against what a parser of CommonMark, and one of GFM, make of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { toMarkdown } from "./render-markdown.ts";

type Tree = ReturnType<typeof fromMarkdown>;
type Node = Tree | Tree["children"][number];

const parsers: Readonly<Record<string, (text: string) => Tree>> = {
  CommonMark: (text) => fromMarkdown(text),
  GFM: (text) => fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }),
};

function nodesIn(node: Node): readonly Node[] {
  return [node, ...("children" in node ? node.children : []).flatMap((child) => nodesIn(child))];
}

async function exported(content: string): Promise<string> {
  const message = { kind: "message", seq: 1, role: "user", content, id: "1", timestamp: "" };
  const records = Array.of(message as never);
  return (await Array.fromAsync(toMarkdown({ key: "a" }, records))).join("");
}

/** Compares what a viewer shows of a message with what was said, but for spaces. */
async function assertShown(said: string): Promise<void> {
  const document = await exported(`x${said}x`);
  for (const [name, parse] of Object.entries(parsers)) {
    const { children } = parse(`${document}\nafter [a] [b][] [^1]\n`);
    const says = `${name} of ${JSON.stringify(said)} as ${JSON.stringify(document)}`;
    const [quotation, ...rest] = children.slice(3);
    const types = [quotation, ...rest].map((node) => node?.type);
    assert.deepEqual(types, ["blockquote", "paragraph"], says);
    const texts = nodesIn(quotation as Node).flatMap((node) => {
      const isLink = name === "GFM" && node.type === "link";
      const isText = ["blockquote", "paragraph", "text", "break"].includes(node.type);
      assert.ok(isText || isLink, `${node.type}: ${says}`);
      return "value" in node ? [node.value] : [];
    });
    const withoutSpaces = (text: string) => text.replace(/\s/g, "");
    if (name === "CommonMark")
      assert.equal(withoutSpaces(texts.join("")), withoutSpaces(`x${said}x`));
  }
}

for (const said of [
  "# One\n\nTwo **three** `four` ~~five~~\n\n- six\n1. seven\n> eight\nnine\n===\n[f]: http://g.h",
  "    if (a < b && c) {\n\treturn &lt;\n```html\n<b>]: ![x]</b>\n```",
  "| a | b |\n|---|---|\n| `<x>` | a\\|b |\n:-",
  '<b onclick="x">a</b>\n\n![b](http://c.d/e.png) <http://f.g> <!--',
  "www.a.com/\\<img src=x> www.a.com/![a b](c) `www.a.com/ <b>` [^1]: <img src=x>",
]) {
  test(`${JSON.stringify(said)} is shown as it was written`, () => assertShown(said));
}

test("line breaks stay, and an address stays one", async () => {
  const lines = (await exported("one\ntwo\n\nhttps://a.b/c_d?e=1&f=2")).split("\n").slice(-5);
  assert.deepEqual(lines, ["> one  ", "> two", ">", "> https://a.b/c_d?e=1&f=2", ""]);
});

const pieces = [
  ..."`~<>|\\[]():!&;=+\n\n\n \t-*_#\"'a1.",
  ..."``` ~~~ <b> <!-- <? ![ ]( ]: www.a.b/ http://a.b/ a@b.c &lt; &#60;".split(" "),
  ...["    ", "\n- ", "\n1. ", "\n> ", "[a]: b", "[^1]: ", "\n```\n", "\n|-|-|\n", "\n:-\n"],
];

test("no text at all gets out of its quotation, or is more than text there", async () => {
  const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map((all) => all.join(""));
  await fc.assert(fc.asyncProperty(texts, assertShown), {
    numRuns: process.env["THROUGHLINE_FULL"] === "1" ? 1_000 : 80,
  });
});

test("a long hostile text takes no longer than its length asks for", async () => {
  for (const piece of ["`", "[", "*_", "> ", "<b>", "\\`", "&", "1", " ", "!", "_"]) {
    const before = process.cpuUsage();
    await exported(piece.repeat(100_000));
    // In microseconds of this process: linear takes a tenth of it, and anything else minutes.
    assert.ok(process.cpuUsage(before).user < 2_000_000, JSON.stringify(piece));
  }
});
