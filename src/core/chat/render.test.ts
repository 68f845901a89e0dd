import assert from "node:assert/strict";
import { test } from "node:test";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { toString as textOf } from "mdast-util-to-string";
import { gfm } from "micromark-extension-gfm";
import type { JsonObject } from "../json.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import { printable, printableLine } from "./printable.ts";
import { toHtml } from "./render-html.ts";
import { toMarkdown } from "./render-markdown.ts";
import type { RenderedChat } from "./render-rows.ts";

function log(...fields: readonly JsonObject[]): readonly StoredRecord[] {
  return fields.map((field, index) => ({ id: `m${index + 1}`, ...field, seq: index + 1 }));
}

async function text(pieces: AsyncIterable<string>): Promise<string> {
  return (await Array.fromAsync(pieces)).join("");
}

const day = log(
  { role: "user", content: "Hello\n# there", timestamp: "2026-03-03T23:30:00.000Z" },
  {
    role: "assistant",
    content: "Hi",
    timestamp: "2026-03-03T23:30:05.000Z",
    provider: "ollama",
    model: "qwen3:8b",
    tool_calls: [{ id: "x", type: "function", function: { name: "look", arguments: '{"a":1}' } }],
  },
  { role: "tool", content: "", name: "look", tool_call_id: "x", timestamp: "", is_error: true },
  { role: "assistant", content: "No", timestamp: "2026-03-04T00:10:00.000Z", partial: true },
  { role: "user", content: "/new", timestamp: "2026-03-04T00:12:00.000Z", hidden: true },
  { _type: "metadata", kind: "erased" },
  { _type: "metadata", kind: "clear" },
  { _type: "metadata", kind: "usage" },
  { role: "odd", content: "foreign" },
  {
    role: "user",
    content: "look ```",
    timestamp: "2026-03-04T09:00:00.000Z",
    attachments: [{ name: "cat.jpg", type: "image/jpeg", size: 9, sha256: "0" }],
  },
);

const thought = {
  role: "assistant",
  content: "Four.",
  timestamp: "2026-03-03T23:30:05.000Z",
  reasoning_content: "Two and two.\n<b>```</b>",
};

test("what a model thought stands before its words in Markdown and in HTML", async () => {
  const chat = { key: "k" };
  const markdown = await text(toMarkdown(chat, log(thought)));
  const said =
    /\n<details>\n<summary>Reasoning<\/summary>\n\n> Two and two\. {2}\n> &lt;b>\\`\\`\\`&lt;\/b>\n\n<\/details>\n\n> Four\.\n$/;
  assert.match(markdown, said);
  const html = await text(toHtml(chat, log(thought)));
  assert.match(html, /<summary>Reasoning<\/summary>\n<div[^>]*>Two and two\.\n&lt;b&gt;/);
});

test("a chat as Markdown: its title, days, speakers, times and marks, texts as quotations", async () => {
  const chat = { key: "telegram:42", title: "Hello *there*" };
  assert.equal(
    await text(toMarkdown(chat, day)),
    `# Hello \\*there\\*

Chat \`telegram:42\`. Times are in \`UTC\`.

## Tuesday, 3 March 2026

**User** · 23:30:00

> Hello\u0020\u0020
> \\# there

**Assistant** \`ollama/qwen3:8b\` · 23:30:05

> Hi

Calls \`look\`:

\`\`\`text
{"a":1}
\`\`\`

**Tool** \`look\` · error

## Wednesday, 4 March 2026

**Assistant** · 00:10:00 · partial

> No

*erased here*

*history cleared here*

**User** · 09:00:00

> look \\\`\\\`\\\`

File \`cat.jpg (9 bytes)\`
`,
  );
});

test("a chat as HTML: days, speakers, times, marks, texts", async () => {
  const html = await text(toHtml({ key: "telegram:42" }, day));
  const main = html.slice(html.indexOf("<main>"));
  assert.equal(
    main,
    `<main>
<h2>Tuesday, 3 March 2026</h2>
<article class="user">
<p class="who"><b>User</b> <time datetime="2026-03-03T23:30:00.000Z">23:30:00</time></p>
<div class="text" dir="auto">Hello
# there</div>
</article>
<article class="assistant">
<p class="who"><b>Assistant</b> <bdi>ollama/qwen3:8b</bdi> <time datetime="2026-03-03T23:30:05.000Z">23:30:05</time></p>
<div class="text" dir="auto">Hi</div>
<p>Calls <bdi>look</bdi></p>
<pre dir="ltr">
{&quot;a&quot;:1}</pre>
</article>
<article class="tool">
<p class="who"><b>Tool</b> <bdi>look</bdi> <em>error</em></p>
</article>
<h2>Wednesday, 4 March 2026</h2>
<article class="assistant">
<p class="who"><b>Assistant</b> <time datetime="2026-03-04T00:10:00.000Z">00:10:00</time> <em>partial</em></p>
<div class="text" dir="auto">No</div>
</article>
<p class="note">erased here</p>
<p class="note">history cleared here</p>
<article class="user">
<p class="who"><b>User</b> <time datetime="2026-03-04T09:00:00.000Z">09:00:00</time></p>
<div class="text" dir="auto">look \`\`\`</div>
<p>File <bdi>cat.jpg (9 bytes)</bdi></p>
</article>
</main>
</body>
</html>
`,
  );
});

test("the HTML file stands alone: its policy allows its style, pictures in it, and nothing else", async () => {
  const html = await text(toHtml({ key: "k" }, []));
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`;
  assert.ok(html.startsWith("<!doctype html>\n"));
  // Before anything that it governs.
  assert.ok(html.indexOf(policy) > 0 && html.indexOf(policy) < html.indexOf("<style>"));
  assert.doesNotMatch(html, /<script|<link|<img|url\(|@import|https?:|\bon[a-z]+=|\bsrc=|\bhref=/i);
});

test("the HTML file holds the files of messages: pictures to be seen, all others as downloads", async () => {
  const bytes = new Uint8Array(100_000).map((_, index) => index);
  const hash = (digit: string) => digit.repeat(64);
  const name = `"><script>alert(1)</script>`;
  const attachments = [
    { name, type: "image/png", size: 100_000, sha256: hash("a") },
    { name, type: "text/html", size: 100_000, sha256: hash("b") },
    { name: "x.png", type: `image/png" onerror="alert(1)`, size: 1, sha256: hash("b") },
    { name: "gone.png", type: "image/png", size: 1, sha256: hash("c") },
  ];
  const message = { role: "user", content: "look", timestamp: "", attachments };
  const readFile = async (sha256: string) => (sha256 === hash("c") ? undefined : bytes);
  const html = await text(toHtml({ key: "k", readFile }, log(message)));
  const data = Buffer.from(bytes).toString("base64");
  const escaped = "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;";
  assert.ok(html.includes(`<img alt="${escaped}" src="data:image/png;base64,${data}">`));
  const link = `<a download="${escaped}" href="data:application/octet-stream;base64,${data}">`;
  assert.ok(html.includes(`<p>File ${link}<bdi>${escaped} (100000 bytes)</bdi></a></p>`));
  assert.ok(html.includes("<p>File <bdi>gone.png (1 bytes)</bdi></p>"));
  assert.equal(html.match(/<img /g)?.length, 1);
  assert.doesNotMatch(html, /<script|onerror="/);
});

const formats = { Markdown: toMarkdown, HTML: toHtml } as const;
const chat: RenderedChat = { key: "k" };

for (const [name, render] of Object.entries(formats)) {
  test(`${name} names its zone; one that does not exist is refused as invalid`, async () => {
    const tokyo = await text(render({ ...chat, zone: "Asia/Tokyo" }, day.slice(0, 1)));
    assert.match(tokyo, /Times are in .?Asia\/Tokyo/);
    const page = text(render({ ...chat, zone: "Mars/Base" }, day));
    await assert.rejects(page, { code: "THROUGHLINE_INVALID" });
  });

  test(`${name} of an empty chat is a whole document`, async () => {
    assert.match(await text(render(chat, [])), name === "HTML" ? /<\/html>\n$/ : /^# Chat/);
  });

  test(`${name} is made one record at a time, from a log of any length`, async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<StoredRecord> {
      for (;;) yield { id: `m${++read}`, seq: read, role: "user", content: "x", timestamp: "" };
    }
    let pieces = 0;
    for await (const piece of render(chat, endless())) {
      assert.ok(piece.length < 8_000);
      if (++pieces === 1_000) break;
    }
    assert.ok(read <= pieces, `${read} records for ${pieces} pieces`);
  });
}

// S-08: what was said is text, whatever it says.
const attacks = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "</div></article></main></body></html><script>1</script>",
  "</pre><iframe src=javascript:alert(1)>",
  "</title><meta http-equiv=refresh content=0;url=//evil.example>",
  "<!-- ",
  "<![CDATA[",
  "<!doctype x>",
  "<",
  "<a b='",
  '"',
  "'",
  "&lt;b&gt;",
  "&#60;b&#62;",
  '" onmouseover="alert(1)',
  "' onclick='alert(1)",
  "`",
  "```",
  "````",
  "```\n# out\n```",
  "~~~",
  "~~~\n```\n~~~~\n````",
  "\t```",
  "- ```\n# x",
  "````\n~~~\n# out",
  "`".repeat(300),
  "# heading",
  "---\ntitle: x\n---",
  "[a](javascript:alert(1))",
  "https://evil.example",
  "www.evil.example",
  "[a]: http://evil.example",
  "| a | b |\n|---|---|\n| 1 | 2 |",
  "1. one",
  "\\",
  "a\rb\r# c",
  "a\u2028# b",
  "a\u0000b",
  "\u001b[31mred\u001b[0m",
  "\u009b31m",
  "\ufeff# x",
  "\u202eevil\u202c",
  "\ud800",
  "\n\n\n",
  " x ",
  "<%= x %>",
  "<b\u0000>",
  "é".repeat(50),
  "👩‍👩‍👧",
];
const payloads = attacks.flatMap((attack) => [attack, `x\n${attack}\nx`]);

function hostile(payload: string): { chat: RenderedChat; records: readonly StoredRecord[] } {
  const timestamp = "2026-03-03T10:00:00.000Z";
  const name = `x${payload}`;
  const content = `x${payload}`;
  return {
    chat: { key: name, title: name },
    records: log(
      { role: "user", content, timestamp, attachments: [{ name, type: name, size: 1 }] },
      {
        role: "assistant",
        content,
        timestamp,
        provider: name,
        model: name,
        partial: true,
        partial_reason: "error",
        reasoning_content: content,
        tool_calls: [{ id: name, function: { name, arguments: content } }],
      },
      { role: "tool", content, timestamp: name, name },
      { role: "system", content, timestamp },
    ),
  };
}

/** Every `<` of a document that is escaped rightly begins one of the template's own tags. */
function htmlParts(html: string): { tags: readonly string[]; texts: readonly string[] } {
  const parts = html.match(/<[^>]*>|[^<]+/g) ?? [];
  const texts = parts.filter((part) => !part.startsWith("<") && part.trim() !== "");
  const names: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return {
    tags: parts.filter((part) => part.startsWith("<")),
    texts: texts.map((part) => {
      assert.doesNotMatch(part, /&(?!(lt|gt|quot|#39|amp);)/);
      return part.replace(/&(lt|gt|quot|#39|amp);/g, (_, entity) => names[entity] ?? "");
    }),
  };
}

/** A document as a viewer divides it: its blocks by their kind, what they say, and the code blocks. */
function markdownParts(markdown: string) {
  const { children } = fromMarkdown(markdown, {
    extensions: [gfm()],
    mdastExtensions: [gfmFromMarkdown()],
  });
  return {
    blocks: children.map((node) => (node.type === "heading" ? `heading ${node.depth}` : node.type)),
    said: children.flatMap((node) => (node.type === "blockquote" ? [textOf(node)] : [])),
    results: children.flatMap((node) => (node.type === "code" ? [node.value] : [])),
    html: children.flatMap((node) => (node.type === "html" ? [node.value] : [])),
  };
}

const plain = hostile("x");

test(`each of ${payloads.length} hostile texts stays text in HTML`, async () => {
  const { tags } = htmlParts(await text(toHtml(plain.chat, plain.records)));
  for (const payload of payloads) {
    const { chat, records } = hostile(payload);
    const parts = htmlParts(await text(toHtml(chat, records)));
    assert.deepEqual(parts.tags, tags, JSON.stringify(payload));
    const content = printable(`x${payload}`);
    const name = printableLine(`x${payload}`);
    const names = parts.texts.filter((part) => part.includes(name) && !part.includes("\n"));
    assert.ok(names.length >= 7, `${JSON.stringify(payload)} is not on one line in a name`);
    const same = (wanted: string) =>
      parts.texts.filter((part) => part === wanted || part === `\n${wanted}`).length;
    assert.ok(same(content) >= 5, `${JSON.stringify(payload)} is not shown as it is`);
    assert.ok(same(name) >= 3, `${JSON.stringify(payload)} is not shown as a name`);
  }
});

test(`each of ${payloads.length} hostile texts stays in its place in Markdown`, async () => {
  const expected = markdownParts(await text(toMarkdown(plain.chat, plain.records)));
  const begins = "heading 1,paragraph,heading 2,paragraph,blockquote";
  assert.equal(expected.blocks.slice(0, 5).join(), begins);
  for (const payload of payloads) {
    const { chat, records } = hostile(payload);
    const parts = markdownParts(await text(toMarkdown(chat, records)));
    assert.deepEqual(parts.blocks, expected.blocks, JSON.stringify(payload));
    assert.deepEqual(parts.html, ["<details>\n<summary>Reasoning</summary>", "</details>"]);
    assert.deepEqual(parts.results, Array(2).fill(printable(`x${payload}`)));
    assert.equal(parts.said.length, 4, JSON.stringify(payload));
    for (const said of parts.said) assert.match(said, /^x/);
  }
});

test("no rendering holds a control character, or a direction mark in a name", async () => {
  for (const render of Object.values(formats)) {
    for (const payload of payloads) {
      const { chat, records } = hostile(payload);
      const page = await text(render(chat, records));
      assert.doesNotMatch(page, /(?![\n\t])\p{Cc}/u, JSON.stringify(payload));
      assert.ok(page.isWellFormed());
      const names = page.split("\n").filter((line) => /^<h1|^# |^<p class="who"/.test(line));
      assert.doesNotMatch(names.join(), /[\u202a-\u202e\u2066-\u2069]/);
    }
  }
});

test("a line has at most 200 characters, the mark of the cut included", () => {
  for (const [from, to] of [
    ["👩".repeat(200), "👩".repeat(200)],
    ["👩".repeat(201), `${"👩".repeat(199)}…`],
  ] as const) {
    assert.equal(printableLine(from), to);
  }
});
