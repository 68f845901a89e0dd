// Talking on the page: streaming, stopping, waiting, trying again, and what a restart leaves.
import assert from "node:assert/strict";
import type { StoredMessage } from "../../src/core/chat/message.ts";
import { companion } from "../support/server-fixture.ts";
import {
  field,
  gate,
  hasCount,
  holds,
  message,
  messages,
  onPage,
  say,
  test,
  useBrowser,
  violations,
} from "./page-fixture.ts";

useBrowser();

test("a person talks, sees the answer as it comes, finds it again after a reload, and stops another by Escape", async () => {
  const rest = gate();
  const script = [
    ["Hello ", { type: "wait" as const, until: rest.until }, "you"],
    ["Once upon a time", { type: "hang" as const }],
  ];
  await onPage({ script }, async ({ page }, c) => {
    await say(page, "Hi, it is me");
    await message(page, "Hello").waitFor();
    await hasCount(message(page, "Hello you"), 0);
    rest.open();
    await message(page, "Hello you").waitFor();
    await message(page, "scripted · script-1").waitFor();
    await page.reload();
    await message(page, "Hi, it is me").waitFor();
    await message(page, "Hello you").waitFor();
    await hasCount(messages(page), 2);

    // What opened a dialog that is closed has the focus again.
    const opener = page.getByRole("button", { name: "Erase" }).last();
    await opener.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await holds(page, "document.activeElement?.tagName === 'BUTTON'");
    const menu = page.getByRole("button", { name: "Chat actions" });
    await menu.click();
    await page.getByRole("button", { name: "Rename…" }).click();
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const isBack = "document.activeElement?.getAttribute('aria-label') === 'Chat actions'";
    await holds(page, isBack);

    await say(page, "A story");
    await message(page, "Once upon a time").waitFor();
    await page.keyboard.press("Escape");
    await message(page, "Stopped").waitFor();
    const stored = await c.throughline.chats.messages("local:me");
    assert.equal((stored.messages.at(-1) as StoredMessage).partial_reason, "stopped");
  });
});

test("a message sent while an answer comes is shown as waiting, and answered next", async () => {
  const rest = gate();
  const script = [["One", { type: "wait" as const, until: rest.until }], ["Two"], ["Three"]];
  await onPage({ script }, async ({ page }, c) => {
    await say(page, "first");
    await message(page, "One").waitFor();
    await say(page, "second");
    await message(page, "second").filter({ hasText: "Queued" }).waitFor();
    await say(page, "third");
    await message(page, "third").filter({ hasText: "Queued" }).waitFor();
    // Longer than a connection is held for a message that waits.
    await page.waitForTimeout(1_800);
    rest.open();
    await message(page, "Three").waitFor();
    await hasCount(page.getByText("Queued"), 0);
    const stored = await c.throughline.chats.messages("local:me");
    const said = stored.messages.map(({ content }) => content);
    assert.deepEqual(said, ["first", "One", "second", "Two", "third", "Three"]);
    await hasCount(messages(page), 6);
  });
});

test("the page outlives a restart of the server: it says so, reconnects, and continues", async () => {
  await onPage(
    { script: [["One"]], expected: /ERR_|Failed to load/ },
    async ({ page, url }, first) => {
      await say(page, "before");
      await message(page, "One").waitFor();
      const last =
        "performance.getEntriesByType('resource').some((e) => /moments-view/.test(e.name))";
      await holds(page, last);
      await first.server.close();
      await page.getByText("Can't reach Throughline.").waitFor();
      // A view that was not opened yet is there all the same.
      await page.getByRole("link", { name: "Mood" }).click();
      await page.getByRole("heading", { name: "Mood", level: 1 }).waitFor();
      assert.equal(await page.getByText("Something went wrong").count(), 0);
      await page.goBack();
      // Said while the page is away, by another client.
      await first.throughline.chats.append("local:me", [{ role: "user", content: "in between" }]);
      const second = await companion([["Two"]], { throughline: first.throughline });
      await second.listen({ host: "127.0.0.1", port: Number(new URL(url).port) });
      try {
        // Unless the page was faster by itself.
        const now = page.getByRole("button", { name: "Try now" });
        await now.click({ timeout: 1_000 }).catch(() => undefined);
        await message(page, "in between").waitFor();
        await page.getByText("Can't reach Throughline.").waitFor({ state: "detached" });
        await say(page, "after");
        await message(page, "Two").waitFor();
      } finally {
        await page.goto("about:blank");
        await second.server.close();
      }
    },
  );
});

test("a browser signs in with the code of the terminal, and a wrong code is told so", async () => {
  const token = "t".repeat(10) + "0123456789abcdefABCDEF".repeat(3);
  const options = { token };
  await onPage({ options, script: [["Welcome"]], expected: /401/ }, async ({ page }, c) => {
    await page.getByLabel("Code").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByLabel("Code").fill("22222-22222");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("this code is not valid").waitFor();
    await page.getByLabel("Code").fill(c.server.signInCode());
    await page.getByRole("button", { name: "Sign in" }).click();
    await say(page, "hello");
    await message(page, "Welcome").waitFor();
  });
});

test("the page of another origin cannot read a chat, nor write one", async () => {
  await onPage({ script: [["no"]] }, async ({ page, context, url }, c) => {
    await field(page).waitFor();
    const other = await context.newPage();
    await other.goto("data:text/html,<p>elsewhere</p>");
    const outcome = await other.evaluate(async (address) => {
      const read = await fetch(`${address}/api/chats`).then(
        () => "read",
        () => "refused",
      );
      await fetch(`${address}/api/chats/local%3Ame/messages`, {
        ...{ method: "POST", mode: "no-cors", body: '{"content":"forged"}' },
        headers: { "content-type": "text/plain" },
      }).catch(() => undefined);
      return read;
    }, url);
    assert.equal(outcome, "refused");
    assert.deepEqual((await c.throughline.chats.list()).chats, []);
  });
});
