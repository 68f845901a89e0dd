// Camera and microphone from two pages at once, and what a model makes of praise through its tool call.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, type TestContext } from "node:test";
import { LLMock } from "@copilotkit/aimock";
import { parseModelName } from "../../src/core/models/model-name.ts";
import { createResponder } from "../../src/core/models/registry.ts";
import { systemTimers } from "../../src/core/timers.ts";
import { offerSkills } from "../../src/moments/turns/skills.ts";
import type { Companion } from "../support/server-fixture.ts";
import {
  type CaptureVisit,
  fakeDevices,
  filled,
  keptMedia,
  switchOn,
  withMoments,
} from "./capture-fixture.ts";
import { message, onPage, say, test, unlessStarved, withArguments } from "./page-fixture.ts";

withArguments(
  ...fakeDevices,
  // Two pages are in sight at once: neither is slowed down for being behind the other.
  "--disable-renderer-backgrounding",
  "--disable-backgrounding-occluded-windows",
);

// It speaks the provider's own protocol on a port of loopback.
const mock = new LLMock({ port: 0, logLevel: "silent" });
before(() => mock.start());
after(() => mock.stop());

const call = {
  name: "remember_positively",
  arguments: '{"what":"told a joke about a cat","trigger":"laughter"}',
};
const joke = "Why did the cat sit on the computer? To watch the mouse.";

/** The visit of a companion whose model can call tools. */
async function withModel(t: TestContext): Promise<CaptureVisit> {
  const visit = await withMoments(t);
  const { throughline, moments } = visit;
  const settings = {
    ...{ openaiApiKey: "canary-key", openaiBaseUrl: `${mock.url}/v1` },
    ...{ anthropicApiKey: undefined, anthropicBaseUrl: undefined, ollamaHost: mock.url },
    ...{ compatibleApiKey: undefined, awsRegion: undefined, awsAccessKeyId: undefined },
    ...{ awsSecretAccessKey: undefined, awsSessionToken: undefined, awsBearerToken: undefined },
    bedrockBaseUrl: undefined,
  };
  const model = parseModelName("openai/gpt-5");
  const responder = await createResponder(model, settings as never, { maxRetries: 0 });
  const turns = await throughline.turns({
    model: responder,
    persona: "You are kind.",
    maxQueued: 4,
    tools: offerSkills(moments.recorder, systemTimers),
  });
  t.after(() => turns.close(0));
  return { ...visit, prepare: async () => undefined, options: { ...visit.options, turns } };
}

const feedMs = 15_000;

interface Made {
  readonly name: string;
  readonly stats: Stats;
}

/** Feeds, talks, praises, and gives the package that the model made. */
async function longMoment(visit: CaptureVisit): Promise<Made> {
  let made: Made | undefined;
  await onPage(visit, async ({ page }, c: Companion) => {
    await switchOn(page);
    await page.waitForTimeout(feedMs);
    await filled(c, { frames: 18, seconds: 12 }, 30_000);
    await page.getByRole("link", { name: "Talk", exact: true }).click();
    await say(page, "Tell me a joke");
    await message(page, joke).waitFor();
    const stats = (await c.get("/api/feedback/stats")) as Stats;
    await say(page, "haha, good one");
    await message(page, "Glad you liked it.").waitFor();
    // The model was told within a second, if need be that it is still being saved.
    let { packages } = await c.get("/api/feedback");
    for (let waited = 0; packages.length === 0 && waited < 10_000; waited += 100) {
      await page.waitForTimeout(100);
      ({ packages } = await c.get("/api/feedback"));
    }
    assert.equal(packages.length, 1);
    const verified = await c.post(`/api/feedback/${packages[0].name}/verify`);
    assert.deepEqual(await verified.json(), { verified: true, state: "whole", differences: [] });
    made = { name: packages[0].name, stats };
  });
  assert.ok(made);
  return made;
}

interface Stats {
  readonly frames: number;
  readonly audio_seconds: number;
  readonly bytes: number;
}

test(
  "a model's remember_positively makes a whole package of what two pages show and hear at once",
  { timeout: 120_000 },
  unlessStarved(async (t) => {
    mock.onMessage(/joke/, { content: joke });
    mock.on({ userMessage: /haha/, hasToolResult: false }, { toolCalls: [call] });
    mock.on({ userMessage: /haha/, hasToolResult: true }, { content: "Glad you liked it." });
    const own = await withModel(t);
    const other = await withModel(t);
    const [first, second] = await Promise.all([longMoment(own), longMoment(other)]);
    for (const [visit, { name, stats }] of [
      [own, first],
      [other, second],
    ] as const) {
      assert.ok(stats.frames <= 240 && stats.audio_seconds <= 120 && stats.bytes <= 20_000_000);
      const kept = keptMedia(visit.feedback, name);
      const feedback = JSON.parse(readFileSync(join(kept.folder, "feedback.json"), "utf8"));
      assert.match(name, /_positive_fb_[0-9a-f]{12}$/);
      assert.deepEqual(
        [feedback.what, feedback.trigger, feedback.source, feedback.num_frames],
        ["told a joke about a cat", "laughter", "skill", kept.frames.length],
      );
      assert.ok(feedback.num_messages >= 3, `${feedback.num_messages} messages`);
      // The audio thread of a busy machine stands still: less is heard then.
      const { samples } = kept.audio;
      assert.ok(samples >= 12 * 16_000, `${samples} samples`);
      assert.ok(kept.frames.length >= 18, `${kept.frames.length} pictures`);
      assert.ok(kept.frames.every(({ t_ms }) => t_ms >= -121_000 && t_ms <= 0));
      assert.match(feedback.consent.wording, /the last two minutes of picture and sound/);
    }
  }),
);
