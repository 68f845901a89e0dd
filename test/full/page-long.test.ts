// What is very long: a chat of 200,000 messages, and a message of 328 kB. Measures time in a browser.
import assert from "node:assert/strict";
import { randomText } from "../support/random-text.ts";
import type { Companion } from "../support/server-fixture.ts";
import {
  gate,
  hasCount,
  holds,
  message,
  onPage,
  say,
  test,
  unlessStarved,
} from "./page-fixture.ts";
import { box, chatOf, firstInSight, scrollBy } from "./transcript-fixture.ts";

/** So many rows at most are in the page, however long the chat is. */
const maxRows = 60;

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

test(
  "a chat of 200,000 messages opens at its end and is scrolled back without a long task",
  { timeout: 180_000 },
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

test("a message of 328 kB opens at its end, which stays in sight, and the page goes on while it is read", async () => {
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

test("a long answer is not seen as it was written, neither as it comes in nor once it is stored", async () => {
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
