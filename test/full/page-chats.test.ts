// The list of chats: found, opened, renamed, copied, emptied, forgotten.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { ResponderError } from "../../src/core/models/responder.ts";
import type { Companion } from "../support/server-fixture.ts";
import {
  go,
  hasCount,
  holds,
  message,
  messages,
  onPage,
  say,
  test,
  useBrowser,
} from "./page-fixture.ts";

useBrowser();

test("a new chat opens and is talked in without a request that fails", async () => {
  await onPage({ path: "/chats", script: [["Hi"]] }, async ({ page }, c) => {
    const refused: string[] = [];
    page.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (response.status() >= 400 && pathname.startsWith("/api/chats")) refused.push(pathname);
    });
    await page.getByRole("button", { name: "New chat" }).click();
    await page.getByText("Nothing here yet").waitFor();
    await page.reload();
    await page.getByText("Nothing here yet").waitFor();
    await say(page, "Hello");
    await message(page, "Hi").waitFor();
    assert.deepEqual(refused, []);
    assert.equal((await c.get("/api/chats")).chats[0].title, "Hello");
  });
});

const withSlash = "discord:general/links?";

async function threeChats({ throughline, clock }: Companion): Promise<void> {
  for (const [id, words] of [
    ["local:me", "I like green tea"],
    ["telegram:42", "Is the kettle on?"],
    [withSlash, "The café by the river"],
  ] as const) {
    await throughline.chats.append(id, [
      { role: "user", content: words },
      { role: "assistant", content: "So I heard." },
    ]);
    clock.pass(60_000);
  }
}

const items = (page: Page) => page.locator(".chat-item");
const visit = { path: "/chats", prepare: threeChats };

async function choose(page: Page, chat: string, what: string): Promise<void> {
  await items(page).filter({ hasText: chat }).getByRole("button").click();
  await page.getByRole("button", { name: what }).click();
}

test("a chat is renamed, exported under its own name, copied whole, cleared, and opened whatever its id holds", async () => {
  await onPage({ ...visit, script: [["Yes"]] }, async ({ page }, c) => {
    for (const [from, name, to] of [
      ["Is the kettle on?", "Kitchen", "Kitchen"],
      // Without a name its first words name it again.
      ["Kitchen", "", "Is the kettle on?"],
    ] as const) {
      await choose(page, from, "Rename…");
      await page.getByRole("textbox", { name: "Name" }).fill(name);
      await page.keyboard.press("Enter");
      await items(page).filter({ hasText: to }).waitFor();
      await items(page).filter({ hasText: from }).waitFor({ state: "detached" });
    }
    // A dialog stays when text in it is selected past its edge; a click beside it closes it.
    await choose(page, "Is the kettle on?", "Rename…");
    const name = page.getByRole("textbox", { name: "Name" });
    await name.hover();
    await page.mouse.down();
    await page.mouse.move(5, 5);
    await page.mouse.up();
    await name.fill("Kitchen");
    await page.mouse.click(5, 5);
    await name.waitFor({ state: "detached" });

    await items(page).filter({ hasText: "green tea" }).getByRole("button").click();
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export as Markdown" }).click();
    assert.equal((await download).suggestedFilename(), "local_me.md");
    await page.keyboard.press("Escape");
    await choose(page, "Is the kettle on?", "Copy into a new chat…");
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await message(page, "Is the kettle on?").waitFor();
    await hasCount(messages(page), 2);
    assert.equal((await c.throughline.chats.list()).chats.length, 4);

    await go(page, "/chats");
    await items(page).filter({ hasText: "The café" }).getByRole("link").first().click();
    await message(page, "The café by the river").waitFor();
    assert.equal(new URL(page.url()).pathname, `/chats/${encodeURIComponent(withSlash)}`);
    await page.reload();
    await say(page, "Is it open?");
    await message(page, /^\s*CompanionYes/).waitFor();
    assert.equal((await c.throughline.chats.messages(withSlash)).messages.length, 4);

    // Nothing of a chat that is cleared while it is open is shown any more.
    await go(page, "/");
    await message(page, "I like green tea").waitFor();
    await page.getByRole("button", { name: "Chat actions" }).click();
    await page.getByRole("button", { name: "Clear…" }).click();
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await page.getByText("This chat was cleared").waitFor();
    await hasCount(messages(page), 0);
    await page.reload();
    await page.getByText("This chat was cleared").waitFor();
  });
});

test("a filter leaves the chats that are unanswered or damaged, and is in the address", async () => {
  const fails = {
    type: "fail" as const,
    error: new ResponderError("the model is away", { kind: "refused" }),
  };
  const prepare = async (c: Companion) => {
    await threeChats(c);
    await c.post("/api/chats/local%3Alost/messages", { content: "Nobody answers" });
  };
  await onPage({ path: "/chats", prepare, script: [[fails]] }, async ({ page, url }) => {
    for (const [name, chats] of [
      ["Unanswered", ["Nobody answers"]],
      ["Damaged", []],
    ] as const) {
      const filter = page.getByRole("button", { name });
      await items(page).nth(3).waitFor();
      await filter.click();
      await items(page).filter({ hasText: "kettle" }).waitFor({ state: "detached" });
      assert.equal(page.url(), `${url}/chats?${name.toLowerCase()}=1`);
      await page.reload();
      await page.getByText(chats[0] ?? "No damaged chats").waitFor();
      assert.equal(await filter.getAttribute("aria-pressed"), "true");
      assert.deepEqual(await items(page).locator(".chat-item-title").allTextContents(), chats);
      await filter.click();
    }
    await items(page).nth(3).waitFor();
  });
});

test("a long list comes in pages, each of which leads to its first chat, and every chat can be reached", async () => {
  const prepare = async ({ throughline, clock }: Companion) => {
    for (let n = 1; n <= 120; n++) {
      await throughline.chats.append(`local:${n}`, [{ role: "user", content: `chat ${n}` }]);
      clock.pass(1_000);
    }
  };
  await onPage({ path: "/chats", prepare }, async ({ page }) => {
    await items(page).nth(49).waitFor();
    await hasCount(items(page), 50);
    await page.getByRole("button", { name: "Show more" }).press("Enter");
    await items(page).nth(99).waitFor();
    const isFirst =
      "document.activeElement?.closest('.chat-item')?.textContent.includes('chat 70')";
    await holds(page, `${isFirst} === true`);
    await page.getByRole("button", { name: "Show more" }).click();
    await items(page).nth(119).waitFor();
    await hasCount(page.getByRole("button", { name: "Show more" }), 0);
  });
});

const longChat = "telegram:saffron";
const longVisit = { path: "/chats", browser: { viewport: { width: 1280, height: 800 } } };

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

/** Whether the message that was found is wholly in sight, in the upper half of the transcript. */
const isInSight = `(() => {
  const row = document.querySelector(".found")?.getBoundingClientRect();
  const box = document.querySelector(".transcript-box")?.getBoundingClientRect();
  return row !== undefined && row.height > 0 && row.top >= box.top
    && row.bottom <= box.bottom && row.top < box.top + box.height / 2;
})()`;
const isFocused = `document.activeElement?.matches(".found") === true`;
const gapAtEnd = `(() => {
  const box = document.querySelector(".transcript-box");
  return box.scrollHeight - box.scrollTop - box.clientHeight;
})()`;

test("a hit opens its chat with the message in sight, marked and focused; one that is gone since at the end, with a note", async () => {
  const count = 1_500;
  await onPage(
    { ...longVisit, prepare: saffronAt([1, 1_470], count) },
    async ({ page, url }, c) => {
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
        await holds(page, isInSight);
        await holds(page, isFocused);
        await hasCount(page.getByRole("region", { name: `Search result: ${what}` }), 1);
        await page.locator(".found:not(.is-marked)").waitFor();
        await holds(page, isInSight);
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
    },
  );
});

test("a message that was found is still there after a reload, and Back leads to the search", async () => {
  await onPage({ ...longVisit, prepare: saffronAt([300], 900) }, async ({ page, url }) => {
    await searchSaffron(page);
    await followHit(page);
    await holds(page, isInSight);
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
      await holds(page, isInSight);
      await holds(page, isFocused);
    }
  });
});
