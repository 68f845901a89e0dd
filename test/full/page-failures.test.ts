// A provider that cannot answer now, or breaks off: what the page says, and what a person can do.
import assert from "node:assert/strict";
import { ResponderError } from "../../src/core/models/responder.ts";
import {
  gate,
  hasCount,
  holds,
  message,
  onPage,
  say,
  test,
  useBrowser,
  violations,
} from "./page-fixture.ts";

useBrowser();

const limited = {
  type: "retrying",
  reason: "openai/gpt-5 is rate limited (HTTP 429)",
  detail: "Rate limit reached for gpt-5. Please slow down.",
  attempt: 2,
  waitMs: 20_000,
} as const;

test("a wait for the provider is shown within a second, counts down, and can be stopped; words that come after it take its place", async () => {
  const [ready, rest] = [gate(), gate()];
  const script = [
    [{ type: "wait" as const, until: ready.until }, limited, { type: "hang" as const }],
    ["First", limited, { type: "wait" as const, until: rest.until }, " and then"],
  ];
  await onPage({ script }, async ({ page }, c) => {
    await say(page, "Hello");
    await page.getByRole("button", { name: "Stop the answer" }).waitFor();
    const since = performance.now();
    ready.open();
    const wait = page.locator(".retry");
    await wait.getByText("openai/gpt-5 is rate limited (HTTP 429).", { exact: true }).waitFor();
    assert.ok(performance.now() - since < 1_000);
    await wait.getByText(/^Retrying in (20|19) s \(attempt 2\)\.$/).waitFor();
    await wait.getByText("Retrying in 17 s (attempt 2).").waitFor();
    const words = wait.getByText(limited.detail);
    assert.equal(await words.isVisible(), false);
    await wait.getByText("What the provider said").click();
    assert.equal(await words.isVisible(), true);
    assert.deepEqual(await violations(page), []);
    await wait.getByRole("button", { name: "Stop", exact: true }).click();
    await wait.waitFor({ state: "detached" });
    await page.getByText("The answer was stopped.").waitFor();
    assert.deepEqual((await c.get("/api/chats/local%3Ame")).running, false);

    await say(page, "Hello again");
    await message(page, "First").locator(".retry").waitFor();
    rest.open();
    await message(page, "First and then").waitFor();
    await hasCount(page.locator(".retry"), 0);
  });
});

test("an answer that an error cut says why in the provider's spelling, and offers another try in sight", async () => {
  const error = new ResponderError("openAI/gpt-5 broke off: the connection was lost", {
    ...{ kind: "unavailable", detail: "Overloaded" },
  });
  const script = [["Once upon", { type: "fail" as const, error }], ["Once more"]];
  await onPage({ script, browser: { colorScheme: "dark" } }, async ({ page }) => {
    await say(page, "Tell me a story");
    const cut = message(page, "Once upon");
    await cut.getByText("Cut short by an error").waitFor();
    const box = page.getByRole("region", { name: "Error" });
    const says = "openAI/gpt-5 broke off: the connection was lost.";
    assert.equal(await box.getByRole("alert").innerText(), says);
    await box.getByText("What the provider said").click();
    await box.getByText("Overloaded", { exact: true }).waitFor();
    await page.mouse.move(0, 0);
    const again = cut.getByRole("button", { name: "Try again" });
    const opacity = `getComputedStyle([...document.querySelectorAll(".message-foot button")]
      .find((each) => each.textContent === "Try again")).opacity === "1"`;
    await holds(page, opacity);
    assert.deepEqual(await violations(page), []);
    await again.click();
    await message(page, "Once more").waitFor();
    await hasCount(message(page, "Once upon"), 0);
    await hasCount(page.getByRole("region", { name: "Error" }), 0);
    await hasCount(page.getByRole("button", { name: "Try again" }), 0);
  });
});

test("a refusal without a word names the provider as it is spelled, with its words under details", async () => {
  const error = new ResponderError("ollama/qwen3:8B is not reachable", {
    ...{ kind: "unavailable", detail: "model is loading" },
  });
  await onPage({ script: [[{ type: "fail", error }]], expected: /502/ }, async ({ page }, c) => {
    // The page hears that nothing runs only when the turn is over, if it is said so early.
    await page.route("**/turn", async (route) => {
      const response = await route.fetch();
      for (let waited = 0; waited < 500 && c.model.requests.length === 0; waited += 20) {
        await page.waitForTimeout(20);
      }
      await route.fulfill({ response });
    });
    const asked = page.waitForRequest("**/turn");
    await page.reload();
    await asked;
    await say(page, "Are you there?");
    const box = page.getByRole("region", { name: "Unanswered messages" });
    assert.equal(await box.getByRole("alert").innerText(), "ollama/qwen3:8B is not reachable.");
    await box.getByText("What the provider said").click();
    await box.getByText("model is loading").waitFor();
    await box.getByRole("button", { name: "Answer it" }).waitFor();
  });
});

test("a message is sent though nothing answers whether a turn runs", async () => {
  await onPage({ script: [["Got it"]] }, async ({ page }) => {
    await page.clock.install();
    await page.route("**/turn", () => undefined); // held back for good
    const asked = page.waitForRequest("**/turn");
    await page.reload();
    await asked;
    await say(page, "Are you there?");
    await message(page, "Are you there?").filter({ hasText: "Sending" }).waitFor();
    await page.clock.fastForward(15_000);
    await message(page, "Got it").waitFor();
  });
});
