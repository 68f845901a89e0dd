// Search: chats found while words are typed, by what was said, title or id; and the way from match to match.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Companion } from "../support/server-fixture.ts";
import { go, hasCount, holds, message, messages, onPage, test } from "./page-fixture.ts";

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

/** Whether this match is wholly in sight, in the upper half of the transcript. */
const inSight = (words: string) => `(() => {
  const row = document.querySelector(".found")?.getBoundingClientRect();
  const box = document.querySelector(".transcript-box")?.getBoundingClientRect();
  return row !== undefined && document.querySelector(".found").textContent.includes("${words}")
    && row.top >= box.top && row.bottom <= box.bottom && row.top < box.top + box.height / 2;
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

const longChat = "telegram:saffron";

/** A long chat in which these messages, and no others, are of saffron. */
function saffronAt(places: readonly number[], count: number) {
  return async ({ throughline }: Companion) => {
    const said = Array.from({ length: count }, (_, index) => {
      const role = index % 2 === 0 ? ("user" as const) : ("assistant" as const);
      const words = index % 7 === 0 ? `\n\n${"Long lines of words. ".repeat(index % 40)}` : "";
      const n = index + 1;
      const content = places.includes(n) ? `Saffron is dear: ${n}` : `Message ${n}.${words}`;
      return { id: `m${n}`, role, content };
    });
    for (let from = 0; from < count; from += 500) {
      await throughline.chats.append(longChat, said.slice(from, from + 500));
    }
  };
}

async function searchSaffron(page: Page): Promise<void> {
  await page.getByLabel("Search all chats").fill("saffron");
  await items(page).locator(".chat-item-match mark").waitFor();
}

const followHit = (page: Page) => items(page).getByRole("link").click();

const isFocused = `document.activeElement?.matches(".found") === true`;
const gapAtEnd = `(() => {
  const box = document.querySelector(".transcript-box");
  return box.scrollHeight - box.scrollTop - box.clientHeight;
})()`;

test("a hit opens its chat with the message in sight, marked and focused; one that is gone since at the end, with a note", async () => {
  const count = 1_500;
  await onPage({ ...visit, prepare: saffronAt([1, 1_470], count) }, async ({ page, url }, c) => {
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    for (const [what, pages] of [
      ["Saffron is dear: 1470", 2],
      ["Saffron is dear: 1", 3],
    ] as const) {
      await page.goto(`${url}/chats`);
      await searchSaffron(page);
      asked.length = 0;
      await followHit(page);
      await page.locator(".found.is-marked").filter({ hasText: what }).waitFor();
      await holds(page, inSight("Saffron is dear"));
      await holds(page, isFocused);
      await hasCount(page.getByRole("region", { name: `Search result: ${what}` }), 1);
      await page.locator(".found:not(.is-marked)").waitFor();
      await holds(page, inSight("Saffron is dear"));
      await hasCount(messages(page).filter({ hasText: `Message ${count}.` }), 0);
      const read = asked.filter((each) => each.includes("/messages?"));
      assert.ok(read.length <= pages, read.join("\n"));
      if (what !== "Saffron is dear: 1") await c.throughline.chats.erase(longChat, "m1470");
    }

    for (const what of ["erased", "cleared"] as const) {
      await page.goto(`${url}/chats`);
      await searchSaffron(page);
      // The list lets go of the hit as soon as it hears of it.
      const hit = await items(page).getByRole("link").getAttribute("href");
      const { chats } = c.throughline;
      if (what === "erased") await chats.erase(longChat, "m1");
      else await chats.clear(longChat);
      await go(page, hit ?? "");
      const note = page.getByRole("region", { name: "Search result" });
      await note.getByText("no longer shown").waitFor();
      if (what === "cleared") await page.getByText("This chat was cleared").waitFor();
      else {
        await message(page, `Message ${count}.`).waitFor();
        await holds(page, `${gapAtEnd} < 2`);
        await chats.append(longChat, [{ role: "user", content: "Saffron again" }]);
      }
      await holds(page, `document.activeElement === document.getElementById("message")`);
      await note.getByRole("button", { name: "Close" }).click();
      await note.waitFor({ state: "detached" });
      assert.equal(page.url(), `${url}/chats/${encodeURIComponent(longChat)}`);
    }
  });
});

test("until a search has its answer, the chats before it stand there as they did", async () => {
  await onPage({ ...visit, prepare: saffronAt([1], 3) }, async ({ page }) => {
    const field = page.getByLabel("Search all chats");
    for (const [path, rows] of [
      ["/chats", items(page)],
      ["/", page.locator(".beside-list li")],
    ] as const) {
      await go(page, path);
      await rows.first().waitFor();
      const answer = Promise.withResolvers<void>();
      await page.route("**/api/chats?*query=*", async (route) => {
        await answer.promise;
        await route.continue();
      });
      const asked = page.waitForRequest("**/api/chats?*query=*");
      await field.fill("saffron");
      await asked;
      await page.locator("[aria-busy=true]").waitFor();
      await hasCount(rows.locator("mark"), 0);
      assert.equal(
        await rows.getByRole("link").first().getAttribute("href"),
        "/chats/telegram%3Asaffron",
      );
      answer.resolve();
      await rows.locator("mark").first().waitFor();
      await page.unroute("**/api/chats?*query=*");
    }
  });
});

test("a message that was found is still there after a reload, and Back leads to the search", async () => {
  await onPage({ ...visit, prepare: saffronAt([300], 900) }, async ({ page, url }) => {
    await searchSaffron(page);
    await followHit(page);
    await holds(page, inSight("Saffron is dear"));
    for (const go of ["reload", "back", "away"] as const) {
      if (go === "reload") await page.reload();
      else if (go === "back") {
        await page.goBack();
        await items(page).locator(".chat-item-match mark").waitFor();
        assert.equal(page.url(), `${url}/chats?q=saffron`);
        assert.equal(await page.getByLabel("Search all chats").inputValue(), "saffron");
        await page.goForward();
      } else {
        await page.getByRole("link", { name: "Memory", exact: true }).click();
        await page.getByRole("heading", { name: "Memory", exact: true }).waitFor();
        await page.goBack();
      }
      await page.locator(".found.is-marked").waitFor();
      await holds(page, inSight("Saffron is dear"));
      await holds(page, isFocused);
    }
  });
});
