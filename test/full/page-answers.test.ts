// What an answer took, and what it cost: said at the answer and on the Sessions page.
import assert from "node:assert/strict";
import { test } from "node:test";
import AxeBuilder from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { message, onPage, say, skip, useBrowser } from "./page-fixture.ts";

useBrowser();

const end = (costUsd: number | undefined) =>
  ({
    type: "end",
    finish: "stop",
    usage: { inputTokens: 1_204, outputTokens: 31, costUsd },
  }) as const;

async function violations(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

test("an answer says what it took, and that no price is set, and so does its session", {
  skip,
}, async () => {
  await onPage({ script: [["Hi there", end(undefined)]] }, async ({ page }) => {
    await say(page, "Hello");
    const stats = message(page, "Hi there").locator(".stats");
    await stats.locator("summary").click();
    const told = await stats.locator("p").innerText();
    assert.match(
      told,
      /^1,204 tokens in, 31 tokens out\. First word after \d+\.\d s\. Whole after \d+\.\d s\. Cost: no price set\. Set one under “prices” in throughline\.config\.json/,
    );
    assert.deepEqual(await violations(page), []);
    await page.reload();
    await stats.locator("summary").click();
    assert.equal(await stats.locator("p").innerText(), told);

    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    const totals = page.getByRole("region", { name: "In all" });
    await totals.getByText("No price is set for scripted/script-1. Set one under").waitFor();
    assert.equal(await page.getByText("$0.00").count(), 0);
    assert.equal(await page.getByText("no price set", { exact: true }).count(), 3);
    assert.deepEqual(await violations(page), []);
  });
});

test("an answer with a price says its cost", { skip }, async () => {
  await onPage({ script: [["Hi there", end(0.0125)]] }, async ({ page }) => {
    await say(page, "Hello");
    const stats = message(page, "Hi there").locator(".stats");
    await stats.locator("summary").click();
    await stats.getByText("Cost: $0.0125.").waitFor();
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    await page.getByRole("region", { name: "In all" }).getByText("$0.0125").first().waitFor();
    assert.equal(await page.getByText("No price is set").count(), 0);
  });
});
