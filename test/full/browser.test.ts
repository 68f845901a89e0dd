// The page in a real browser, against the real server: Debian's Chromium, found or named by
// CHROMIUM_PATH. Locally a missing browser skips, with the reason; in CI it fails.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { StoredMessage } from "../../src/memories/chat/message.ts";
import type { ScriptedStep } from "../../src/testing/scripted-responder.ts";
import { companion } from "../server-fixture.ts";

const executablePath = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
const isThere = existsSync(executablePath);
const skip = isThere || process.env["CI"] === "true" ? false : `no browser at ${executablePath}`;

let browser: Browser;
before(async () => {
  if (skip !== false) return;
  browser = await chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--disable-gpu",
      "--disable-background-networking",
    ],
  });
});
after(async () => browser?.close());

type Seen = { readonly page: Page; readonly context: BrowserContext; readonly errors: string[] };

async function onPage(
  script: readonly (readonly ScriptedStep[])[],
  use: (seen: Seen, c: Awaited<ReturnType<typeof companion>>) => Promise<void>,
  said: readonly string[] = [],
): Promise<void> {
  const c = await companion(script);
  if (said.length > 0) {
    await c.throughline.chats.append(
      "local:me",
      said.map((content) => ({ role: "user", content })),
    );
  }
  const { url } = await c.listen({ host: "127.0.0.1", port: 0 });
  const context = await browser.newContext();
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  // A chat in which nothing was said yet is a 404, which the browser notes as it does every one.
  const isExpected = (text: string) => / 404 \(Not Found\)/.test(text);
  page.on("console", (line) => {
    if (line.type() === "error" && !isExpected(line.text())) errors.push(line.text());
  });
  try {
    await page.goto(url);
    await page.locator("#say").waitFor();
    await use({ page, context, errors }, c);
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
    await c.server.close();
    await c.throughline.close();
  }
}

async function say(page: Page, text: string): Promise<void> {
  await page.locator("#content").fill(text);
  await page.keyboard.press("Enter");
}

const log = (page: Page) => page.locator("#log li");

test("a person talks, sees the answer, and finds it again after a reload", { skip }, async () => {
  await onPage([["Hello ", "you"]], async ({ page }) => {
    await say(page, "Hi, it is me");
    await log(page).filter({ hasText: "Hello you" }).waitFor();
    await page.reload();
    await log(page).filter({ hasText: "Hi, it is me" }).waitFor();
    await log(page).filter({ hasText: "Hello you" }).waitFor();
    assert.equal(await log(page).count(), 2);
  });
});

test("an answer is stopped by its button and kept as far as it came", { skip }, async () => {
  await onPage([["Once upon a time", { type: "hang" }]], async ({ page }, c) => {
    await say(page, "A story");
    await log(page).filter({ hasText: "Once upon a time" }).waitFor();
    await page.locator("#stop").click();
    await page.locator("#stop").waitFor({ state: "hidden" });
    const { messages } = await c.throughline.chats.messages("local:me");
    assert.equal((messages.at(-1) as StoredMessage).partial_reason, "stopped");
  });
});

test("what was stored is text: nothing of it runs, loads or becomes an element", {
  skip,
}, async () => {
  const hostile = [
    "<script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "</li></ol><iframe src=javascript:alert(1)>",
    "<svg onload=document.title='pwned'>",
    "{{constructor.constructor('alert(1)')()}}",
    "<style>*{display:none}</style>",
  ];
  await onPage(
    [],
    async ({ page }) => {
      for (const text of hostile) await log(page).filter({ hasText: text }).waitFor();
      assert.equal(await page.title(), "Throughline");
      assert.equal(
        await page.locator("#log script, #log img, #log iframe, #log svg, #log style").count(),
        0,
      );
    },
    hostile,
  );
});

test("the page of another origin cannot read a chat, nor write one", { skip }, async () => {
  await onPage([["no"]], async ({ page, context }, c) => {
    const other = await context.newPage();
    await other.goto("data:text/html,<p>elsewhere</p>");
    const outcome = await other.evaluate(async (address) => {
      const read = await fetch(`${address}api/chats`).then(
        () => "read",
        () => "refused",
      );
      await fetch(`${address}api/chats/local%3Ame/messages`, {
        ...{ method: "POST", mode: "no-cors", body: '{"content":"forged"}' },
        headers: { "content-type": "text/plain" },
      }).catch(() => undefined);
      return read;
    }, page.url());
    assert.equal(outcome, "refused");
    assert.deepEqual((await c.throughline.chats.list()).chats, []);
  });
});
