// Camera and microphone on the page, in a real browser with its own fake ones: from the question before
// anything is on to a package that can be seen and heard, and taken away.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { unpackTar } from "modern-tar";
import type { Route } from "playwright-core";
import { awake } from "../support/awake.ts";
import {
  fakeDevices,
  filled,
  keptMedia,
  light,
  praise,
  switchOn,
  timeOf,
  withMoments,
} from "./capture-fixture.ts";
import {
  gate,
  hasCount,
  hold,
  holds,
  looksFine,
  message,
  onPage,
  say,
  sizes,
  test,
  unlessStarved,
  violations,
  withArguments,
} from "./page-fixture.ts";

withArguments(...fakeDevices);

const off = { frames: false, audio: false };

test("nothing is captured before somebody agreed, and only that; the light is on in every view; off is off, here and from elsewhere", async (t) => {
  await onPage(await withMoments(t), async ({ page }, c) => {
    await page.getByText("Camera and microphone are off.").waitFor();
    await page.getByRole("button", { name: "Turn on…" }).click();
    await page.getByRole("button", { name: "Not now" }).click();
    assert.equal(await light(page).count(), 0);
    const { consent, capturing } = await c.get("/api/feedback/stats");
    assert.deepEqual([consent.frames, consent.audio, capturing], [false, false, off]);

    await switchOn(page);
    await filled(c, { frames: 2, seconds: 1 });
    const agreed = (await c.get("/api/feedback/stats")).consent;
    assert.match(agreed.wording, /the last two minutes of picture and sound/);
    assert.deepEqual([agreed.upload, agreed.export], [false, false]);
    await page.getByText("This page uses the camera and microphone.").waitFor();
    await page.getByLabel("Camera preview").waitFor();
    for (const view of ["Talk", "Mood", "Status", "Memory", "Moments"]) {
      await page.getByRole("link", { name: view, exact: true }).click();
      await light(page).filter({ hasText: "Recording camera and microphone" }).waitFor();
    }
    await page.getByRole("link", { name: "Memory", exact: true }).click();
    await light(page).getByRole("button", { name: "Stop" }).click();
    await light(page).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Moments", exact: true }).click();
    await page.getByText("Camera and microphone are off.").waitFor();
    const after = await c.get("/api/feedback/stats");
    assert.deepEqual([after.frames, after.audio_samples, after.consent.audio], [0, 0, false]);

    // The camera alone, or the microphone alone, is all that is taken.
    await switchOn(page, ["Camera"]);
    await light(page).filter({ hasText: "Recording microphone" }).waitFor();
    await filled(c, { frames: 0, seconds: 1 });
    assert.equal((await c.get("/api/feedback/stats")).frames, 0);
    await page.getByRole("button", { name: "Turn off" }).click();
    await page.getByText("Camera and microphone are off.").waitFor();
    await switchOn(page, ["Microphone"]);
    await light(page).filter({ hasText: "Recording camera" }).waitFor();
    await filled(c, { frames: 2, seconds: 0 });
    assert.equal((await c.get("/api/feedback/stats")).audio_samples, 0);

    // Withdrawn elsewhere, it is off here, and the page says so.
    await c.post("/api/feedback/consent", { messages: true });
    await page.getByText("Turned off: the consent was withdrawn.").waitFor();
    assert.equal(await light(page).count(), 0);
    assert.equal((await c.get("/api/feedback/stats")).frames, 0);

    // What another device feeds lights the light here, and can be stopped here.
    const wording = "the last two minutes of picture and sound";
    await c.post("/api/feedback/consent", { messages: true, audio: true, wording });
    const feed = () =>
      c.ask("/api/audio", {
        method: "POST",
        headers: { "content-type": "audio/pcm" },
        body: new Uint8Array(3_200) as never,
      });
    await feed();
    await light(page).filter({ hasText: "microphone, from another page or device" }).waitFor();
    await light(page).getByRole("button", { name: "Stop" }).click();
    await light(page).waitFor({ state: "detached" });
    const refused = (await (await feed()).json()) as { result: string };
    assert.equal(refused.result, "off");
  });
});

const fails = (route: Route) => route.abort();
const arrives = (route: Route) => route.continue().catch(() => undefined); // it was taken back
for (const [says, held, end] of [
  ["whose first request fails", "stats", fails],
  ["whose first request arrives", "stats", arrives],
  ["whose second request arrives", "consent", arrives],
] as const) {
  test(`a Stop ${says} late does not end what was turned on since then`, async (t) => {
    const visit = { ...(await withMoments(t)), expected: /ERR_FAILED/ };
    await onPage(visit, async ({ page }, c) => {
      await switchOn(page);
      await light(page).filter({ hasText: "Recording camera and microphone" }).waitFor();
      const late = gate();
      const once = { times: 1 };
      await page.route(`**/api/feedback/${held}`, (each) => late.until.then(() => end(each)), once);
      await light(page).getByRole("button", { name: "Stop" }).click();
      await switchOn(page);
      await page.getByLabel("Camera preview").waitFor();
      const { frames } = await c.get("/api/feedback/stats");
      late.open();
      await filled(c, { frames: frames + 2, seconds: 1 });
      await hasCount(page.locator(".recording-trouble"), 0);
      assert.equal(await page.getByLabel("Camera preview").count(), 1);
      assert.equal((await c.get("/api/feedback/stats")).consent.frames, true);
    });
  });
}

test("who turns off twice is not told that the server is away", async (t) => {
  await onPage(await withMoments(t), async ({ page }) => {
    await switchOn(page);
    await light(page).filter({ hasText: "Recording camera and microphone" }).waitFor();
    const stopping = page.waitForRequest("**/api/feedback/consent");
    const letGo = await hold(page, "**/api/feedback/consent");
    const turnOff = page.getByRole("button", { name: "Turn off", exact: true });
    await turnOff.click();
    await stopping;
    // A browser that asks whether it may.
    await page.evaluate("navigator.mediaDevices.getUserMedia = () => new Promise(() => {}); 0");
    await page.getByRole("button", { name: "Turn on…" }).click();
    await page.getByRole("button", { name: "I agree, turn on" }).click();
    const [tookBack] = await Promise.all([page.waitForEvent("requestfailed"), turnOff.click()]);
    assert.match(tookBack.url(), /consent$/);
    const answered = page.waitForResponse("**/api/feedback/consent");
    letGo();
    await answered;
    await hasCount(page.locator(".recording-trouble"), 0);
  });
});

test(
  "what is praised is a package with pictures and playable sound, to be moved through and taken away",
  unlessStarved(async (t) => {
    const visit = await withMoments(t);
    await onPage(visit, async ({ page }, c) => {
      await switchOn(page);
      await filled(c, { frames: 6, seconds: 3 });
      await holds(page, 'document.querySelector("progress[aria-label=Pictures]").value >= 4');
      const name = await praise(page, c);
      await light(page).getByRole("button", { name: "Stop" }).click();

      const kept = keptMedia(visit.feedback, name);
      assert.ok(kept.frames.length >= 6 && kept.audio.samples >= 48_000);
      assert.ok(
        kept.pcm.some((sample) => Math.abs(sample) > 500),
        "the fake microphone beeps",
      );
      const times = kept.frames.map(({ t_ms }) => t_ms);
      for (const [index, { file, seq, width }] of kept.frames.entries()) {
        const jpeg = readFileSync(join(kept.folder, file));
        assert.deepEqual([jpeg[0], jpeg[1], jpeg.at(-2), jpeg.at(-1)], [0xff, 0xd8, 0xff, 0xd9]);
        assert.deepEqual([seq - kept.frames[0]!.seq, width], [index, 640]);
      }
      const steps = times.slice(1).map((time, index) => time - times[index]!);
      // The browser may leave one picture out while it starts.
      assert.ok(Math.max(...steps) < 1_300, `steps of ${steps.join(", ")} ms`);
      const [heardFrom, heardTo] = [timeOf(kept, 0), timeOf(kept, kept.audio.samples)];
      assert.ok(Math.abs(heardTo - times.at(-1)!) < 1_000 && heardTo <= 50, "up to the reaction");
      assert.ok(Math.abs(heardFrom - times[0]!) < 1_000, "from the first picture");

      await page.getByRole("link", { name: "Moments", exact: true }).click();
      await page.locator(".moment-item").click();
      const moment = page.getByRole("region", { name: "Moment", exact: true });
      await moment.getByRole("img", { name: "Sound" }).waitFor();
      await holds(page, 'document.querySelector(".waveform path").getAttribute("d").length > 1000');
      const slider = moment.getByRole("slider", { name: "Time" });
      const source = () => moment.getByRole("img", { name: /^Picture/ }).getAttribute("src");
      await slider.press("End");
      assert.match((await source()) ?? "", new RegExp(`${kept.frames.at(-1)!.file}$`));
      await slider.press("Home");
      assert.match((await source()) ?? "", /frames\/000000\.jpg$/);
      const box = await page.locator(".waveform svg").boundingBox();
      // At its end: the last picture may be some milliseconds before that.
      await page.mouse.click(box!.x + box!.width - 1, box!.y + 10);
      assert.match((await source()) ?? "", new RegExp(`${kept.frames.at(-1)!.file}$`));
      await slider.press("Home");
      await moment.getByRole("button", { name: "Play" }).click();
      await holds(page, 'document.querySelector(".moment-media audio").currentTime > 1');
      await moment.getByRole("button", { name: "Pause" }).click();
      // The picture is the one that the manifest has for what is heard.
      const heardS = (await page.evaluate(
        'document.querySelector(".moment-media audio").currentTime',
      )) as number;
      const at = timeOf(kept, Math.floor(heardS * 16_000));
      const near = kept.frames.filter(({ t_ms }) => t_ms <= at + 100).slice(-2);
      const shown = (await source()) ?? "";
      assert.ok(
        near.some(({ file }) => shown.endsWith(file)),
        `${shown} at ${at} ms`,
      );

      const [download] = await Promise.all([
        page.waitForEvent("download"),
        moment.getByRole("link", { name: "Export" }).click(),
      ]);
      assert.equal(download.suggestedFilename(), `${name}.tar`);
      const entries = await unpackTar(readFileSync(await download.path()));
      assert.equal(entries.length, kept.frames.length + 3);
      const wav = entries.find(({ header }) => header.name.endsWith("audio.wav"));
      assert.equal(wav?.data?.length, statSync(join(kept.folder, "audio.wav")).size);
      await moment.getByRole("button", { name: "Verify" }).click();
      await moment.getByText("Every file is as it was saved.").waitFor();
    });
  }),
);

/** Runs inside the page: what a browser does to a page out of sight. */
const outOfSight = () => {
  // biome-ignore lint/suspicious/noExplicitAny: a page's globals, which tests have no types of.
  const all = globalThis as any;
  const plain = all.setTimeout;
  all.setTimeout = (call: () => void, ms = 0) => plain(call, Math.max(ms, 1_000));
  all.requestAnimationFrame = () => 0;
  all.HTMLVideoElement.prototype.requestVideoFrameCallback = () => 0;
  Object.defineProperty(all.document, "hidden", { get: () => true });
};

test(
  "a page out of sight, whose timers go off once a second and which shows nothing, takes two pictures a second",
  unlessStarved(async (t) => {
    const visit = { ...(await withMoments(t)), inject: outOfSight };
    await onPage(visit, async ({ page }, c) => {
      await switchOn(page);
      await filled(c, { frames: 14, seconds: 6 });
      const body = { sentiment: "positive", what: "the joke" };
      const { name } = (await (await c.post("/api/feedback", body)).json()) as { name: string };
      const times = keptMedia(visit.feedback, name).frames.map(({ t_ms }) => t_ms);
      const steps = times.slice(1).map((time, index) => time - times[index]!);
      t.diagnostic(`steps of ${steps.map((ms) => ms.toFixed(0)).join(", ")} ms`);
      // The browser may leave one picture out while it starts.
      const slow = steps.filter((ms) => ms >= 800).length;
      assert.ok(steps.length >= 12 && slow <= 1, `steps of ${steps.join(", ")} ms`);
    });
  }),
);

test("a browser that hands out no pictures of a track takes them from a video element", async (t) => {
  const inject = () => Reflect.deleteProperty(globalThis, "MediaStreamTrackProcessor");
  const visit = { ...(await withMoments(t)), inject: inject as () => void };
  await onPage(visit, async ({ page }, c) => {
    await switchOn(page, ["Microphone"]);
    await filled(c, { frames: 6, seconds: 0 });
    assert.equal(await page.evaluate("'MediaStreamTrackProcessor' in globalThis"), false);
  });
});

/** Holds the page's WebSockets, for the test to break. */
const heldSockets = () => {
  const all = globalThis as unknown as { sockets: WebSocket[]; WebSocket: typeof WebSocket };
  all.sockets = [];
  const Plain = all.WebSocket;
  all.WebSocket = class extends Plain {
    constructor(address: string | URL) {
      super(address);
      all.sockets.push(this);
    }
  };
};

test("a connection that breaks comes back by itself, and the sound continues", async (t) => {
  const visit = { ...(await withMoments(t)), inject: heldSockets };
  await onPage(visit, async ({ page }, c) => {
    await switchOn(page);
    await filled(c, { frames: 1, seconds: 1 });
    await page.evaluate("sockets[0].close()");
    await holds(page, "sockets.length === 2 && sockets[1].readyState === 1");
    const { audio_seconds } = await c.get("/api/feedback/stats");
    await filled(c, { frames: 2, seconds: audio_seconds + 1 });
    await light(page).filter({ hasText: "not connected" }).waitFor({ state: "detached" });
  });
});

test("a browser that gives no camera is told of, and nothing was agreed to", async (t) => {
  const inject = () => {
    const { navigator } = globalThis as unknown as {
      navigator: { mediaDevices: { getUserMedia: unknown } };
    };
    navigator.mediaDevices.getUserMedia = () =>
      Promise.reject(new DOMException("no", "NotAllowedError"));
  };
  await onPage({ ...(await withMoments(t)), inject }, async ({ page }, c) => {
    await page.getByRole("button", { name: "Turn on…" }).click();
    await page.getByRole("button", { name: "I agree, turn on" }).click();
    await page.getByText("The browser does not let this page use the camera").waitFor();
    assert.equal((await c.get("/api/feedback/stats")).consent.frames, false);
    await page.getByRole("button", { name: "OK" }).click();
    assert.equal(await page.locator(".recording-trouble").count(), 0);
  });
});

test("a pat is felt, and a scratch of the head is a turn of its own without a message from a person", async (t) => {
  const visit = await withMoments(t);
  const options = { ...visit.options, addFeatures: awake() };
  await onPage({ ...visit, options, path: "/" }, async ({ page }, c) => {
    await say(page, "Tell me a joke");
    await message(page, "Knock, knock").waitFor();
    const joy = async () => (await c.get("/api/emotions")).levels.joy as number;
    const before = await joy();
    await page.getByRole("button", { name: "Pat", exact: true }).click();
    await page.locator(".pat-note").filter({ hasText: "It felt that." }).waitFor();
    assert.ok((await joy()) > before);
    assert.equal(c.model.requests.length, 1);
    await page.getByRole("button", { name: "Scratch its head: I liked that" }).click();
    await page.locator(".note").filter({ hasText: "You scratched its head." }).waitFor();
    await message(page, "Who is there?").waitFor();
    assert.deepEqual(await violations(page), []);
  });
});

test("axe finds nothing wrong with capture", async (t) => {
  await onPage(await withMoments(t), async ({ page }, c) => {
    const fits = (what: string) => looksFine(page, what, { only: [sizes.desk, sizes.phone] });
    await page.getByRole("button", { name: "Turn on…" }).click();
    await fits("the question");
    await page.getByRole("button", { name: "Not now" }).click();
    await switchOn(page);
    await page.getByLabel("Camera preview").waitFor();
    await filled(c, { frames: 3, seconds: 1 });
    await fits("the recording");
    await praise(page, c);
    await fits("the talk while it records");
    await page.getByRole("link", { name: "Moments", exact: true }).click();
    await page.locator(".moment-item").click();
    await page.getByRole("img", { name: "Sound" }).waitFor();
    await fits("a moment with sound");
  });
});
