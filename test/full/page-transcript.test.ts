// A long transcript: read from its end, page by page, with few rows and no jump.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { randomText } from "../support/random-text.ts";
import type { Companion } from "../support/server-fixture.ts";
import {
  field,
  gate,
  hasCount,
  holds,
  message,
  messages,
  onPage,
  say,
  skip,
  unlessStarved,
  useBrowser,
  violations,
} from "./page-fixture.ts";

useBrowser();

/** So many rows at most are in the page, however long the chat is. */
const maxRows = 60;

function chatOf(count: number) {
  return async ({ throughline }: Companion) => {
    const batch = 1_000;
    for (let from = 1; from <= count; from += batch) {
      const said = Array.from({ length: Math.min(batch, count - from + 1) }, (_, index) => {
        const n = from + index;
        const role = n % 2 === 1 ? ("user" as const) : ("assistant" as const);
        const words = n % 7 === 0 ? `\n\n${"Long lines of words. ".repeat(n % 40)}` : "";
        return { role, content: `Message ${n} of them.${words}` };
      });
      await throughline.chats.append("local:me", said);
    }
  };
}

/** Notes every task of the page that took longer than 50 ms. */
const noteLongTasks = () => {
  const all = globalThis as unknown as { longTasks: number[] };
  all.longTasks = [];
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) all.longTasks.push(duration);
  });
  // biome-ignore lint/suspicious/noExplicitAny: Node's type does not know it
  observer.observe({ type: "longtask" as any });
};

const box = (page: Page) => page.locator(".transcript-box");

async function scrollBy(page: Page, px: number): Promise<void> {
  await box(page).evaluate((each, by) => each.scrollBy(0, by), px);
}

/** The number of the first message in sight, and where it is. */
async function firstInSight(page: Page): Promise<{ readonly n: number; readonly top: number }> {
  return box(page).evaluate((each) => {
    const edge = each.getBoundingClientRect().top;
    for (const row of each.querySelectorAll(".message")) {
      const { top, bottom } = row.getBoundingClientRect();
      if (bottom <= edge) continue;
      const [, n = "0"] = row.textContent?.match(/Message (\d+) of/) ?? [];
      return { n: Number(n), top: top - edge };
    }
    return { n: 0, top: 0 };
  });
}

test(
  "a chat of 200,000 messages opens at its end and is scrolled back without a long task",
  {
    skip,
    timeout: 180_000,
  },
  unlessStarved(async () => {
    const count = 200_000;
    await onPage({ prepare: chatOf(count), inject: noteLongTasks }, async ({ page }) => {
      await message(page, `Message ${count} of them.`).waitFor();
      await page.waitForTimeout(500);
      await page.evaluate("longTasks.length = 0");
      const requests: string[] = [];
      page.on("request", (request) => requests.push(request.url()));
      let last = count;
      for (let step = 0; step < 120; step++) {
        await scrollBy(page, -900);
        await page.waitForTimeout(25);
        assert.ok((await page.locator(".transcript li").count()) <= maxRows);
        const { n } = await firstInSight(page);
        assert.ok(n <= last, `step ${step}: message ${n} after message ${last}`);
        last = n;
      }
      assert.ok(last < count - 500, `${last}`);
      const pages = requests.filter((url) => url.includes("/messages?"));
      assert.ok(pages.length >= 5 && pages.length < 40, `${pages.length} pages`);
      const tasks = (await page.evaluate("longTasks")) as number[];
      assert.ok(Math.max(0, ...tasks) <= 100, `long tasks: ${tasks.join(", ")}`);
      await page.getByRole("button", { name: "Jump to the latest message" }).click();
      await message(page, `Message ${count} of them.`).waitFor();
    });
  }),
);

test("who of a group said something stands above it, as text", { skip }, async () => {
  const prepare = async ({ throughline }: Companion) => {
    const said = [
      { role: "user", content: "Hello", name: "Ann <b>&" },
      { role: "user", content: "Hello too" },
    ] as const;
    await throughline.chats.append("local:me", said);
  };
  await onPage({ prepare }, async ({ page }) => {
    await message(page, "Hello too").waitFor();
    const headings = await page.locator(".message-user h2").allTextContents();
    assert.deepEqual(headings, ["Ann <b>&", "You"]);
  });
});

test("what is read stays where it is when older messages come in above", { skip }, async () => {
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

test("who scrolled up is not pulled down by an answer, and who is at the end sees it come", {
  skip,
}, async () => {
  const long = "A line of the answer that comes in.\n\n";
  const script = [Array.from({ length: 40 }, () => long), ["Short"]];
  await onPage({ prepare: chatOf(200), script }, async ({ page }, c) => {
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
  });
});

test("words that are being edited stay when they scroll out of sight, and when they cannot be sent", {
  skip,
}, async () => {
  const visit = { prepare: chatOf(199), script: [["Better"]], expected: /ERR_FAILED/ };
  await onPage(visit, async ({ page }) => {
    const last = message(page, "Message 199 of them.");
    await last.hover();
    await last.getByRole("button", { name: "Edit in a new chat" }).click();
    const edited = page.getByLabel("Edited message");
    await edited.fill("other words");
    for (let step = 0; (await edited.count()) > 0 && step < 20; step++) {
      await scrollBy(page, -2_000);
      await page.waitForTimeout(50);
    }
    await hasCount(edited, 0);
    await page.getByRole("button", { name: "Jump to the latest message" }).click();
    await edited.waitFor();
    assert.equal(await edited.inputValue(), "other words");
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

test("the beginning is reached, and said to be it", { skip }, async () => {
  await onPage({ prepare: chatOf(130) }, async ({ page }) => {
    await message(page, "Message 130 of them.").waitFor();
    for (let step = 0; step < 60; step++) {
      await scrollBy(page, -2_000);
      await page.waitForTimeout(50);
      if ((await page.getByText("Start of the chat").count()) > 0) break;
    }
    await page.getByText("Start of the chat").waitFor();
    await message(page, "Message 1 of them.").waitFor();
    assert.ok((await messages(page).count()) > 0);
  });
});

test("pages that do not come can be asked for again", { skip }, async () => {
  await onPage({ prepare: chatOf(400), expected: /ERR_FAILED/ }, async ({ page }) => {
    await message(page, "Message 400 of them.").waitFor();
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
  });
});

/** Where a chat of these is opened at one of them. */
function addressOf(n: number) {
  return async ({ throughline }: Companion): Promise<string> => {
    const { messages } = await throughline.chats.messages("local:me", { before: n + 1, limit: 1 });
    return `/?message=${messages[0]!.id}&seq=${n}`;
  };
}

/** Opens a chat at one of its messages, which is then in sight. */
async function openAt(page: Page, url: string, c: Companion, n: number): Promise<void> {
  await page.goto(`${url}${await addressOf(n)(c)}`);
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

for (const [where, n] of [
  ["in the middle", 100],
  ["just below the top of what was read", 151],
  ["at the end", 200],
] as const) {
  test(`a message that was found ${where} stays where it is while others come, until somebody moves`, {
    skip,
  }, async () => {
    const long = "A line of the answer that comes in.\n\n";
    const script = Array.from({ length: 2 }, () => Array.from({ length: 40 }, () => long));
    const visit = { path: "/memory", prepare: chatOf(200), script };
    await onPage(visit, async ({ page, url }, c) => {
      await openAt(page, url, c, n);
      await page.waitForTimeout(500);
      const before = await topOfFound(page);
      await c.say("From elsewhere");
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
      await c.say("Once more");
      await page.waitForTimeout(300);
      await holds(
        page,
        `(({ scrollHeight, scrollTop, clientHeight }) =>
          scrollHeight - scrollTop - clientHeight < 100)(document.querySelector(".transcript-box"))`,
      );
    });
  });
}

test("the keyboard scrolls on from a message that was found, also when it is out of sight", {
  skip,
}, async () => {
  await onPage({ path: "/memory", prepare: chatOf(400) }, async ({ page, url }, c) => {
    await openAt(page, url, c, 150);
    const { n } = await firstInSight(page);
    for (let step = 0; step < 12; step++) {
      await page.keyboard.press("PageDown");
      await page.waitForTimeout(250);
    }
    await hasCount(found(page), 0);
    await holds(page, `document.activeElement?.matches(".transcript-box") === true`);
    const further = await firstInSight(page);
    assert.ok(further.n > n + 20, `from ${n} to ${further.n}`);
  });
});

test("what was found is shown, and does not take the focus from the field that is typed in", {
  skip,
}, async () => {
  await onPage({ path: "/memory", prepare: chatOf(400) }, async ({ page, url }, c) => {
    const older = gate();
    await page.route("**/messages?*before=*", async (route) => {
      await older.until;
      await route.continue();
    });
    await page.goto(`${url}${await addressOf(150)(c)}`);
    await page.getByText("Loading the message you searched for").waitFor({ state: "attached" });
    await field(page).click();
    await page.keyboard.type("So far");
    older.open();
    await found(page).waitFor();
    await page.keyboard.type(" I type");
    assert.equal(await field(page).inputValue(), "So far I type");
  });
});

test("a page on the way to a message that was found can be asked for again", { skip }, async () => {
  const visit = { path: "/memory", prepare: chatOf(400), expected: /ERR_FAILED/ };
  await onPage(visit, async ({ page, url }, c) => {
    let isCut = true;
    await page.route("**/messages?*before=*", (route) => {
      return isCut ? route.abort() : route.continue();
    });
    await page.goto(`${url}${await addressOf(150)(c)}`);
    await page.getByText("This message could not be loaded.").waitFor();
    await message(page, "Message 400 of them.").waitFor();
    isCut = false;
    await page.getByRole("button", { name: "Try again" }).last().click();
    await message(page, "Message 150 of them.").waitFor();
    await holds(page, isFocused);
  });
});

test("the default chat is shown at its end again when one goes to Talk from a message", {
  skip,
}, async () => {
  await onPage({ path: "/memory", prepare: chatOf(400) }, async ({ page, url }, c) => {
    await openAt(page, url, c, 150);
    await page.getByRole("link", { name: "Talk", exact: true }).click();
    await message(page, "Message 400 of them.").waitFor();
    assert.equal(page.url(), `${url}/`);
  });
});

test("a message that was found is marked for a moment, in light and dark, with motion and without", {
  skip,
}, async () => {
  await onPage({ path: "/memory", prepare: chatOf(200) }, async ({ page, url }, c) => {
    for (const colorScheme of ["light", "dark"] as const) {
      for (const reducedMotion of ["no-preference", "reduce"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion });
        await page.goto(`${url}${await addressOf(150)(c)}`);
        await page.locator(".found.is-marked").waitFor();
        const accent = colorScheme === "light" ? "rgb(15, 107, 92)" : "rgb(115, 205, 184)";
        const style = (name: string) =>
          `getComputedStyle(document.querySelector(".found")).${name}`;
        await holds(page, `${style("outlineColor")} === "${accent}"`);
        await holds(page, `${style("outlineStyle")} === "solid"`);
        assert.deepEqual(await violations(page), []);
        const isStill = `parseFloat(${style("transitionDuration")}) <= 0.001`;
        assert.equal(await page.evaluate(isStill), reducedMotion === "reduce");
        await page.keyboard.press("Tab"); // the focus has a ring of its own
        await page.locator(".found:not(.is-marked)").waitFor();
        await holds(page, `${style("outlineColor")} === "rgba(0, 0, 0, 0)"`);
      }
    }
  });
});

/** Markdown of many kinds, no part of which is like another. */
function longMarkdown(length: number): string {
  const hex = randomText(2 * length);
  let at = 0;
  const word = () => {
    at += 2 + (at % 7);
    return hex.slice(at - 2, at + 6);
  };
  const words = (count: number) => Array.from({ length: count }, word).join(" ");
  const rows = (count: number, row: () => string) => Array.from({ length: count }, row).join("\n");
  const block = () =>
    [
      `## ${words(5)}`,
      `${words(60)} [link](https://a.example/${words(1)}) and *${words(3)}*.`,
      rows(6, () => `- **${words(2)}** ${words(9)} \`${words(1)}\``),
      `\`\`\`ts\n${rows(12, () => `const x = "${words(4)}"; // ${words(4)}`)}\n\`\`\``,
      `| a | b |\n|---|---|\n${rows(5, () => `| ${words(2)} | ${words(3)} |`)}`,
    ].join("\n\n");
  let text = "";
  while (text.length < length) text += `${block()}\n\n`;
  return text;
}

test("a message of 328 kB opens at its end, which stays in sight, and the page goes on while it is read", {
  skip,
}, async () => {
  const content = `${longMarkdown(328_000)}The end.`;
  const prepare = async ({ throughline }: Companion) => {
    await throughline.chats.append("local:me", [{ role: "assistant", content }]);
  };
  await onPage({ prepare, inject: noteLongTasks }, async ({ page, context }) => {
    const client = await context.newCDPSession(page);
    await client.send("Performance.enable");
    await message(page, "The end.").waitFor();
    await holds(page, "document.querySelectorAll('.markdown-unread').length === 0");
    await hasCount(page.locator(".markdown h2"), content.split("## ").length - 1);
    const gap = await box(page).evaluate((each) => {
      return each.scrollHeight - each.scrollTop - each.clientHeight;
    });
    assert.ok(gap <= 1, `${gap} px above the end`);
    const { metrics } = await client.send("Performance.getMetrics");
    const busyMs = 1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0);
    const longest = Math.max(0, ...((await page.evaluate("longTasks")) as number[]));
    assert.ok(longest < busyMs / 3, `${longest} ms of ${busyMs} ms in one go`);
  });
});

test("a long answer is not seen as it was written, neither as it comes in nor once it is stored", {
  skip,
}, async () => {
  const [more, end] = [gate(), gate()];
  const said = [
    "It begins.\n\n",
    { type: "wait" as const, until: more.until },
    `${longMarkdown(65_000)}All of it.`,
    { type: "wait" as const, until: end.until },
    " Done.",
  ];
  await onPage({ script: [said], inject: noteUnread }, async ({ page }) => {
    await say(page, "Go");
    await message(page, "It begins.").waitFor();
    more.open();
    await message(page, "All of it.").waitFor();
    end.open();
    await message(page, "All of it. Done.").waitFor();
    await page.getByRole("button", { name: "Regenerate" }).waitFor();
    assert.equal(await page.evaluate("unread"), 0);
  });
});

/** Counts what is shown before it is read as Markdown. */
const noteUnread = () => {
  // biome-ignore lint/suspicious/noExplicitAny: Node's types do not know what a page has
  const page = globalThis as any;
  page.unread = 0;
  new page.MutationObserver(() => {
    page.unread += page.document.querySelectorAll(".markdown-unread").length;
  }).observe(page.document, { childList: true, subtree: true });
};
