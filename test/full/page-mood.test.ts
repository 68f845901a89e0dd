// How the companion feels and what it knew when it woke, on the page, with a run behind it.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { startCompanion } from "../../src/companion/start-companion.ts";
import { openThroughline } from "../../src/core/throughline.ts";
import { awake, runOf } from "../support/awake.ts";
import { temporaryDirectory } from "../support/command-line.ts";
import type { Companion } from "../support/server-fixture.ts";
import { go, hasCount, hold, looksFine, onPage, test } from "./page-fixture.ts";

/** The page takes the time from the server's answers, whose headers have that of this machine. */
async function today({ clock }: Companion): Promise<void> {
  clock.set(new Date().toISOString());
}

const addFeatures = awake({ memory: async () => "Ori likes green tea" });

test("the mood follows what happens without a reload; events on the page move it, and the chart and its table tell of them", async () => {
  const visit = { path: "/mood", options: { addFeatures }, prepare: today };
  await onPage(visit, async ({ page }, c) => {
    const content = page.locator("#content");
    await content.getByText("Happy", { exact: true }).waitFor();
    runOf(c).emotions.event("abuse");
    c.clock.pass(2_000);
    runOf(c).tick();
    await content.getByText("Abuse", { exact: true }).first().waitFor();
    await content.getByText("Sad and hurt", { exact: true }).waitFor();
    c.clock.pass(34_000);
    runOf(c).tick();
    await content.getByText("Happy and hurt", { exact: true }).waitFor();
    await content.getByText(/^since abuse, \d+ s ago$/).waitFor();
    assert.equal(await content.getByText(/at ease/i).count(), 0);
    runOf(c).sleep("asleep");
    await content.getByText("Asleep and hurt", { exact: true }).waitFor();

    await page.locator(".history-chart canvas").first().waitFor();
    c.clock.pass(1_000);
    // The button says so too: on its way to the server is not there.
    const wounds = () => runOf(c).emotions.feeling().wounds.length;
    const before = wounds();
    await page.getByRole("button", { name: /violence/i }).click();
    for (let tries = 0; wounds() === before && tries < 400; tries++) await page.waitForTimeout(25);
    assert.equal(wounds(), before + 1);
    await content.getByText("Violence", { exact: true }).first().waitFor();
    await page.locator(".history-table summary").click();
    await page
      .locator(".history-marks")
      .getByText(/violence/i)
      .first()
      .waitFor();
    await page.locator(".history-table tbody tr").first().waitFor();
  });
});

const ahead = () => {
  const { now } = Date;
  Date.now = () => now() + 7_200_000;
};
const behind = () => {
  const { now } = Date;
  Date.now = () => now() - 7_200_000;
};

for (const [says, inject] of [
  ["two hours ahead", ahead],
  ["two hours behind", behind],
] as const) {
  test(`a companion that runs for months opens on 30 days in a browser whose clock is ${says}`, async () => {
    const visit = { path: "/mood", options: { addFeatures }, prepare: today, inject };
    await onPage(visit, async ({ page }) => {
      await page.getByText(/^(Mostly h|H)appy over the last 30 days\b/).waitFor();
      assert.equal(await page.getByLabel("the last 30 days").isChecked(), true);
      const letGo = await hold(page, "**/api/emotions/history?*");
      await page.getByLabel("the last hour").check({ force: true });
      // What is still drawn is called what it is.
      await hasCount(page.getByText(/appy over the last 30 days\b/), 1);
      letGo();
      await page.getByText(/^(Mostly h|H)appy over the last hour\b/).waitFor();
    });
  });
}

test("a companion that has just started opens on the last hour, with words until there is something to draw", async (t) => {
  const throughline = await openThroughline({ home: join(temporaryDirectory(t), "home") });
  const visit = { path: "/mood", options: { addFeatures, throughline }, prepare: today };
  await onPage(visit, async ({ page }, c) => {
    await page.getByText("There is nothing to draw for the last hour yet.").waitFor();
    assert.equal(await page.getByLabel("the last hour").isChecked(), true);
    await hasCount(page.locator(".history-chart"), 0);
    c.clock.pass(60_000);
    await page.getByRole("button", { name: "Violence", exact: true }).click();
    const told = page.getByText(
      / over the last hour.* One event and one wound\. Throughline was not/,
    );
    await told.waitFor();
    await page.locator(".history-chart canvas").first().waitFor();
    await page.locator(".history-key").getByText("Harmful event").waitFor();
  });
});

/** A companion that ran before, and was talked to. */
async function restarted(t: TestContext) {
  const options = { home: join(temporaryDirectory(t), "home"), provider: "p", model: "m" };
  const before = await openThroughline(options);
  await startCompanion(before);
  await before.chats.append("local:me", [{ role: "user", content: "Ori likes green tea" }]);
  await before.close();
  return openThroughline(options);
}

test("axe finds nothing wrong with a hurt companion and its waking; what it was told then is there word for word, and who is here can be said", async (t) => {
  const prepare = async (c: Companion) => {
    await today(c);
    runOf(c).emotions.event("abuse");
    runOf(c).emotions.override("excited", 3_600);
    runOf(c).personSeen("Ann");
  };
  const options = { addFeatures, throughline: await restarted(t) };
  await onPage({ path: "/mood", options, prepare }, async ({ page }, c) => {
    const largest = `Math.max(...[...document.querySelectorAll("#content :not(svg *)")]
      .map((each) => Number.parseFloat(getComputedStyle(each).fontSize)))`;
    const also = async (look: string) => assert.equal(await page.evaluate(largest), 22, look);
    for (const [path, words] of [
      ["/mood", "Abuse"],
      ["/waking", "Ori likes green tea"],
    ] as const) {
      await go(page, path);
      await page.locator("#content").getByText(words).first().waitFor();
      await page.locator(".loading").first().waitFor({ state: "detached" });
      await looksFine(page, path, { also });
    }
    const { deliveries } = await c.get("/api/restart");
    const told = page.getByRole("region", { name: "Notice for local:me" });
    await told.getByText("Ori likes green tea").waitFor();
    // What has not been told yet gets new marks around it each time, and the times of now.
    const [shown, stored] = [await told.textContent(), deliveries[0].text].map((text) =>
      text.replace(/context \w+|\ban? (?:moment|minute)\b|\b\d+ (?:second|minute)s?\b/g, ""),
    );
    assert.equal(shown, stored);
    await page.getByLabel("Who is here?").fill("Ori");
    const letGo = await hold(page, "**/api/person");
    await page.keyboard.press("Enter");
    await page.keyboard.type(" and Ann");
    letGo();
    await page.locator("#content").getByText("Ori", { exact: true }).waitFor();
    assert.equal(runOf(c).person?.name, "Ori");
    const button = page.getByRole("button", { name: "I am here" });
    await button.and(page.locator(":not([aria-disabled])")).waitFor();
    assert.equal(await page.getByLabel("Who is here?").inputValue(), "Ori and Ann");
  });
});
