// A long transcript: read from its end, page by page, with few rows and no jump.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Companion } from "../support/server-fixture.ts";
import {
  field,
  gate,
  go,
  hasCount,
  holds,
  message,
  messages,
  onPage,
  say,
  test,
  violations,
} from "./page-fixture.ts";
import { box, chatOf, firstInSight, scrollBy } from "./transcript-fixture.ts";

test("what is read stays where it is when older messages come in above", async () => {
  await onPage({ prepare: chatOf(1_000) }, async ({ page }) => {
    await message(page, "Message 1000 of them.").waitFor();
    // Older pages come only when the test says so.
    const waiting: (() => void)[] = [];
    await page.route("**/messages?*before=*", async (route) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      await route.continue();
    });
    for (let page_ = 0; page_ < 3; page_++) {
      while (waiting.length === 0) {
        await scrollBy(page, -400);
        await page.waitForTimeout(50);
      }
      await page.waitForTimeout(300);
      const before = await firstInSight(page);
      const height = await box(page).evaluate((each) => each.scrollHeight);
      waiting.shift()?.();
      await holds(
        page,
        `document.querySelector(".transcript-box").scrollHeight > ${height + 1_000}`,
      );
      await page.waitForTimeout(300);
      const after = await firstInSight(page);
      assert.equal(after.n, before.n);
      assert.ok(Math.abs(after.top - before.top) <= 2, `moved by ${after.top - before.top} px`);
    }
  });
});

test("who scrolled up is not pulled down by an answer, who is at the end sees it come, and edited words stay out of sight", async () => {
  const long = "A line of the answer that comes in.\n\n";
  const script = [Array.from({ length: 40 }, () => long), ["Short"], ["Better"]];
  const visit = { prepare: chatOf(200), script, expected: /ERR_FAILED/ };
  await onPage(visit, async ({ page }, c) => {
    await message(page, "Message 200 of them.").waitFor();
    await say(page, "Go on");
    await message(page, "scripted · script-1").waitFor();
    const gap = () =>
      box(page).evaluate((each) => each.scrollHeight - each.scrollTop - each.clientHeight);
    await page.waitForTimeout(300);
    assert.ok((await gap()) < 100, `${await gap()} px above the end`);
    await scrollBy(page, -2_000);
    await page.waitForTimeout(300);
    const before = await firstInSight(page);
    await c.say("From elsewhere");
    await page.waitForTimeout(500);
    const after = await firstInSight(page);
    assert.equal(after.n, before.n);
    assert.ok(Math.abs(after.top - before.top) <= 2, `moved by ${after.top - before.top} px`);

    const toEnd = page.getByRole("button", { name: "Jump to the latest message" });
    await toEnd.click();
    const last = message(page, "From elsewhere");
    await last.hover();
    await last.getByRole("button", { name: "Edit in a new chat" }).click();
    const edited = page.getByLabel("Edited message");
    await edited.fill("other words");
    for (let step = 0; (await edited.count()) > 0 && step < 20; step++) {
      await scrollBy(page, -2_000);
      await page.waitForTimeout(50);
    }
    await hasCount(edited, 0);
    await toEnd.click();
    await edited.waitFor();
    assert.equal(await edited.inputValue(), "other words");
    // They stay when they cannot be sent, too.
    await page.route("**/fork", (route) => route.abort());
    const send = page.getByRole("button", { name: "Send in a new chat" });
    await send.click();
    await page.getByText("Can't reach Throughline.").waitFor();
    assert.equal(await edited.inputValue(), "other words");
    await page.unroute("**/fork");
    await send.click();
    await page.waitForURL(/\/chats\//);
    await message(page, "Better").waitFor();
  });
});

test("pages that do not come can be asked for again; the beginning is reached, and said to be it", async () => {
  const prepare = async (c: Companion) => {
    await chatOf(230)(c);
    const said = [
      { role: "user", content: "Hello", name: "Ann <b>&" },
      { role: "user", content: "Hello too" },
    ] as const;
    await c.throughline.chats.append("local:group", said);
  };
  await onPage({ prepare, expected: /ERR_FAILED/ }, async ({ page }) => {
    await message(page, "Message 230 of them.").waitFor();
    let isCut = true;
    await page.route("**/messages?*before=*", (route) => {
      return isCut ? route.abort() : route.continue();
    });
    const failed = page.getByText("Earlier messages could not be loaded.");
    while ((await failed.count()) === 0) {
      await scrollBy(page, -2_000);
      await page.waitForTimeout(50);
    }
    isCut = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await failed.waitFor({ state: "detached" });
    for (let step = 0; step < 60; step++) {
      await scrollBy(page, -2_000);
      await page.waitForTimeout(50);
      if ((await page.getByText("Start of the chat").count()) > 0) break;
    }
    await page.getByText("Start of the chat").waitFor();
    await message(page, "Message 1 of them.").waitFor();
    assert.ok((await messages(page).count()) > 0);

    // Who of a group said something stands above it, as text.
    await go(page, "/chats/local%3Agroup");
    await message(page, "Hello too").waitFor();
    const headings = await page.locator(".message-user h2").allTextContents();
    assert.deepEqual(headings, ["Ann <b>&", "You"]);
  });
});

/** Where a chat of these is opened at one of them. */
async function addressOf(
  { throughline }: Companion,
  n: number,
  chat = "local:me",
): Promise<string> {
  const { messages } = await throughline.chats.messages(chat, { before: n + 1, limit: 1 });
  const path = chat === "local:me" ? "/" : `/chats/${encodeURIComponent(chat)}`;
  return `${path}?message=${messages[0]!.id}&seq=${n}`;
}

/** Opens a chat at one of its messages, which is then in sight. */
async function openAt(page: Page, address: string): Promise<void> {
  await go(page, address);
  await found(page).waitFor();
  await holds(page, isFocused);
}

const found = (page: Page) => page.locator(".found");
const isFocused = `document.activeElement?.matches(".found") === true`;
/** Below the top of the transcript, which moves when the head grows by the name of a model. */
async function topOfFound(page: Page): Promise<number> {
  const [row, around] = [await found(page).boundingBox(), await box(page).boundingBox()];
  return (row?.y ?? Number.NaN) - (around?.y ?? Number.NaN);
}

test("a message that was found, below the top of what was read or at the end, stays where it is until somebody moves", async () => {
  const long = "A line of the answer that comes in.\n\n";
  const script = Array.from({ length: 4 }, () => Array.from({ length: 40 }, () => long));
  const prepare = async (c: Companion) => {
    for (const chat of ["local:me", "local:two"]) await chatOf(200, chat)(c);
  };
  await onPage({ path: "/memory", prepare, script }, async ({ page }, c) => {
    for (const [chat, n] of [
      ["local:me", 151],
      ["local:two", 200],
    ] as const) {
      const hear = (content: string) =>
        c.post(`/api/chats/${encodeURIComponent(chat)}/messages`, { content });
      await openAt(page, await addressOf(c, n, chat));
      await page.waitForTimeout(500);
      const before = await topOfFound(page);
      await hear("From elsewhere");
      await page.getByRole("button", { name: "Jump to the latest message" }).waitFor();
      await page.waitForTimeout(300);
      const after = await topOfFound(page);
      assert.ok(Math.abs(after - before) <= 2, `moved by ${after - before} px`);
      await box(page).hover();
      for (let step = 0; step < 80; step++) await page.mouse.wheel(0, 1_000);
      const newest = page.getByRole("button", { name: "Jump to the latest message" });
      for (let step = 0; step < 40 && (await newest.count()) > 0; step++) {
        await page.mouse.wheel(0, 4_000);
        await page.waitForTimeout(50);
      }
      await hasCount(newest, 0);
      await hear("Once more");
      await page.waitForTimeout(300);
      await holds(
        page,
        `(({ scrollHeight, scrollTop, clientHeight }) =>
          scrollHeight - scrollTop - clientHeight < 100)(document.querySelector(".transcript-box"))`,
      );
    }
  });
});

test("the keyboard scrolls on from a message that was found, also when it is out of sight; Talk leads to the end", async () => {
  await onPage({ path: "/memory", prepare: chatOf(400) }, async ({ page, url }, c) => {
    await openAt(page, await addressOf(c, 150));
    const { n } = await firstInSight(page);
    for (let step = 0; step < 12; step++) {
      await page.keyboard.press("PageDown");
      await page.waitForTimeout(250);
    }
    await hasCount(found(page), 0);
    await holds(page, `document.activeElement?.matches(".transcript-box") === true`);
    const further = await firstInSight(page);
    assert.ok(further.n > n + 20, `from ${n} to ${further.n}`);
    await page.getByRole("link", { name: "Talk", exact: true }).click();
    await message(page, "Message 400 of them.").waitFor();
    assert.equal(page.url(), `${url}/`);
  });
});

test("what was found takes no focus from the field that is typed in, is asked for again, and is marked for a moment", async () => {
  const visit = { path: "/memory", prepare: chatOf(400), expected: /ERR_FAILED/ };
  await onPage(visit, async ({ page, url }, c) => {
    const address = `${url}${await addressOf(c, 150)}`;
    const older = gate();
    await page.route("**/messages?*before=*", async (route) => {
      await older.until;
      await route.continue();
    });
    await page.goto(address);
    await page.getByText("Loading the message you searched for").waitFor({ state: "attached" });
    await field(page).click();
    await page.keyboard.type("So far");
    older.open();
    await found(page).waitFor();
    await page.keyboard.type(" I type");
    assert.equal(await field(page).inputValue(), "So far I type");
    await field(page).fill("");
    await page.unroute("**/messages?*before=*");

    let isCut = true;
    await page.route("**/messages?*before=*", (route) => {
      return isCut ? route.abort() : route.continue();
    });
    await page.goto(address);
    await page.getByText("This message could not be loaded.").waitFor();
    await message(page, "Message 400 of them.").waitFor();
    isCut = false;
    await page.getByRole("button", { name: "Try again" }).last().click();
    await message(page, "Message 150 of them.").waitFor();
    await holds(page, isFocused);

    for (const [colorScheme, reducedMotion] of [
      ["light", "no-preference"],
      ["dark", "reduce"],
    ] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion });
      await go(page, "/memory");
      await page.getByRole("heading", { name: "Memory", level: 1 }).waitFor();
      await openAt(page, await addressOf(c, 150));
      await page.locator(".found.is-marked").waitFor();
      const accent = colorScheme === "light" ? "rgb(15, 107, 92)" : "rgb(115, 205, 184)";
      const style = (name: string) => `getComputedStyle(document.querySelector(".found")).${name}`;
      await holds(page, `${style("outlineColor")} === "${accent}"`);
      await holds(page, `${style("outlineStyle")} === "solid"`);
      assert.deepEqual(await violations(page), []);
      const isStill = `parseFloat(${style("transitionDuration")}) <= 0.001`;
      assert.equal(await page.evaluate(isStill), reducedMotion === "reduce");
      await page.keyboard.press("Tab"); // the focus has a ring of its own
      await page.locator(".found:not(.is-marked)").waitFor();
      await holds(page, `${style("outlineColor")} === "rgba(0, 0, 0, 0)"`);
    }
  });
});
