// Beside the talk: the chats, in a column or a drawer; in its head: the companion.
import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import type { Page } from "playwright-core";
import { awake, runOf } from "../support/awake.ts";
import type { Companion } from "../support/server-fixture.ts";
import {
  field,
  gate,
  hasCount,
  holds,
  looksFine,
  message,
  onPage,
  say,
  test,
} from "./page-fixture.ts";

const day = 86_400_000;
const addFeatures = awake();
const desk = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };
/** A desk of 1280 by 1024 at 400 %. */
const large = { width: 320, height: 256 };

const column = (page: Page) => page.getByRole("navigation", { name: "Chats" });
const drawer = (page: Page) => page.getByRole("dialog", { name: "Chats" });
const rows = (page: Page) => page.locator(".beside-row");
const row = (page: Page, title: string) => rows(page).filter({ hasText: title });
const show = (page: Page) => page.getByRole("button", { name: "Show chats" });
const search = (page: Page) => page.getByLabel("Search all chats");

/** Four chats of four spans of days. The newest match of saffron has two pages of messages below it. */
async function prepare({ throughline, clock }: Companion): Promise<void> {
  const { chats } = throughline;
  // The days are this machine's: shortly before midnight the next one is waited for.
  const leftMs = new Date().setHours(24, 0, 0, 0) - Date.now();
  if (leftMs < 20_000) await wait(leftMs);
  const now = Date.now();
  const at = (days: number) => clock.set(new Date(now - days * day).toISOString());
  const ask = (content: string) => [{ role: "user" as const, content }];
  at(20);
  await chats.append("telegram:42", ask("Is the kettle on?"));
  at(5);
  await chats.append("local:spices", [...ask("Spices"), ...ask("Saffron is dear")]);
  const more = Array.from({ length: 150 }, (_, n) => ({
    role: "user" as const,
    content: `No ${n}`,
  }));
  await chats.append("local:spices", more);
  at(1);
  await chats.append("local:trip", ask("A trip to Lisbon"));
  at(0);
  await chats.append("local:me", ask("Good morning"));
}

test("the newest chats stand beside the talk, by day, and change as things happen", async () => {
  const rest = gate();
  const script = [[{ type: "wait" as const, until: rest.until }, "Hello"], ["Hi"]];
  await onPage({ prepare, script, browser: { viewport: desk } }, async ({ page, url }, c) => {
    await hasCount(rows(page), 4);
    const days = ["Today", "Yesterday", "Previous 7 days", "Previous 30 days"];
    assert.deepEqual(await page.locator(".beside-day").allTextContents(), days);
    const current = column(page).locator("[aria-current=page]");
    assert.equal(await current.textContent(), "Good morning");
    // The talk stays as it is while another chat is written in.
    await page.evaluate(`(() => {
      window.changes = 0;
      const talk = document.querySelector(".transcript");
      const note = () => { window.changes += 1; };
      new MutationObserver(note).observe(talk, { subtree: true, childList: true, attributes: true });
    })()`);
    c.clock.pass(60_000);
    const posted = c.post("/api/chats/telegram%3A42/messages", { content: "And now?" });
    await row(page, "kettle").getByText("answering").waitFor();
    await holds(page, `document.querySelector(".beside-title").textContent.includes("kettle")`);
    rest.open();
    await posted;
    await row(page, "kettle").getByText("new", { exact: true }).waitFor();
    assert.equal(await page.evaluate("window.changes"), 0);
    await row(page, "kettle").getByRole("link").click();
    await message(page, "Hello").waitFor();
    await hasCount(row(page, "kettle").getByText("new", { exact: true }), 0);
    assert.equal(page.url(), `${url}/chats/telegram%3A42`);
    await say(page, "Thanks");
    await message(page, "scripted · script-1").nth(1).waitFor();
    await hasCount(row(page, "kettle").locator(".tag"), 0);

    await page.getByRole("link", { name: "Memory", exact: true }).click();
    await column(page).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Talk", exact: true }).click();
    await message(page, "Hello").waitFor();
    await row(page, "Lisbon").getByRole("button").click();
    await page.getByRole("button", { name: "Rename…" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("Portugal");
    await page.keyboard.press("Enter");
    await row(page, "Portugal").waitFor();
    await row(page, "Portugal").getByRole("button").click();
    await page.getByRole("button", { name: "Forget…" }).click();
    await page.getByRole("button", { name: "Forget permanently" }).click();
    await row(page, "Portugal").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Done" }).press("Enter");
    assert.equal(page.url(), `${url}/chats/telegram%3A42`, "another chat was forgotten");
    await holds(page, `document.activeElement === document.getElementById("content")`);

    await page.getByRole("button", { name: "Chat actions" }).click();
    await page.getByRole("button", { name: "Forget…" }).click();
    await page.getByRole("button", { name: "Forget permanently" }).click();
    await page.getByRole("button", { name: "Done" }).press("Enter");
    await message(page, "Good morning").waitFor();
    assert.equal(page.url(), `${url}/`);
  });
});

test("a chat is begun and found by a key, from the column or without it", async () => {
  await onPage(
    { prepare, script: [["Hi"], ["Once", { type: "hang" }]], browser: { viewport: desk } },
    async ({ page, url }) => {
      await hasCount(rows(page), 4);
      await hasCount(page.locator(".mood-link"), 0); // nothing of a companion that is not there
      await page.keyboard.press("Control+Shift+O");
      await page.getByText("Nothing here yet").waitFor();
      await say(page, "Something new");
      await row(page, "Something new").locator("[aria-current=page]").waitFor();
      await page.getByRole("button", { name: "New chat", exact: true }).click();
      await page.getByText("Nothing here yet").waitFor();

      await page.getByRole("button", { name: "Hide chats" }).press("Enter");
      await column(page).waitFor({ state: "detached" });
      await holds(page, `document.activeElement?.getAttribute("aria-label") === "Show chats"`);
      await page.reload();
      await field(page).waitFor();
      await hasCount(column(page), 0);
      await page.keyboard.press("Control+k");
      await page.locator("#chat-search:focus").waitFor();
      await page.keyboard.type("saff");
      await hasCount(rows(page), 1);
      assert.equal(await rows(page).locator("mark").textContent(), "Saff");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.locator(".found").filter({ hasText: "Saffron is dear" }).waitFor();
      await hasCount(rows(page), 1);
      await page.getByRole("link", { name: "All chats" }).click();
      assert.equal(page.url(), `${url}/chats?q=saff`);
      await page.locator(".chat-item").waitFor();
      assert.equal(await page.locator(".nav [aria-current=page]").textContent(), "Talk");
      await page.getByRole("link", { name: "Talk", exact: true }).click();
      await search(page).fill("kettle");
      await page.keyboard.press("Enter");
      await message(page, "Is the kettle on?").waitFor();
      await search(page).fill("zebra");
      await column(page).getByText("No results").waitFor();
      await say(page, "A story");
      await message(page, "Once").waitFor();
      await search(page).press("Escape"); // it stops no answer
      await hasCount(rows(page), 5);
      await page.waitForTimeout(100);
      await hasCount(page.getByRole("button", { name: "Stop the answer" }), 1);
    },
  );
});

test("of many chats one page is asked for, and all of the page is at most 200 kB on the wire", async () => {
  const many = async (c: Companion) => {
    c.clock.set(new Date().toISOString());
    for (let n = 0; n < 120; n++)
      await c.throughline.chats.append(`local:${n}`, [
        { role: "user", content: `Chat number ${n}` },
      ]);
    await c.throughline.chats.append("local:me", [{ role: "user", content: "Hello" }]);
  };
  const visit = { prepare: many, path: "/mood", options: { addFeatures } };
  await onPage({ ...visit, browser: { viewport: desk } }, async ({ page, url, context }) => {
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.getByRole("link", { name: "Talk", exact: true }).click();
    await hasCount(rows(page), 50);
    await column(page).getByRole("link", { name: "All chats" }).waitFor();
    await message(page, "Hello").waitFor();
    assert.deepEqual(
      asked.filter((path) => path === "/api/chats"),
      ["/api/chats"],
    );

    const client = await context.newCDPSession(page);
    await client.send("Network.enable");
    await client.send("Network.setCacheDisabled", { cacheDisabled: true });
    await page.goto(`${url}/icon.svg`);
    // By address, once: where the stream of events opens late, the page reads again what it read before.
    const addresses = new Map<string, string>();
    const sizes = new Map<string, number>();
    client.on("Network.requestWillBeSent", ({ requestId, request }) => {
      addresses.set(requestId, request.url);
    });
    client.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      sizes.set(addresses.get(requestId) ?? requestId, encodedDataLength);
    });
    await page.goto(url);
    await hasCount(rows(page), 50);
    await page.locator(".mood-link").waitFor();
    await page.getByRole("button", { name: "Hold to talk" }).waitFor();
    await message(page, "Hello").waitFor();
    const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    assert.ok(bytes > 100_000 && bytes <= 200_000, `${bytes} bytes`);
  });
});

test("a drawer holds the chats on a phone", async () => {
  const browser = { viewport: phone, hasTouch: true };
  await onPage({ prepare, browser }, async ({ page, url }) => {
    await message(page, "Good morning").waitFor();
    await hasCount(rows(page), 0);
    const tabs = page.locator(".nav-link:visible");
    assert.deepEqual(await tabs.allTextContents(), ["Talk", "Mood", "Memory", "Status"]);
    const words = `[...document.querySelectorAll(".nav li span")].every((word) =>
      word.scrollWidth <= word.parentElement.clientWidth && word.offsetHeight > 10
        && parseFloat(getComputedStyle(word).fontSize) >= 12)`;
    assert.equal(await page.evaluate(words), true, "each with a word that can be read");
    const inside = `document.activeElement.closest("dialog[open].drawer") !== null`;
    const closed = () => drawer(page).waitFor({ state: "detached" });
    await show(page).press("Enter");
    await drawer(page).waitFor();
    for (let steps = 0; steps < 12; steps++) {
      const isInside = `${inside} || document.activeElement === document.body`;
      assert.equal(await page.evaluate(isInside), true, "Tab stays in the drawer");
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Escape");
    await closed();
    await holds(page, `document.activeElement?.getAttribute("aria-label") === "Show chats"`);
    await show(page).tap();
    await row(page, "Lisbon").getByRole("button").tap();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Rename…" }).waitFor({ state: "detached" });
    assert.equal(await drawer(page).count(), 1, "Escape closed the menu alone");
    await page.touchscreen.tap(phone.width - 10, 100);
    await closed();
    await show(page).tap();
    await row(page, "Lisbon").getByRole("link").tap();
    await message(page, "A trip to Lisbon").waitFor();
    await closed();
    await page.keyboard.press("Meta+k");
    await page.locator("#chat-search:focus").waitFor();
    await page.keyboard.type("saffron");
    await page.keyboard.press("Enter");
    await page.locator(".found").filter({ hasText: "Saffron is dear" }).waitFor();
    await closed();
    await show(page).tap();
    await page.getByRole("button", { name: "New chat", exact: true }).tap();
    await page.getByText("Nothing here yet").waitFor();
    await closed();
    await show(page).tap();
    await drawer(page).getByRole("link", { name: "All chats" }).tap();
    await page.locator(".chat-item").first().waitFor();
    assert.equal(page.url(), `${url}/chats`);
  });
});

test("the companion is in the head of a chat: its mood as it changes, its pats and its sleep", async () => {
  const browser = { viewport: desk };
  await onPage({ prepare, browser, options: { addFeatures } }, async ({ page, url }, c) => {
    c.clock.set(new Date().toISOString());
    const link = page.getByRole("link", { name: /^Mood: / });
    await link.waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    runOf(c).emotions.override("proud", 60);
    runOf(c).tick();
    await page.getByRole("link", { name: "Mood: Proud" }).waitFor();
    await hasCount(page.locator(".is-patted"), 0);
    await page.getByRole("button", { name: "Pat", exact: true }).click();
    await page.locator(".is-patted").waitFor();
    await page.getByText("It felt that.").waitFor();
    await hasCount(page.locator(".face-sleep"), 0);
    await c.post("/api/sleep", { state: "asleep" });
    await page.getByRole("link", { name: "Mood: Asleep" }).waitFor();
    await hasCount(page.locator(".face-sleep"), 1);
    assert.equal(asked.includes("/api/emotions"), false, "events alone change it");
    await page.setViewportSize(phone);
    await page.getByRole("button", { name: "Pat or scratch" }).click();
    await page.getByRole("button", { name: "Pat", exact: true }).click();
    await page.getByText("It felt that.").waitFor();
    await link.click();
    assert.equal(page.url(), `${url}/mood`);
  });
});

test("axe finds nothing wrong with the chats beside the talk", async () => {
  const browser = { viewport: desk };
  await onPage({ prepare, browser, options: { addFeatures } }, async ({ page }, c) => {
    c.clock.set(new Date().toISOString());
    await page.locator(".mood-link").waitFor();
    await hasCount(rows(page), 4);
    await looksFine(page, "desk", { only: [desk] });
    await page.getByRole("button", { name: "Theme" }).click();
    await looksFine(page, "theme", { only: [desk] });
    await row(page, "kettle").getByRole("button").click();
    await looksFine(page, "menu", { only: [desk] });
    await search(page).fill("saffron");
    await rows(page).locator("mark").waitFor();
    await looksFine(page, "search", { only: [desk] });
    await search(page).fill("");
    for (const viewport of [{ width: 900, height: 700 }, phone, large]) {
      await page.setViewportSize(viewport);
      await looksFine(page, "the talk", { only: [viewport] });
      if (viewport.width === 900) continue;
      await show(page).click();
      await hasCount(rows(page), 4);
      await looksFine(page, "drawer", { only: [viewport] });
      await page.keyboard.press("Escape");
    }
  });
});

test("all windows of a browser share one stream of events, also when the one that has it is closed", async () => {
  await onPage({ script: [["One"], ["Two"]], prepare }, async ({ page, context, url }) => {
    let streams = 0;
    context.on("request", (request) => {
      if (request.url().endsWith("/api/events")) streams++;
    });
    const others = await Promise.all(Array.from({ length: 6 }, () => context.newPage()));
    for (const other of others) {
      await other.goto(`${url}/`);
      await row(other, "Lisbon").waitFor();
    }
    assert.ok(streams <= 1, `${streams} streams: the first window has one`);
    streams = 0;
    const rename = async (title: string) => {
      const headers = { "content-type": "application/json" };
      const request = { method: "POST", headers, body: JSON.stringify({ title }) };
      assert.ok((await fetch(`${url}/api/chats/local:trip/rename`, request)).ok);
    };
    await rename("Porto");
    for (const other of others) await row(other, "Porto").waitFor();
    await page.close();
    await rename("Braga");
    for (const other of others) await row(other, "Braga").waitFor();
    assert.equal(streams, 1);
  });
});
