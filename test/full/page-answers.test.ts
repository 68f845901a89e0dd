// Answers as the page shows them: their steps, regenerated ones, branches; and a provider that cannot answer now.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { ResponderError } from "../../src/core/models/responder.ts";
import { awake } from "../support/awake.ts";
import {
  gate,
  go,
  hasCount,
  hold,
  holds,
  looksFine,
  message,
  messages,
  onPage,
  say,
  takesNoWords,
  test,
  violations,
} from "./page-fixture.ts";

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

const count = (page: Page, words: string) =>
  page.getByRole("group", { name: "Answers to the same message" }).filter({ hasText: words });
const step = (page: Page, to: "Previous" | "Next") =>
  page.getByRole("button", { name: `${to} answer` });

async function act(page: Page, words: string | RegExp, action: string): Promise<void> {
  await message(page, words).hover();
  await message(page, words).getByRole("button", { name: action }).click();
}

test("an answer is regenerated twice, the first is chosen again, and the model gets that one", async () => {
  const script = [["Alpha"], ["Beta"], ["Gamma"], ["Delta"], ["Bye"]];
  await onPage({ script }, async ({ page, context, url }, c) => {
    await say(page, "Name one");
    await message(page, "Alpha").waitFor();
    await hasCount(count(page, ""), 0);
    await act(page, "Alpha", "Regenerate");
    await count(page, "Answer 2 of 2").waitFor();
    await act(page, "Beta", "Regenerate");
    await count(page, "Answer 3 of 3").waitFor();
    const other = await context.newPage();
    await other.goto(url);
    await count(other, "Answer 3 of 3").waitFor();

    await step(page, "Previous").click();
    await message(page, "Beta").waitFor();
    await count(page, "Answer 2 of 3").waitFor();
    await message(other, "Beta").waitFor();
    await page.keyboard.press("Enter"); // the button kept the focus
    await count(page, "Answer 1 of 3").waitFor();
    await message(page, "Alpha").waitFor();
    await count(other, "Answer 1 of 3").waitFor();
    await hasCount(messages(other), 2);
    await page.keyboard.press("Enter");
    assert.equal(await step(page, "Previous").getAttribute("aria-disabled"), "true");

    await page.reload();
    await count(page, "Answer 1 of 3").waitFor();
    await hasCount(messages(page), 2);
    await act(page, "Alpha", "Regenerate");
    await count(page, "Answer 4 of 4").waitFor();
    await message(other, "Delta").waitFor();
    await count(other, "Answer 4 of 4").waitFor();
    await other.bringToFront();
    for (const words of ["Gamma", "Beta", "Alpha"]) {
      await step(other, "Previous").click();
      await message(other, words).waitFor();
    }
    await message(page, "Alpha").waitFor();
    await page.bringToFront();
    await say(page, "Thanks");
    await message(page, "Bye").waitFor();
    await hasCount(count(page, ""), 0);
    const asked = c.model.requests.at(-1)?.messages.map(({ content }) => content);
    assert.deepEqual(asked, ["Name one", "Alpha", "Thanks"]);
  });
});

test("a step that fails says so, and what is shown stays", async () => {
  const visit = { script: [["Alpha"], ["Beta"], ["More"]], expected: /409|Conflict/ };
  await onPage(visit, async ({ page }, c) => {
    await say(page, "Name one");
    await message(page, "Alpha").waitFor();
    await act(page, "Alpha", "Regenerate");
    await count(page, "Answer 2 of 2").waitFor();
    // Said through another program, of which this page is not told.
    await c.throughline.chats.append("local:me", [{ role: "user", content: "By the way" }]);
    await step(page, "Previous").click();
    await page.getByRole("alert").filter({ hasText: "More was said since" }).waitFor();
    await message(page, "By the way").waitFor();
    await hasCount(message(page, "Beta"), 1);
    await hasCount(count(page, ""), 0);
  });
});

test("branches are made at a message and by an edit, and lead there and back", async () => {
  const script = [["By the lake"], ["At noon"], ["A salad"], ["In May"]];
  await onPage({ script }, async ({ page, context, url }, c) => {
    await say(page, "Plan a picnic");
    await message(page, "By the lake").waitFor();
    await say(page, "When?");
    await message(page, "At noon").waitFor();
    const other = await context.newPage();
    await other.goto(url);
    await message(other, "At noon").waitFor();

    await act(page, "By the lake", "Branch from here");
    await page.getByText("Branched from “Plan a picnic”").waitFor();
    await hasCount(messages(page), 2);
    const branch = page.url();
    const link = message(other, "By the lake").getByRole("link", { name: "1 branch" });
    await link.waitFor();
    c.clock.pass(1_000); // the oldest branch comes first

    await page.getByRole("link", { name: "“Plan a picnic”" }).click();
    await page.getByRole("region", { name: "Search result: By the lake" }).waitFor();
    await hasCount(messages(page), 4);
    await act(page, "When?", "Edit in a new chat");
    await page.getByLabel("Edited message").fill("What to eat?");
    const letGo = await hold(page, "**/fork");
    await page.getByRole("button", { name: /^Send/ }).first().click();
    await takesNoWords(page.getByLabel("Edited message"), letGo);
    await message(page, "A salad").waitFor();
    const old = (await c.throughline.chats.messages("local:me")).messages;
    assert.deepEqual(
      old.map(({ content }) => content),
      ["Plan a picnic", "By the lake", "When?", "At noon"],
    );
    await page.getByText("Branched from “Plan a picnic”").waitFor();

    await message(other, "By the lake").getByText("2 branches").click();
    const listed = message(other, "By the lake").getByRole("listitem").getByRole("link");
    await hasCount(listed, 2);
    await listed.first().click();
    await other.waitForURL(branch);

    // Nothing comes before the first message: its edit begins another chat, linked all the same.
    await page.goto(url);
    await act(page, /^YouPlan a picnic/, "Edit in a new chat");
    await page.locator("textarea").first().fill("Plan a hike");
    await page.getByRole("button", { name: /^Send/ }).first().click();
    await message(page, "In May").waitFor();
    await page.getByRole("link", { name: "“Plan a picnic”" }).click();
    await page.getByText("Start of the chat").waitFor();
    await page.locator(".edge").getByRole("link", { name: "1 branch" }).waitFor();

    // A forgotten branch is no branch.
    const branchId = decodeURIComponent(new URL(branch).pathname.slice("/chats/".length));
    await c.ask(`/api/chats/${encodeURIComponent(branchId)}`, { method: "DELETE" });
    await message(page, "By the lake").getByRole("link", { name: "1 branch" }).waitFor();
  });
});

test("axe finds nothing wrong with answers and branches", async () => {
  const script = [["By the lake"], ["On the hill"]];
  await onPage({ script }, async ({ page, url }, c) => {
    const first = await c.turns.submit("local:me", { content: "Plan a picnic" }).done;
    await (await c.turns.retry("local:me")).done;
    const { chats } = c.throughline;
    await chats.fork("local:me", first.user.id, "local:one");
    await chats.fork("local:me", first.user.id, "local:two");
    await chats.fork("local:me", undefined, "local:three");
    await chats.fork("local:me", undefined, "local:four");
    await page.goto(url);
    await count(page, "Answer 2 of 2").waitFor();
    await page.locator("li details.branches > summary").first().click();
    await page.locator(".edge summary").click();
    await looksFine(page, "answers");
    await go(page, "/chats/local%3Aone");
    await page.getByText("Branched from").waitFor();
    await looksFine(page, "a branch");
  });
});

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
    await wait.getByText(/^Retrying in 1[0-8] s \(attempt 2\)\.$/).waitFor();
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

test("a refusal without a word names the provider as it is spelled, with its words under details, in one box that leaves the focus to the composer", async () => {
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
    await box.getByText("Your message has no answer yet.").waitFor();
    await hasCount(page.getByRole("alert"), 1);
    await box.getByRole("button", { name: "Answer it" }).waitFor();
    await box.getByRole("button", { name: "Dismiss" }).press("Enter");
    await box.waitFor({ state: "detached" });
    await page.locator("#message:focus").waitFor();
    await hasCount(page.getByText("is not reachable"), 0);
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
