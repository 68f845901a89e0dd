// Every view in light and dark, on a desk and on a phone: readable, reachable, by keyboard and ear.
import assert from "node:assert/strict";
import type { Companion } from "../support/server-fixture.ts";
import {
  field,
  gate,
  go,
  holds,
  looksFine,
  message,
  onPage,
  say,
  test,
  useBrowser,
  violations,
} from "./page-fixture.ts";

useBrowser();

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
