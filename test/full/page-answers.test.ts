// What an answer took, and what it cost: said at the answer and under Status.
import assert from "node:assert/strict";
import { awake } from "../support/awake.ts";
import { gate, message, onPage, say, test, useBrowser, violations } from "./page-fixture.ts";

useBrowser();

const end = (costUsd: number | undefined) =>
  ({
    type: "end",
    finish: "stop",
    usage: { inputTokens: 1_204, outputTokens: 31, costUsd },
  }) as const;

test("an answer says what it took, and that no price is set, and so does its session", async () => {
  const options = { addFeatures: awake() };
  await onPage({ script: [["Hi there", end(undefined)]], options }, async ({ page }) => {
    await say(page, "Hello");
    const stats = message(page, "Hi there").locator(".stats");
    await stats.locator("summary").click();
    const told = await stats.locator("p").innerText();
    assert.match(
      told,
      /^1,204 tokens in, 31 tokens out\. First word after \d+\.\d s\. Finished after \d+\.\d s\. Cost: no price set\. Set one under “prices” in throughline\.config\.json/,
    );
    assert.deepEqual(await violations(page), []);
    await page.reload();
    await stats.locator("summary").click();
    assert.equal(await stats.locator("p").innerText(), told);

    await page.getByRole("link", { name: "Status", exact: true }).click();
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    const totals = page.getByRole("region", { name: "Totals" });
    await totals.getByText("No price is set for scripted/script-1. Set one under").waitFor();
    await page
      .getByText("New chats use scripted \u00b7 script-1. Allowed providers: scripted.")
      .waitFor();
    assert.equal(await page.getByText("$0.00").count(), 0);
    assert.equal(await page.getByText("no price set", { exact: true }).count(), 3);
    assert.deepEqual(await violations(page), []);
  });
});

test("an answer with a price says its cost", async () => {
  await onPage({ script: [["Hi there", end(0.0125)]] }, async ({ page }) => {
    await say(page, "Hello");
    const stats = message(page, "Hi there").locator(".stats");
    await stats.locator("summary").click();
    await stats.getByText("Cost: $0.0125.").waitFor();
    await page.getByRole("link", { name: "Status", exact: true }).click();
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    await page.getByRole("region", { name: "Totals" }).getByText("$0.0125").first().waitFor();
    assert.equal(await page.getByText("No price is set").count(), 0);
  });
});

const call = (id: string, args: string) =>
  ({
    type: "tool-call",
    call: { id, type: "function", function: { name: "look", arguments: args } },
  }) as const;
const result = (toolCallId: string, content: string, isError = false) =>
  ({ type: "tool-result", toolCallId, toolName: "look", content, isError }) as const;

test("words, reasoning, calls and results stay in order while they come, and after a reload", async () => {
  const [looked, failed] = [gate(), gate()];
  const bytes = 'saw <b>rain</b>\n\n  **and** "wind"\t\u{1f327}';
  const script = [
    [
      ...[{ type: "reasoning", text: "The *window*" } as const, "Let me **look**."],
      ...[call("a", '{"at":"<window>"}'), { type: "wait", until: looked.until } as const],
      ...[result("a", bytes), "And again.", call("b", "{}")],
      ...[result("b", "The tool failed.", true), { type: "wait", until: failed.until } as const],
      "It rains.",
    ],
  ];
  await onPage({ script }, async ({ page }) => {
    const rows = page.locator(".transcript-rows .message-assistant");
    const words = async () =>
      (await rows.allTextContents()).map((text) => text.replace(/^Companion|scripted.*$/g, ""));
    await say(page, "Weather?");
    await rows.getByText("running").waitFor();
    assert.deepEqual((await words()).slice(0, 1), ["ReasoningLet me look.Called lookrunning"]);
    looked.open();
    await rows.getByText("failed", { exact: true }).waitFor();
    const called = ["ReasoningLet me look.Called look", "And again.Called lookfailed"];
    assert.deepEqual((await words()).slice(0, 2), called);
    assert.deepEqual(await violations(page), []);
    failed.open();
    await rows.getByText("It rains.").waitFor();
    await rows.nth(2).locator(".stats").waitFor();
    assert.deepEqual(await words(), [...called, "It rains."]);
    await page.reload();
    await rows.nth(2).waitFor();
    assert.deepEqual(await words(), [...called, "It rains."]);
    for (const [at, texts] of [
      [0, ["The *window*"]],
      [1, ['{"at":"<window>"}', bytes]],
      [2, ["{}", "The tool failed."]],
    ] as const) {
      const step = page.locator(".step").nth(at);
      assert.equal(await step.locator(".step-text").count(), 0, "it is folded");
      await step.locator("summary").click();
      await step.locator(".step-text").first().waitFor();
      assert.deepEqual(await step.locator(".step-text").allTextContents(), texts);
    }
    await page.locator(".step").nth(2).getByText("Error", { exact: true }).waitFor();
    assert.deepEqual(await violations(page), []);
  });
});
