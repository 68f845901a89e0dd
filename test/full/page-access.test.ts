// Talking on the page, and every view of it: readable and reachable, in light and dark, by keyboard and ear.
import assert from "node:assert/strict";
import type { StoredMessage } from "../../src/core/chat/message.ts";
import { freePort } from "../support/loopback.ts";
import { type Companion, companion } from "../support/server-fixture.ts";
import {
  field,
  gate,
  go,
  hasCount,
  holds,
  looksFine,
  message,
  messages,
  onPage,
  say,
  test,
  violations,
} from "./page-fixture.ts";

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
    for (const text of ["second", "third"]) {
      // Its connection is held for a moment only.
      const isLetGo = page.waitForEvent("requestfailed");
      await say(page, text);
      await message(page, text).filter({ hasText: "Queued" }).waitFor();
      await isLetGo;
    }
    await hasCount(page.getByText("Queued"), 2);
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
  const port = await freePort();
  await onPage(
    { script: [["One"]], expected: /ERR_|Failed to load/, port },
    async ({ page }, first) => {
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
      await second.listen({ host: "127.0.0.1", port });
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

const markdown =
  "# A heading\n\nSome *words*, a [link](https://example.org), `code`, and:\n\n" +
  "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\nlet x = 1;\n```\n\n- [ ] one\n- two\n\n> quoted" +
  "\n\n![a cup](https://tea.example/c.png) and \\[\nx_1 * y_1\n\\]";

async function furnish({ throughline }: Companion): Promise<void> {
  const { chats } = throughline;
  const answered = { provider: "ollama", model: "qwen3" };
  await chats.append("local:me", [
    { id: "m1", role: "user", content: "hello" },
    { id: "m2", role: "assistant", content: markdown, ...answered },
    { role: "user", content: "secret" },
    { role: "assistant", content: "Cut", partial: true, partial_reason: "crash", ...answered },
  ]);
  const { messages } = await chats.messages("local:me");
  await chats.erase("local:me", messages[2]!.id);
  await chats.append("telegram:42", [{ role: "user", content: "Is the kettle on?" }]);
}

const views = [
  ["talk", "/", "Cut short by a crash"],
  ["an empty chat", "/chats/local%3Anew", "Nothing here yet"],
  ["an address that is none", "/moods", "There is nothing at this address"],
  ["chats", "/chats", "Is the kettle on?"],
  ["mood", "/mood", "Mood"],
  ["waking", "/waking", "Restart"],
  ["sessions", "/sessions", "Sessions"],
  ["memory", "/memory", "Memory"],
] as const;
test("axe finds nothing wrong with any view", async () => {
  await onPage({ prepare: furnish }, async ({ page }) => {
    for (const [view, path, words] of views) {
      await go(page, path);
      await page.locator("#content").getByText(words).first().waitFor();
      await page.locator(".loading").first().waitFor({ state: "detached" });
      await looksFine(page, view);
    }
  });
});

test("axe finds nothing wrong with menus, dialogs and a coming answer", async () => {
  const rest = gate();
  const script = [["Coming", { type: "wait" as const, until: rest.until }]];
  await onPage({ prepare: furnish, script }, async ({ page }) => {
    await say(page, "More");
    await message(page, "Coming").waitFor();
    assert.deepEqual(await violations(page), [], "a coming answer");
    rest.open();
    await page.getByRole("button", { name: "Chat actions" }).click();
    assert.deepEqual(await violations(page), [], "menu");
    for (const what of ["Rename…", "Copy into a new chat…", "Reset session…", "Forget…"]) {
      const item = page.getByRole("button", { name: what });
      if (!(await item.isVisible())) {
        await page.getByRole("button", { name: "Chat actions" }).click();
      }
      await item.click();
      await page.getByRole("dialog").waitFor();
      assert.deepEqual(await violations(page), [], what);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  });
});

test("the first step of the keyboard skips to the content, and all views are steps away", async () => {
  await onPage({ path: "/chats", prepare: furnish }, async ({ page }) => {
    await page.locator(".chat-item").first().waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.locator(":focus").textContent(), "Skip to content");
    await page.keyboard.press("Enter");
    await page.locator("#content:focus").waitFor();
    await page.getByRole("link", { name: "Talk", exact: true }).focus();
    await page.keyboard.press("Enter");
    await field(page).waitFor();
    const current = page.locator(".nav [aria-current=page]");
    assert.equal(await current.textContent(), "Talk");
  });
});

test("colours are chosen on the page, and stay chosen", async () => {
  await onPage({ browser: { colorScheme: "light" } }, async ({ page, url }) => {
    const choose = async (name: string) => {
      await page.getByRole("button", { name: "Theme" }).click();
      await page.getByRole("button", { name, exact: true }).click();
    };
    const ground = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
    await field(page).waitFor();
    const light = await ground();
    await choose("Dark");
    const dark = await ground();
    assert.notEqual(dark, light);
    // The page's own script comes late: what was chosen does not wait for it.
    const { until, open } = gate();
    await page.route("**/assets/index-*.js", async (route) => {
      await until;
      await route.continue();
    });
    await page.reload({ waitUntil: "commit" });
    const isDark = `document.body && getComputedStyle(document.body).backgroundColor === "${dark}"`;
    await holds(page, isDark);
    assert.equal(await field(page).count(), 0);
    open();
    await field(page).waitFor();
    assert.equal(await ground(), dark);
    await choose("Light");
    assert.equal(await ground(), light);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.equal(await ground(), light);
    await choose("System");
    assert.equal(await ground(), dark);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${url}/sessions`);
    await page.getByRole("combobox", { name: "Theme" }).selectOption("Light");
    assert.equal(await ground(), light);
  });
});
