// Talking by voice, with the browser's own recognition and voices in the place of ours: they are not
// there in every browser, and need services that a test does not have.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { field, holds, message, onPage, say, test } from "./page-fixture.ts";

/** A recognition that hears what the test says through `hear`, and a synthesis that notes its words. */
const fakes = () => {
  const all = globalThis as unknown as Record<string, unknown>;
  let current: EventTarget | undefined;
  class Recognition extends EventTarget {
    static available = async () => "available";
    processLocally = false;
    readonly results: { readonly isFinal: boolean; readonly length: number; 0: object }[] = [];
    start() {
      current = this;
      const { processLocally } = this;
      all["heardBy"] = processLocally ? "device" : "vendor";
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
  all["isHeard"] = () => current !== undefined;
  /** Adds a part to what was heard, in the place of one that is not final. */
  all["hear"] = (transcript: string, isFinal: boolean) => {
    if (current === undefined) throw new Error("the page does not listen");
    const { results } = current as Recognition;
    if (results.at(-1)?.isFinal === false) results.pop();
    results.push({ 0: { transcript, confidence: 0.9 }, length: 1, isFinal });
    const fields = { results, resultIndex: results.length - 1 };
    current.dispatchEvent(Object.defineProperties(new Event("result"), valuesOf(fields)));
  };
  all["failHearing"] = (error: string) => {
    current?.dispatchEvent(Object.defineProperties(new Event("error"), valuesOf({ error })));
    (current as unknown as { stop(): void } | undefined)?.stop();
  };
  const valuesOf = (fields: object) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { value }]));
  const spoken: string[] = [];
  const voices: string[] = [];
  all["voicesUsed"] = voices;
  all["offered"] = [{ name: "device", lang: "en-US", localService: true, default: true }];
  all["spoken"] = spoken;
  class Utterance extends EventTarget {
    readonly text: string;
    voice: { readonly name: string } | null = null;
    constructor(text: string) {
      super();
      this.text = text;
    }
  }
  all["SpeechSynthesisUtterance"] = Utterance;
  const synthesis = {
    speak(utterance: Utterance) {
      spoken.push(utterance.text);
      voices.push(utterance.voice?.name ?? "browser's choice");
      setTimeout(() => utterance.dispatchEvent(new Event("end")), 20);
    },
    cancel() {},
    getVoices: () => all["offered"],
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

const hear = async (page: Page, words: string, isFinal: boolean) => {
  await page.waitForFunction("isHeard()"); // the page says so a moment before it begins
  await page.evaluate(`hear(${JSON.stringify(words)}, ${isFinal})`);
};
const spoken = (page: Page) => page.evaluate("spoken") as Promise<string[]>;
const heard = (page: Page) => page.locator(".composer-heard");
const note = (page: Page) => page.locator(".voice-note");

const talk = (page: Page) => page.getByRole("button", { name: "Hold to talk" });
const handsFree = (page: Page) => page.getByRole("button", { name: "Hands free" });
/** Where the sound that is listened to goes; `undefined`: nothing ever listened. */
const heardBy = (page: Page) => page.evaluate("globalThis.heardBy");

/** As the fakes, but the voice that the browser prefers is that of a service. */
const preferredRemote = () => {
  const { offered } = globalThis as unknown as { offered: unknown[] };
  offered[0] = { name: "device", lang: "en-US", localService: true, default: false };
  offered.unshift({ name: "remote", lang: "en-US", localService: false, default: true });
};

/** As the fakes, but all voices are those of a service. */
const remoteVoices = () => {
  const synthesis = (globalThis as unknown as { speechSynthesis: Record<string, unknown> })
    .speechSynthesis;
  synthesis["getVoices"] = () => [
    { name: "remote", lang: "en-US", localService: false, default: true },
  ];
};

test("push to talk sends what is said while the button is held, hands free every sentence; a draft stays, and a failure is told", async () => {
  const failures = {
    "not-allowed": "does not let this page use the microphone",
    "audio-capture": "No microphone was found",
    network: "speech service cannot be reached",
  };
  const typed = Object.keys(failures).map((error) => [`Typed after ${error}`]);
  const script = [["And to you"], ["One"], ["Two"], ...typed];
  await onPage({ script, inject: fakes, lateMs: 50 }, async ({ page }, c) => {
    await field(page).fill("typed before");
    await talk(page).hover();
    await page.mouse.down();
    await note(page).filter({ hasText: "Listening" }).waitFor();
    await hear(page, "good mor", false);
    await heard(page).filter({ hasText: "good mor" }).waitFor();
    assert.equal(await field(page).inputValue(), "typed before");
    await page.waitForTimeout(400);
    await hear(page, "good morning", true);
    await hear(page, "good morning Nova", true); // on Android each part repeats those before it
    await page.mouse.up();
    await message(page, "And to you").waitFor();
    const { messages } = await c.throughline.chats.messages("local:me");
    assert.equal(messages[0]?.content, "good morning Nova");
    assert.equal(await field(page).inputValue(), "typed before");
    assert.equal(await heard(page).count(), 0);
    await field(page).fill("");

    await handsFree(page).click();
    await note(page).filter({ hasText: "Listening" }).waitFor();
    await hear(page, "first sentence", true);
    await message(page, "One").waitFor();
    await hear(page, " second sentence", true);
    await message(page, "Two").waitFor();
    await hear(page, " third sen", false);
    await heard(page).filter({ hasText: "third sen" }).waitFor();
    await handsFree(page).click();
    await page.locator(".voice-note:empty").waitFor({ state: "attached" });
    assert.equal(await handsFree(page).getAttribute("aria-pressed"), "false");
    assert.equal(await field(page).inputValue(), "third sen");
    assert.equal(await heard(page).count(), 0);

    for (const [error, says] of Object.entries(failures)) {
      await handsFree(page).click();
      await note(page).filter({ hasText: "Listening" }).waitFor();
      await page.waitForFunction("isHeard()");
      await page.evaluate(`failHearing("${error}")`);
      await note(page).filter({ hasText: says }).waitFor();
      await page.getByRole("button", { name: "Hands free", pressed: false }).waitFor();
      await say(page, "Then I type");
      await message(page, `Typed after ${error}`).waitFor();
    }
  });
});

test("answers are read aloud without their marks, by a voice of the device, and by a remote one only after the person agreed", async () => {
  const script = [["One. **Two** [there](https://x.example). "], ["Silent."], ["Hello."]];
  const remote = [["First."], ["Second."], ["Third."]];
  await onPage({ script: [...script, ...remote], inject: fakes }, async ({ page, context }) => {
    const button = page.getByRole("button", { name: "Read answers aloud" });
    await button.click();
    await say(page, "Speak");
    await holds(page, "spoken.length === 2");
    assert.deepEqual(await spoken(page), ["One.", "Two there."]);
    await button.click();
    await say(page, "Be quiet");
    await message(page, "Silent.").waitFor();
    assert.equal((await spoken(page)).length, 2);

    await context.addInitScript(preferredRemote);
    await page.reload();
    await button.click();
    await say(page, "Speak");
    await holds(page, "spoken.length === 1");
    assert.deepEqual(await page.evaluate("voicesUsed"), ["device"]);

    // It is on when a browser has remote voices alone: nobody was asked.
    await context.addInitScript(remoteVoices);
    await page.reload();
    await note(page).filter({ hasText: "sends text to its vendor" }).waitFor();
    await say(page, "Speak");
    await message(page, "First.").waitFor();
    assert.deepEqual(await spoken(page), []);
    const dialog = page.getByRole("dialog", { name: "Send answers to your browser's vendor?" });
    await button.click(); // off
    await button.click();
    await dialog.getByRole("button", { name: "Not now" }).click();
    await say(page, "Speak");
    await message(page, "Second.").waitFor();
    assert.deepEqual(await spoken(page), []);
    await button.click();
    await dialog.getByRole("button", { name: "I agree" }).click();
    await say(page, "Speak");
    await holds(page, "spoken.length === 1");
    assert.deepEqual(await spoken(page), ["Third."]);
  });
});

test("speech stays on the device where it can, after a download where that is needed, else the person is asked first", async () => {
  await onPage({ inject: fakes }, async ({ page }) => {
    await page.getByText("sent to the model that answers").waitFor();
    assert.equal(await page.getByText("Every word is kept on this machine").count(), 0);
    await handsFree(page).click();
    await note(page).filter({ hasText: "Listening, on this device" }).waitFor();
    await holds(page, "globalThis.heardBy === 'device'");
    assert.equal(await page.getByRole("dialog").count(), 0);

    for (const [works, says, by] of [
      [false, "The download failed", undefined],
      [true, "Listening, on this device", "device"],
    ] as const) {
      await page.reload();
      await handsFree(page).waitFor();
      await page.evaluate("SpeechRecognition.available = async () => 'downloadable'");
      await page.evaluate(`SpeechRecognition.install = async (options) => {
        globalThis.installed = options;
        return ${works};
      }`);
      await handsFree(page).click();
      await page.getByRole("button", { name: "Download and stay on this device" }).click();
      await note(page).filter({ hasText: says }).waitFor();
      if (by !== undefined) await holds(page, `globalThis.heardBy === ${JSON.stringify(by)}`);
      else assert.equal(await heardBy(page), undefined);
      assert.deepEqual(await page.evaluate("installed"), {
        langs: ["en-US"],
        processLocally: true,
      });
    }

    const lacking = "delete SpeechRecognition.available";
    const toVendor = note(page).filter({ hasText: "may be sent to the browser's vendor" });
    await page.reload();
    await handsFree(page).waitFor();
    await page.evaluate(lacking);
    for (const button of [handsFree(page), talk(page)]) {
      await button.click();
      const dialog = page.getByRole("dialog", {
        name: "Send your voice to your browser's vendor?",
      });
      await dialog.getByText("its vendor's service").waitFor();
      await dialog.getByRole("button", { name: "Not now" }).click();
      await dialog.waitFor({ state: "detached" });
    }
    assert.equal(await heardBy(page), undefined);
    await handsFree(page).click();
    await page.getByRole("button", { name: "I agree" }).click();
    await toVendor.waitFor();
    await holds(page, "globalThis.heardBy === 'vendor'");
    await page.reload();
    await handsFree(page).waitFor();
    await page.evaluate(lacking);
    await handsFree(page).click();
    await toVendor.waitFor();
  });
});

test("a browser without speech says so when it is asked to, and typing works", async () => {
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
