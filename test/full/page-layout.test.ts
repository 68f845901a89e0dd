// What stays in sight, in its place and in focus: narrow and low windows, menus, Back, the keyboard.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import { ResponderError } from "../../src/core/models/responder.ts";
import { consentWording } from "../../src/moments/record/consent.ts";
import { awake, runOf } from "../support/awake.ts";
import { type Companion, companion, jsonOf } from "../support/server-fixture.ts";
import { momentsHome } from "./capture-fixture.ts";
import {
  field,
  gate,
  go,
  hasCount,
  holds,
  message,
  onPage,
  test,
  type Visit,
} from "./page-fixture.ts";

const addFeatures = awake({ memory: async () => "Ori likes green tea" });
const items = (page: Page) => page.locator(".chat-item");
const content = `document.getElementById("content")`;
const hasFocus = (around: string, words: string) =>
  `document.activeElement?.closest("${around}")?.textContent.includes("${words}") === true`;

function chats(count: number) {
  return async ({ throughline, clock }: Companion) => {
    for (let n = 1; n <= count; n++) {
      await throughline.chats.append(`local:${n}`, [{ role: "user", content: `tea ${n}` }]);
      clock.pass(1_000);
    }
  };
}

/** Two replies that were liked. */
async function twoMoments(t: TestContext): Promise<Visit> {
  const { moments, options } = await momentsHome(t);
  const prepare = async (c: Companion) => {
    const agreed = { messages: true, frames: false, audio: false, wording: consentWording };
    moments.recorder.agree(agreed);
    for (const what of ["the first joke", "the second joke"]) {
      const { assistant } = await jsonOf(await c.say("Tell me a joke"), 200);
      const body = { sentiment: "positive", what, target_message_id: assistant.id };
      await jsonOf(await c.post("/api/feedback", body), 201);
    }
  };
  const script = [["Knock, **knock**"], ["Who is *there*?"]];
  return { path: "/moments", script, prepare, options };
}

test("the mood shrinks with its window, and nothing moves for who asked for less motion", async () => {
  const prepare = async ({ clock }: Companion) => clock.set(new Date().toISOString());
  const visit = { path: "/mood", options: { addFeatures }, prepare };
  const browser = { viewport: { width: 1280, height: 800 } };
  await onPage({ ...visit, browser }, async ({ page }, c) => {
    runOf(c).emotions.event("abuse");
    await page.locator(".history-chart canvas").first().waitFor();
    for (const width of [1000, 844, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await holds(page, `innerWidth === ${width} && ${content}.scrollWidth <= ${width}`);
      await holds(page, `${content}.scrollWidth === ${content}.clientWidth`);
    }
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.reload();
    await page.locator(".level").first().waitFor();
    const longest = `Math.max(...[...document.querySelectorAll("*")].flatMap((each) => {
      const style = getComputedStyle(each);
      return [...style.transitionDuration.split(","), ...style.animationDuration.split(",")];
    }).map((duration) => parseFloat(duration) * 1_000))`;
    await holds(page, `${longest} <= 1`);
    await page.getByRole("button", { name: /violence/i }).click();
    await page.locator("#content").getByText("Violence", { exact: true }).first().waitFor();
    const running =
      "document.getAnimations().map((one) => one.effect.getComputedTiming().duration)";
    await holds(page, `${running}.every((duration) => duration <= 1)`);
  });
});

test("a window of 320 by 256, a desk at 400 %, has height for what is said", async () => {
  const prepare = async (c: Companion) => {
    const words = "Some words of an answer that is long enough for a line or two.";
    for (let n = 0; n < 20; n++)
      await c.throughline.chats.append("local:me", [{ role: "assistant", content: words }]);
  };
  const browser = { viewport: { width: 320, height: 256 } };
  const script = [
    [{ type: "fail" as const, error: new ResponderError("gone", { kind: "refused" }) }],
  ];
  await onPage({ prepare, script, browser }, async ({ page }) => {
    const height = `document.querySelector(".transcript-box").getBoundingClientRect().height`;
    await message(page, "Some words").last().waitFor();
    await holds(page, `${height} >= 110`);
    await holds(
      page,
      `document.querySelector(".nav").getBoundingClientRect().bottom <= innerHeight`,
    );
    await holds(page, `document.documentElement.scrollWidth <= innerWidth`);
    await field(page).fill("Hello");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Answer it" }).waitFor();
    await holds(page, `${height} >= 72`);
  });
});

const menuIsInside = `(() => {
  const list = document.querySelector(".menu-list:not([hidden])").getBoundingClientRect();
  const view = ${content}.getBoundingClientRect();
  return list.height > 100 && list.top >= view.top && list.bottom <= view.bottom
    && list.left >= 0 && list.right <= innerWidth;
})()`;

test("the list of chats scrolls in a low window, is there again with Back, and opens its menus in sight", async () => {
  await onPage({ path: "/chats", prepare: chats(40) }, async ({ page }, c) => {
    const search = page.getByLabel("Search all chats");
    await search.fill("tea");
    await holds(page, `location.search === "?q=tea"`);
    await items(page).nth(30).hover();
    const top = Number(await page.evaluate(`${content}.scrollTop`));
    assert.ok(top > 0);
    await items(page).nth(30).getByRole("link").click();
    await message(page, "tea 10").waitFor();
    await holds(page, `${content}.scrollTop === 0`);
    await page.goBack();
    await items(page).nth(30).waitFor();
    assert.equal(await search.inputValue(), "tea");
    await holds(page, `Math.abs(${content}.scrollTop - ${top}) <= 1`);
    await search.fill("");
    await holds(page, `location.search === ""`);

    for (const [width, height] of [
      [844, 390],
      [1000, 480],
      [1280, 360],
    ] as const) {
      await page.setViewportSize({ width, height });
      await items(page).nth(39).waitFor();
      await holds(page, `document.documentElement.scrollHeight === ${height}`);
      await holds(page, `${content}.getBoundingClientRect().bottom <= ${height}`);
      await page.getByRole("link", { name: "Memory", exact: true }).click();
      await page.getByRole("heading", { name: "Memory", exact: true }).waitFor();
      await page.goBack();
    }
    for (const [width, height] of [
      [1280, 800],
      [390, 844],
      [320, 568],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.reload();
      await items(page).nth(39).getByRole("button").click();
      await page.getByRole("button", { name: "Forget…" }).waitFor();
      await holds(page, menuIsInside);
    }

    // A chat is forgotten after a question, with a receipt, and the focus is in the list.
    await page.setViewportSize({ width: 1280, height: 800 });
    const choose = async () => {
      await items(page).filter({ hasText: "tea 39" }).getByRole("button").click();
      await page.getByRole("button", { name: "Forget…" }).click();
    };
    await page.reload();
    await choose();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal((await c.throughline.chats.list()).chats.length, 40, "it is kept after all");
    await choose();
    await page.getByRole("button", { name: "Forget permanently" }).click();
    const receipt = page.getByRole("dialog", { name: "Forgotten" });
    await receipt.locator("tbody tr").first().waitFor();
    const places = await receipt.locator("tbody td:last-child").allTextContents();
    assert.equal(places.includes("0"), false, "what held nothing is not told of");
    await receipt.getByRole("button", { name: "Done" }).press("Enter");
    await items(page).filter({ hasText: "tea 39" }).waitFor({ state: "detached" });
    await holds(page, `document.activeElement === ${content}`);
    const left = (await c.throughline.chats.list()).chats.map(({ chat_id }) => chat_id);
    assert.deepEqual([left.length, left.includes("local:39")], [39, false]);

    // The menu of a talk in a low window scrolls.
    await page.setViewportSize({ width: 640, height: 400 });
    await go(page, "/chats/local%3A1");
    await page.getByRole("button", { name: "Chat actions" }).click();
    await holds(page, menuIsInside);
    await page.getByRole("button", { name: "Forget…" }).click();
    await page.getByRole("dialog").waitFor();
  });
});

test("a moment that is open is in the address: a reload keeps it, and Back closes it", async (t) => {
  await onPage(await twoMoments(t), async ({ page, url }) => {
    const moment = page.getByRole("region", { name: "Moment", exact: true });
    for (const [words, other] of [
      ["the second joke", "the first joke"],
      ["the first joke", "the second joke"],
    ] as const) {
      await page.locator(".moment-item").filter({ hasText: words }).click();
      await moment.getByRole("heading", { name: words }).waitFor();
      await page.reload();
      await moment.getByRole("heading", { name: words }).waitFor();
      await page.locator(".moment-item").filter({ hasText: other }).click();
      await moment.getByRole("heading", { name: other }).waitFor();
      if (words === "the first joke") await page.goBack();
      else await moment.getByRole("button", { name: "Close" }).click();
      await moment.waitFor({ state: "detached" });
      assert.equal(page.url(), `${url}/moments`);
      await holds(page, hasFocus(".moment-item", other));
    }
  });
});

test("what has the focus keeps it, or leaves it to what is around it", async () => {
  const prepare = async (c: Companion) => {
    c.clock.set(new Date().toISOString());
    await chats(1)(c);
  };
  await onPage({ path: "/waking", options: { addFeatures }, prepare }, async ({ page }) => {
    const { until, open } = gate();
    await page.route("**/api/sleep", async (route) => {
      await until;
      await route.continue();
    });
    const sleep = page.getByRole("button", { name: "Put to sleep" });
    await sleep.press("Enter");
    await holds(page, "document.querySelector('.restart-people [aria-disabled=true]') !== null");
    // A disabled button loses the focus with the next picture.
    await page.evaluate(
      "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))",
    );
    await sleep.press("Enter");
    open();
    await page.getByText("Asleep", { exact: true }).waitFor();
    await holds(page, `document.activeElement?.textContent === "Wake up"`);
    await page.getByRole("link", { name: "Talk", exact: true }).click();
    await page.getByRole("link", { name: "All chats" }).click();
    await items(page).getByRole("link").press("Enter");
    await field(page).focus();
    await page.goBack();
    await items(page).waitFor();
    await holds(page, `document.activeElement === ${content}`);
  });
});

test("the row of an interrupted chat has the focus after “Answer” and after “Dismiss”", async () => {
  const error = new ResponderError("the model is away", { kind: "refused" });
  const fails = [{ type: "fail" as const, error }];
  const { throughline, say, post } = await companion([fails, fails]);
  await say("Hello?");
  await post("/api/chats/local%3Atwo/messages", { content: "Anybody?" });
  const visit = { path: "/waking", script: [["Yes"]], options: { throughline, addFeatures } };
  await onPage(visit, async ({ page }) => {
    const done = page.getByText("Answered or dismissed since.");
    for (const [n, what] of ["Answer", "Dismiss"].entries()) {
      await page.getByRole("button", { name: what, exact: true }).first().press("Enter");
      await done.nth(n).waitFor();
      await hasCount(done, n + 1);
      await holds(page, hasFocus(".restart-list li", "Answered or dismissed since."));
    }
  });
});

test("a chat is reset with its provider from the menu, with all of them under Sessions, whose row then has the focus", async () => {
  let sessions: Companion["throughline"]["sessions"] | undefined;
  const providers = async () =>
    Object.keys((await sessions?.active("local:me"))?.provider_sessions ?? {});
  const prepare = async (c: Companion) => {
    sessions = c.throughline.sessions;
    await jsonOf(await c.say("Hi"), 200);
    await sessions.update("local:me", {
      ...{ turn: "t", provider: "claude", model: "m", messages: 3, cost_usd: 0, tokens: 7 },
      ...{ outcome: "answered", generation: 1, bucket_generation: 1 },
    });
  };
  await onPage({ script: [["Hello"]], prepare }, async ({ page }) => {
    const confirm = async () => {
      await page
        .getByRole("dialog")
        .getByRole("button", { name: /^(Reset|Start)$/ })
        .click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await page.getByRole("button", { name: "Chat actions" }).click();
    await page.getByRole("button", { name: "Reset session…" }).click();
    await page
      .getByRole("dialog")
      .getByText(/Sessions with other providers continue/)
      .waitFor();
    await confirm();
    assert.deepEqual(await providers(), ["claude"]);
    await page.getByRole("link", { name: "Status" }).click();
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByRole("button", { name: /^Reset the session with/ }).press("Enter");
    await confirm();
    await holds(page, hasFocus(".session-list > li", "Hi"));
    assert.deepEqual(await providers(), []);
    await page.getByRole("button", { name: /^Start a new session of/ }).click();
    await page
      .getByRole("dialog")
      .getByText(/No provider receives the earlier messages/)
      .waitFor();
    await confirm();
    assert.equal((await sessions?.active("local:me"))?.generation, 2);
  });
});
