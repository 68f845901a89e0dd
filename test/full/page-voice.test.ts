// Talking by voice, with the browser's own recognition and voices in the place of ours: they are not
// there in every browser, and need services that a test does not have.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { field, holds, message, onPage, say, skip, useBrowser } from "./page-fixture.ts";

useBrowser();

/** A recognition that hears what the test says through `hear`, and a synthesis that notes its words. */
const fakes = () => {
  const all = globalThis as unknown as Record<string, unknown>;
  let current: EventTarget | undefined;
  class Recognition extends EventTarget {
    start() {
      current = this;
    }
    stop() {
      if (current === this) current = undefined;
      setTimeout(() => this.dispatchEvent(new Event("end")));
    }
    abort() {
      this.stop();
    }
  }
  all["SpeechRecognition"] = Recognition;
  all["hear"] = (transcript: string, isFinal: boolean) => {
    const results = [{ 0: { transcript }, length: 1, isFinal }];
    const fields = { results, resultIndex: 0 };
    if (current === undefined) throw new Error("nobody listens");
    current.dispatchEvent(Object.defineProperties(new Event("result"), valuesOf(fields)));
  };
  all["failHearing"] = (error: string) => {
    current?.dispatchEvent(Object.defineProperties(new Event("error"), valuesOf({ error })));
    (current as unknown as { stop(): void } | undefined)?.stop();
  };
  const valuesOf = (fields: object) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { value }]));
  const spoken: string[] = [];
  all["spoken"] = spoken;
  class Utterance extends EventTarget {
    readonly text: string;
    constructor(text: string) {
      super();
      this.text = text;
    }
  }
  all["SpeechSynthesisUtterance"] = Utterance;
  const synthesis = {
    speak(utterance: Utterance) {
      spoken.push(utterance.text);
      setTimeout(() => utterance.dispatchEvent(new Event("end")), 20);
    },
    cancel() {},
    getVoices: () => [{}],
    addEventListener() {},
    removeEventListener() {},
  };
  Object.defineProperty(globalThis, "speechSynthesis", { value: synthesis });
};

/** A browser that has neither. */
const none = () => {
  for (const name of ["SpeechRecognition", "webkitSpeechRecognition", "speechSynthesis"]) {
    delete (globalThis as unknown as Record<string, unknown>)[name];
    const prototype = Object.getPrototypeOf(globalThis) as Record<string, unknown>;
    delete prototype[name];
  }
};

const hear = (page: Page, words: string, isFinal: boolean) =>
  page.evaluate(`hear(${JSON.stringify(words)}, ${isFinal})`);
const spoken = (page: Page) => page.evaluate("spoken") as Promise<string[]>;
const heard = (page: Page) => page.locator(".composer-heard");
const note = (page: Page) => page.locator(".voice-note");

test("push to talk: what is said while the button is held is shown, then sent; a draft stays", {
  skip,
}, async () => {
  await onPage({ script: [["And to you"]], inject: fakes }, async ({ page }, c) => {
    await field(page).fill("typed before");
    await page.getByRole("button", { name: "Hold to talk" }).hover();
    await page.mouse.down();
    await note(page).filter({ hasText: "Listening" }).waitFor();
    await hear(page, "good mor", false);
    await heard(page).filter({ hasText: "good mor" }).waitFor();
    assert.equal(await field(page).inputValue(), "typed before");
    await page.waitForTimeout(400);
    await hear(page, "good morning", true);
    await page.mouse.up();
    await message(page, "And to you").waitFor();
    const { messages } = await c.throughline.chats.messages("local:me");
    assert.equal(messages[0]?.content, "good morning");
    assert.equal(await field(page).inputValue(), "typed before");
    assert.equal(await heard(page).count(), 0);
  });
});

test("hands free: every sentence is sent until it is switched off, what began stays as a draft", {
  skip,
}, async () => {
  const visit = { script: [["One"], ["Two"]], inject: fakes, lateMs: 50 };
  await onPage(visit, async ({ page }) => {
    const button = page.getByRole("button", { name: "Hands free" });
    await button.click();
    await note(page).filter({ hasText: "Listening" }).waitFor();
    await hear(page, "first sentence", true);
    await message(page, "One").waitFor();
    await hear(page, "second sentence", true);
    await message(page, "Two").waitFor();
    await hear(page, "third sen", false);
    await heard(page).filter({ hasText: "third sen" }).waitFor();
    await button.click();
    await page.locator(".voice-note:empty").waitFor({ state: "attached" });
    assert.equal(await button.getAttribute("aria-pressed"), "false");
    assert.equal(await field(page).inputValue(), "third sen");
    assert.equal(await heard(page).count(), 0);
  });
});

test("answers are read aloud sentence by sentence while that is on, without their marks", {
  skip,
}, async () => {
  const script = [["One. **Two** [there](https://x.example). "], ["Silent."]];
  await onPage({ script, inject: fakes }, async ({ page }) => {
    const button = page.getByRole("button", { name: "Read answers aloud" });
    await button.click();
    await say(page, "Speak");
    await holds(page, "spoken.length === 2");
    assert.deepEqual(await spoken(page), ["One.", "Two there."]);
    await button.click();
    await say(page, "Be quiet");
    await message(page, "Silent.").waitFor();
    assert.equal((await spoken(page)).length, 2);
  });
});

for (const [error, says] of [
  ["not-allowed", "does not allow this page the microphone"],
  ["audio-capture", "No microphone was found"],
  ["network", "needs its service"],
] as const) {
  test(`when listening fails with ${error}, the person reads why and types on`, {
    skip,
  }, async () => {
    await onPage({ script: [["Typed"]], inject: fakes }, async ({ page }) => {
      await page.getByRole("button", { name: "Hands free" }).click();
      await note(page).filter({ hasText: "Listening" }).waitFor();
      await page.waitForTimeout(50);
      await page.evaluate(`failHearing("${error}")`);
      await note(page).filter({ hasText: says }).waitFor();
      await page.getByRole("button", { name: "Hands free", pressed: false }).waitFor();
      await say(page, "Then I type");
      await message(page, "Typed").waitFor();
    });
  });
}

test("a browser without speech says so when it is asked to, and typing works", {
  skip,
}, async () => {
  await onPage({ script: [["Typed"]], inject: none }, async ({ page }) => {
    await page.getByRole("button", { name: "Hold to talk" }).click();
    await note(page).filter({ hasText: "has no speech recognition" }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Read answers aloud" }).click();
    await note(page).filter({ hasText: "cannot read aloud" }).waitFor();
    await say(page, "Then I type");
    await message(page, "Typed").waitFor();
  });
});
