// Reactions on the page: from a reply to a package in the gallery, and back.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import sharp from "sharp";
import { consentWording } from "../../src/moments/record/consent.ts";
import { type Companion, jsonOf } from "../support/server-fixture.ts";
import { momentsHome } from "./capture-fixture.ts";
import {
  go,
  hasCount,
  hold,
  looksFine,
  message,
  onPage,
  say,
  takesNoWords,
  test,
  type Visit,
  violations,
} from "./page-fixture.ts";

type Recorder = Awaited<ReturnType<typeof momentsHome>>["moments"]["recorder"];

/** A companion that keeps moments, with a second of sound and a picture before the first word. */
async function withMoments(
  t: TestContext,
): Promise<Visit & { readonly home: string; readonly recorder: Recorder }> {
  const { home, moments, options } = await momentsHome(t);
  const { recorder } = moments;
  const agreed = { messages: true, frames: true, audio: true, wording: consentWording };
  const prepare = async () => {
    recorder.agree(agreed);
    recorder.audio(new Uint8Array(new Int16Array(16_000).fill(900).buffer), { encoding: "s16le" });
    const size = { width: 64, height: 48, channels: 3, background: "teal" } as const;
    recorder.frame(await sharp({ create: size }).jpeg().toBuffer());
  };
  return {
    home,
    recorder,
    script: [["Knock, knock"], ["Who is there?"]],
    prepare,
    options,
  };
}

/** The buttons show themselves when the pointer comes near. */
async function react(page: Page, reply: string, label: string): Promise<void> {
  await message(page, reply).hover();
  await message(page, reply).getByRole("button", { name: label }).click();
}

function notice(page: Page, words: string) {
  return page.locator(".reaction-note").filter({ hasText: words });
}

test("a reply that is liked is in the gallery with what led to it, and can be taken back and deleted", async (t) => {
  await onPage({ ...(await withMoments(t)), path: "/moments" }, async ({ page }, c) => {
    await page.getByText("No moments yet").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole("link", { name: "Talk", exact: true }).click();
    await say(page, "Tell me a joke");
    await message(page, "Knock, knock").waitFor();
    await react(page, "Knock, knock", "Good answer");
    await notice(page, "Saved").waitFor();

    await page.getByRole("link", { name: "Moments", exact: true }).click();
    await page.getByText("Stored on this machine only.").waitFor();
    const item = page.locator(".moment-item");
    await item.filter({ hasText: "Knock, knock" }).getByText("Liked", { exact: true }).waitFor();
    await looksFine(page, "the list");
    await page.getByLabel("Preserved").check();
    await page.getByText("No moment matches.").waitFor();
    await page.getByLabel("Preserved").uncheck();
    await item.click();
    const moment = page.getByRole("region", { name: "Moment", exact: true });
    const said = moment.getByRole("region", { name: "Messages" });
    await said.getByText("Tell me a joke").waitFor();
    await moment.getByText("Rated answer").waitFor();
    await looksFine(page, "a moment");
    await moment.getByRole("button", { name: "Preserve", exact: true }).click();
    await item.getByText("Preserved", { exact: true }).waitFor();
    await moment.getByText("Not removed when old moments are.").waitFor();
    await moment.getByRole("button", { name: "Preserved", pressed: true }).click();
    await moment.getByRole("button", { name: "Preserve", exact: true, pressed: false }).waitFor();

    await moment.getByRole("button", { name: "Verify" }).click();
    await moment.getByText("Every file is as it was saved.").waitFor();
    await moment.getByRole("button", { name: "Retract…" }).click();
    await page.getByLabel("Reason (optional)").fill("a slip");
    const letGo = await hold(page, "**/retract");
    await page.getByRole("button", { name: "Retract", exact: true }).click();
    await takesNoWords(page.getByLabel("Reason (optional)"), letGo);
    await item.getByText("Retracted").waitFor();
    const { packages } = await c.get("/api/feedback");
    assert.equal(packages[0].status.retracted.reason, "a slip");

    await moment.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete permanently" }).click();
    await page.getByText("No moments yet").waitFor();
    assert.deepEqual((await c.get("/api/feedback")).packages, []);
  });
});

test("a thumb that was given is on in every window and after a reload, is changed by the other one and taken back by a click", async (t) => {
  await onPage(await withMoments(t), async ({ page, context, url }, c) => {
    const thumb = (on: Page, name: string, pressed: boolean) => {
      return message(on, "Knock, knock").getByRole("button", { name, pressed }).waitFor();
    };
    const live = async () => {
      const { packages } = await c.get("/api/feedback");
      const held = packages.filter(({ status }: (typeof packages)[0]) => status.retracted === null);
      return [
        packages.length,
        ...held.map(({ feedback }: (typeof packages)[0]) => feedback.sentiment),
      ];
    };
    await say(page, "Tell me a joke");
    await message(page, "Knock, knock").waitFor();
    await react(page, "Knock, knock", "Good answer");
    await thumb(page, "Good answer", true);
    await page.reload();
    await thumb(page, "Good answer", true);
    const other = await context.newPage();
    await other.goto(url);
    await thumb(other, "Good answer", true);

    await react(other, "Knock, knock", "Bad answer");
    await other.getByRole("button", { name: "Save" }).click();
    for (const each of [other, page]) {
      await thumb(each, "Bad answer", true);
      await thumb(each, "Good answer", false);
    }
    assert.deepEqual(await live(), [2, "negative"]);

    await react(page, "Knock, knock", "Bad answer");
    await notice(page, "Taken back").waitFor();
    for (const each of [other, page]) await thumb(each, "Bad answer", false);
    assert.deepEqual(await live(), [2]);
    await react(other, "Knock, knock", "Good answer");
    for (const each of [other, page]) await thumb(each, "Good answer", true);
    assert.deepEqual(await live(), [3, "positive"]);
  });
});

/** Pictures and sound for some seconds, with words between them. */
async function lived(page: Page, recorder: Recorder): Promise<void> {
  const live = async (background: string) => {
    const size = { width: 64, height: 48, channels: 3, background } as const;
    recorder.audio(new Uint8Array(new Int16Array(8_000).fill(900).buffer), { encoding: "s16le" });
    const jpeg = await sharp({ create: size }).jpeg().toBuffer();
    // One that comes too soon after another is not taken.
    for (let tries = 0; tries < 200 && recorder.frame(jpeg) !== "accepted"; tries++) {
      await page.waitForTimeout(25);
    }
  };
  await live("navy");
  await say(page, "Tell me a joke");
  await message(page, "Knock, knock").waitFor();
  await live("purple");
}

test("pictures, sound, words and the reaction are on one timeline, and play together", async (t) => {
  const visit = await withMoments(t);
  await onPage(visit, async ({ page }) => {
    await lived(page, visit.recorder);
    await react(page, "Knock, knock", "Good answer");
    await notice(page, "Saved").waitFor();
    await page.getByRole("link", { name: "Moments", exact: true }).click();
    const thumbnail = page.locator(".moment-thumbnail img");
    assert.match((await thumbnail.getAttribute("src")) ?? "", /frames\/000002\.jpg$/);
    assert.equal(await thumbnail.getAttribute("loading"), "lazy");
    await page.locator(".moment-item").click();
    const player = page.getByRole("region", { name: "Pictures, sound and words" });
    const slider = player.getByRole("slider", { name: "Time" });
    const caption = player.locator(".moment-caption");
    await player.getByLabel("Sound", { exact: true }).locator("path[d^=M]").waitFor();
    // One part for each picture; in a part before the first picture there is none.
    await hasCount(player.locator(".tracks-pictures > div"), 3);
    await player.locator(".tracks-pictures img").first().waitFor();
    await hasCount(player.locator(".tracks-words span"), 2);
    await caption.getByText("Nothing was said yet.").waitFor();
    await slider.press("End");
    await caption.getByText("Companion: Knock, knock").waitFor();
    await player.getByRole("img", { name: "Picture" }).waitFor();
    assert.match((await player.locator("output").textContent()) ?? "", /^at the reaction$/);
    const tracks = player.locator(".tracks-time");
    const box = await tracks.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + 2, box.y + 10);
    await page.mouse.down();
    await caption.getByText("Nothing was said yet.").waitFor();
    await page.mouse.move(box.x + box.width - 1, box.y + 10);
    await page.mouse.up();
    await caption.getByText("Companion: Knock, knock").waitFor();
    await slider.press("Home");
    await player.getByRole("button", { name: "Play" }).click();
    // Playing takes as long as the moment took.
    await caption.getByText("Companion: Knock, knock").waitFor({ timeout: 60_000 });
    await player.getByRole("button", { name: "Play" }).waitFor();
    assert.match((await player.locator("output").textContent()) ?? "", /^at the reaction$/);
    const picture = await player.locator(".moment-picture").boundingBox();
    const column = await page.locator(".moment-said").boundingBox();
    assert.deepEqual([picture?.width, box.width], [column?.width, column?.width], "as wide as it");
  });
});

test("moments are found by words, by the reaction, by what they hold and by being preserved", async (t) => {
  const visit = await withMoments(t);
  await onPage(visit, async ({ page, url }, c) => {
    await say(page, "Tell me a joke");
    await message(page, "Knock, knock").waitFor();
    await react(page, "Knock, knock", "Good answer");
    await notice(page, "Saved").waitFor();
    visit.recorder.agree({ messages: true });
    const cold = { sentiment: "negative", what: "Cold tea" };
    const { name } = await jsonOf(await c.post("/api/feedback", cold), 201);
    await c.post(`/api/feedback/${name}/preserve`);
    await page.goto(`${url}/moments`);
    const items = page.locator(".moment-item");
    await hasCount(items, 2);
    const only = async (words: string) => {
      await hasCount(items, 1);
      await items.getByText(words).waitFor();
    };
    await page.getByLabel("Search moments").fill("KNOCK");
    await only("Knock, knock");
    await page.getByLabel("Search moments").fill("");
    await page.getByLabel("Reaction").selectOption("Not liked");
    await only("Cold tea");
    await page.getByLabel("With pictures or sound").check();
    await page.getByText("No moment matches.").waitFor();
    // That was said of the filter before.
    const letGo = await hold(page, /api\/feedback\?.*query=/);
    await page.getByLabel("Search moments").fill("tea");
    await page.getByText("No moment matches.").waitFor({ state: "detached" });
    letGo();
    await page.getByText("No moment matches.").waitFor();
    await page.getByLabel("Search moments").fill("");
    await page.getByLabel("Reaction").selectOption("All reactions");
    await only("Knock, knock");
    await page.getByLabel("With pictures or sound").uncheck();
    await page.getByLabel("Preserved").check();
    await only("Cold tea");
  });
});

test("erasing a message deletes its moments, or says which are left; a damaged one is red, names its files and says what to do", async (t) => {
  const visit = await withMoments(t);
  await onPage(visit, async ({ page }, c) => {
    await say(page, "Tell me a joke");
    await message(page, "Knock, knock").waitFor();
    await react(page, "Knock, knock", "Good answer");
    await notice(page, "Saved").waitFor();
    const unreadable = "2026-02-19T15-30-00_positive_fb_a1b2c3d4e5f6";
    const folder = join(visit.home, "feedback", unreadable);
    mkdirSync(folder);
    writeFileSync(join(folder, "feedback.json"), "{");

    await message(page, "Tell me a joke").hover();
    await message(page, "Tell me a joke").getByRole("button", { name: "Erase" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Moments that contain it are deleted").waitFor();
    await dialog.getByRole("button", { name: "Erase permanently" }).click();
    await dialog.getByText(`the package ${unreadable}, which cannot be read`).waitFor();
    assert.deepEqual(await violations(page), []);
    const names = async () =>
      (await c.get("/api/feedback")).packages.map(({ name }: { name: string }) => name);
    assert.deepEqual(await names(), [unreadable]);
    rmSync(folder, { recursive: true });
    await dialog.getByRole("button", { name: "Try again" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("A message was removed.").waitFor();

    await say(page, "And then?");
    await message(page, "Who is there?").waitFor();
    await react(page, "Who is there?", "Good answer");
    await page.getByRole("button", { name: "Good answer", pressed: true }).waitFor();
    const [name = ""] = await names();
    rmSync(join(visit.home, "feedback", name, "messages.json"));
    await page.getByRole("link", { name: "Moments", exact: true }).click();
    await page.locator(".moment-item").getByText("Damaged").waitFor();
    await page.locator(".moment-item").click();
    const moment = page.getByRole("region", { name: "Moment", exact: true });
    const damage = moment.getByRole("alert").filter({ hasText: "This moment is damaged" });
    await damage.getByText("messages.json: listed, and not there").waitFor();
    await damage.getByText("from a backup").waitFor();
    const red = String(
      await page.evaluate(`getComputedStyle(document.querySelector(".moment-damage")).color`),
    );
    const [r = 0, g = 0, b = 0] = (red.match(/[\d.]+/g) ?? []).map(Number);
    assert.ok(r > g && r > b, red);
    assert.deepEqual(await violations(page), []);

    writeFileSync(join(visit.home, "feedback", name, "stray.txt"), "");
    await moment.getByRole("button", { name: "Verify" }).click();
    await damage.getByText("stray.txt: not of this package").waitFor();
  });
});

test("what a reply should have said is kept with the dislike, as it was typed; of a reply before this run the words alone", async (t) => {
  const visit = await withMoments(t);
  const prepare = async (c: Companion) => {
    await visit.prepare?.(c);
    await c.throughline.chats.append("local:me", [{ role: "assistant", content: "Long ago" }]);
  };
  await onPage({ ...visit, prepare }, async ({ page }, c) => {
    const keptAs = async (what: string) => {
      const { packages } = await c.get("/api/feedback");
      return packages.find(({ feedback }: (typeof packages)[0]) => feedback.what === what).feedback;
    };
    await react(page, "Long ago", "Good answer");
    await notice(page, "Saved with the text only").waitFor();
    const { num_messages, num_frames, reduced } = await keptAs("Long ago");
    assert.deepEqual([num_messages, num_frames, reduced], [1, 0, "old_target"]);

    await say(page, "Tell me a joke");
    await message(page, "Knock, knock").waitFor();
    await react(page, "Knock, knock", "Bad answer");
    await page.getByLabel("Better answer (optional)").fill("Who?");
    assert.deepEqual(await violations(page), []);
    await page.getByRole("button", { name: "Save" }).click();
    await notice(page, "Saved").waitFor();
    const { sentiment, channel, correction } = await keptAs("Knock, knock");
    assert.deepEqual([sentiment, channel], ["negative", "button"]);
    assert.deepEqual(correction, { text: "Who?", kind: "replacement" });

    // What is typed at once is kept, also after the dialog was closed.
    await say(page, "Go on");
    await message(page, "Who is there?").waitFor();
    await react(page, "Who is there?", "Bad answer");
    await page.keyboard.type("Who is th");
    await page.keyboard.press("Escape");
    await react(page, "Who is there?", "Bad answer");
    await page.keyboard.press("End");
    await page.keyboard.type("er");
    await page.getByLabel("Add a note").check();
    await page.keyboard.type("e?");
    assert.equal(await page.getByLabel("Note (optional)").inputValue(), "Who is there?");
    const letGo = await hold(page, "**/api/feedback");
    await page.getByRole("button", { name: "Save" }).click();
    await takesNoWords(page.getByLabel("Note (optional)"), letGo);
    const noted = { text: "Who is there?", kind: "note" };
    assert.deepEqual((await keptAs("Who is there?")).correction, noted);
  });
});

test("without moments there are no reactions, and no way to them", async () => {
  await onPage({ script: [["Knock, knock"]] }, async ({ page }) => {
    await say(page, "Tell me a joke");
    await message(page, "Knock, knock").hover();
    await hasCount(page.getByRole("button", { name: "Good answer" }), 0);
    await hasCount(page.getByRole("link", { name: "Moments" }), 0);
    await go(page, "/moments");
    await page.getByText("Moments are off").waitFor();
  });
});
