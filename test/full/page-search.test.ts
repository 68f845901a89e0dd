// Search: chats found while words are typed, by what was said, title or id; and the way from match to match.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Companion } from "../support/server-fixture.ts";
import { go, hasCount, holds, onPage, test, useBrowser } from "./page-fixture.ts";

useBrowser();

const items = (page: Page) => page.locator(".chat-item");
const searchField = (page: Page) => page.getByLabel("Search all chats");
const bar = (page: Page) => page.getByRole("region", { name: "Search in this chat" });

/** Three matches of saffron in one chat, a day apart from each other, and two other chats. */
async function prepare({ throughline, clock }: Companion): Promise<void> {
  const { chats } = throughline;
  clock.set(new Date(Date.now() - 10 * 86_400_000).toISOString());
  for (const part of [1, 2, 3]) {
    const said = Array.from({ length: 60 }, (_, index) => {
      const content = index === 30 ? `Saffron, part ${part}` : `Message ${part}-${index}`;
      return { role: index % 2 === 0 ? ("user" as const) : ("assistant" as const), content };
    });
    await chats.append("telegram:42", said);
    clock.pass(86_400_000);
  }
  await chats.append("local:spices", [{ role: "user", content: "Only one saffron bulb" }]);
  await chats.append("discord:7", [{ role: "user", content: "Hello" }]);
  await chats.rename("discord:7", "Garden plans");
  clock.set(new Date().toISOString());
}
const visit = { path: "/chats", prepare, browser: { viewport: { width: 1280, height: 800 } } };

/** Whether this match is wholly in sight. */
const inSight = (words: string) => `(() => {
  const row = document.querySelector(".found")?.getBoundingClientRect();
  const box = document.querySelector(".transcript-box")?.getBoundingClientRect();
  return row !== undefined && document.querySelector(".found").textContent.includes("${words}")
    && row.top >= box.top && row.bottom <= box.bottom;
})()`;

test("chats are found while words are typed, by what was said, title or id; Enter and the arrows open one", async () => {
  await onPage(visit, async ({ page, url }) => {
    await searchField(page).pressSequentially("saff");
    const many = items(page).filter({ hasText: "Saffron, part 3" });
    await many.getByText("3 matches").waitFor();
    assert.match((await many.locator(".chat-item-match time").getAttribute("title")) ?? "", /\d/);
    await items(page).filter({ hasText: "Only one saffron bulb" }).getByText("1 match").waitFor();
    await hasCount(items(page), 2);
    await searchField(page).fill("saff ");
    await page.getByText("No results").waitFor();

    // A chat that is found by its title or id opens at its end.
    for (const [query, marked] of [
      ["gard", "Gard"],
      ["discord", "discord"],
    ] as const) {
      await go(page, "/chats");
      await searchField(page).fill(query);
      await items(page).locator("mark", { hasText: marked }).waitFor();
      await hasCount(items(page), 1);
      await items(page).getByRole("link").click();
      await page.getByText("Hello", { exact: true }).waitFor();
      assert.equal(page.url(), `${url}/chats/discord%3A7`);
    }

    // The arrows go from the field through the chats that were found, and Enter opens one.
    await go(page, "/chats");
    await searchField(page).fill("saffron");
    await hasCount(items(page), 2);
    await searchField(page).focus();
    const focused = () =>
      page.evaluate("document.activeElement.closest('.chat-item')?.textContent");
    for (const [key, words] of [
      ["ArrowDown", "Only one saffron bulb"],
      ["ArrowDown", "Saffron, part 3"],
      ["ArrowDown", "Saffron, part 3"],
      ["ArrowUp", "Only one saffron bulb"],
    ] as const) {
      await page.keyboard.press(key);
      assert.match(String(await focused()), new RegExp(words), key);
    }
    await page.keyboard.press("ArrowUp");
    await page.locator("#chat-search:focus").waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await bar(page).getByText("match 3 of 3").waitFor();

    // Enter in the field opens the first chat that is found, also before it is there.
    await go(page, "/chats");
    await items(page).nth(2).waitFor();
    await searchField(page).pressSequentially("part");
    await page.keyboard.press("Enter");
    await bar(page).getByText("match 3 of 3").waitFor();
    await holds(page, inSight("part 3"));
  });
});

test("in a chat every match is counted, and the next and the previous one are a press away", async () => {
  await onPage(visit, async ({ page, url }, c) => {
    await searchField(page).fill("saffron");
    await items(page).filter({ hasText: "part 3" }).getByRole("link").click();
    await bar(page).getByText("match 3 of 3").waitFor();
    await holds(page, inSight("part 3"));
    const previous = bar(page).getByRole("button", { name: "Previous match" });
    const next = bar(page).getByRole("button", { name: "Next match" });
    const times = new Set<string | null>();
    for (const [n, button] of [
      [2, previous],
      [1, previous],
      [2, next],
      [3, next],
    ] as const) {
      await button.focus();
      await page.keyboard.press("Enter");
      await bar(page).getByText(`match ${n} of 3`).waitFor();
      await holds(page, inSight(`part ${n}`));
      times.add(await bar(page).locator("time").getAttribute("datetime"));
      const name = button === next ? "Next match" : "Previous match";
      await holds(page, `document.activeElement?.textContent === "${name}"`);
    }
    assert.equal(times.size, 3, "each has its own time");
    await page.reload();
    await bar(page).getByText("match 3 of 3").waitFor();
    await bar(page).getByRole("button", { name: "Close search" }).click();
    await bar(page).waitFor({ state: "detached" });
    assert.equal(page.url(), `${url}/chats/telegram%3A42`);

    // The list shows the time of the match, also where the chat has something newer.
    await c.throughline.chats.append("telegram:42", [{ role: "user", content: "Just now" }]);
    await go(page, "/chats");
    await searchField(page).fill("part 1");
    const at = await items(page).locator(".chat-item-match time").getAttribute("datetime");
    const days = (Date.now() - Date.parse(at ?? "")) / 86_400_000;
    assert.ok(days > 9.9 && days < 10.1, `${days} days`);
  });
});
