// The list of chats: found, opened, renamed, copied, emptied, forgotten.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { ResponderError } from "../../src/core/models/responder.ts";
import type { Companion } from "../support/server-fixture.ts";
import {
  go,
  hasCount,
  hold,
  holds,
  message,
  messages,
  onPage,
  say,
  takesNoWords,
  test,
} from "./page-fixture.ts";

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
      const letGo = await hold(page, "**/rename");
      await page.keyboard.press("Enter");
      await takesNoWords(page.getByRole("textbox", { name: "Name" }), letGo);
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
