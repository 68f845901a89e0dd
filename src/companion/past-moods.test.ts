// The past of a companion that lives, as it is asked for: what happened later changes nothing of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import { kept } from "../../test/support/kept-storage.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import { openThroughline } from "../core/throughline.ts";
import type { Companion } from "./companion.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { startCompanion } from "./start-companion.ts";

/** A companion that is up for 10 s. */
async function awake() {
  const clock = new HeldClock();
  const throughline = await openThroughline({ storage: "memory", clock });
  const companion = await startCompanion(throughline);
  clock.pass(10_000);
  return { clock, companion, close: () => throughline.close() };
}

interface World {
  readonly clock: HeldClock;
  readonly companion: Companion;
}

/** Passes of the loop, one a second. */
function live({ clock, companion }: World, seconds: number): void {
  for (let i = 0; i < seconds; i++) {
    clock.pass(1_000);
    companion.tick();
  }
}

for (const isSaved of [false, true]) {
  test(`a fright shows in the history after somebody came 8 s later, ${isSaved ? "saved" : "not saved"} in between`, async () => {
    const world = await awake();
    const { clock, companion } = world;
    const from = clock.now();
    companion.emotions.event("loud_noise");
    live(world, 4);
    const span = { from, to: clock.now(), points: 5 };
    const before = await companion.moodCourse(span);
    assert.ok((before.levels.fear[0] ?? 0) > 0.2);
    assert.deepEqual(
      before.events.map(({ event }) => event),
      ["loud_noise"],
    );
    live(world, 4);
    if (isSaved) await companion.save();
    companion.personSeen("Ori");
    assert.deepEqual(await companion.moodCourse(span), before);
    await companion.save();
    assert.deepEqual(await companion.moodCourse(span), before);
    await world.close();
  });
}

for (const [how, setMs] of [
  ["ahead by 5 hours", 5 * 3_600_000],
  ["back by 5 hours", -5 * 3_600_000],
  ["ahead by 3 s", 3_000],
] as const) {
  test(`the history ends with what is felt now when the wall clock was set ${how}`, async () => {
    const world = await awake();
    const { clock, companion } = world;
    companion.emotions.event("loud_noise");
    live(world, 2);
    await companion.save();
    const before = clock.now();
    clock.set(new Date(before + setMs).toISOString());
    live(world, 3);
    const to = clock.now();
    const { levels, boredom, at } = await companion.moodCourse({
      from: Math.min(before, to) - 2_000,
      to,
      points: 400,
    });
    const now = companion.emotions.feeling();
    assert.equal(boredom.at(-1), now.boredom);
    assert.equal(levels.fear.at(-1), now.levels.fear);
    assert.ok(now.levels.fear > 0);
    // Nor does it show what time that never passed would have brought.
    const known = boredom.filter((each, i) => each !== null && (at[i] ?? 0) >= before);
    assert.ok(Math.max(0, ...known.map(Number)) <= now.boredom);
    await world.close();
  });
}

/** Nobody who felt by `builtInEmotions` felt like this. */
const another = {
  ...builtInEmotions,
  emotions: {
    ...builtInEmotions.emotions,
    joy: { baseline: 0.95, decayPerSecond: 0.02 },
    fear: { baseline: 0.8, decayPerSecond: 0.04 },
  },
  moodRules: [{ mood: "surprised", conditions: [] }],
} as const;

test("what was felt is shown as it was felt, whatever configuration is in force since, and over starts", async () => {
  const clock = new HeldClock();
  const storage = kept(openMemoryStorage());
  const start = async (emotions?: EmotionConfiguration) => {
    const throughline = await openThroughline({ storage, clock });
    return {
      throughline,
      companion: await startCompanion(throughline, { ...(emotions && { emotions }) }),
    };
  };
  const first = await start();
  first.companion.emotions.event("loud_noise");
  live({ clock, ...first }, 600);
  const span = { from: clock.now() - 600_000, to: clock.now(), points: 50 };
  const before = await first.companion.moodCourse(span);
  live({ clock, ...first }, 1);
  first.companion.emotions.configure(another);
  assert.deepEqual(await first.companion.moodCourse(span), before);
  live({ clock, ...first }, 60);
  const since = { from: clock.now() - 60_000, to: clock.now(), points: 50 };
  const sinceThen = await first.companion.moodCourse(since);
  assert.equal(sinceThen.levels.fear.at(-1), first.companion.emotions.feeling().levels.fear);
  assert.equal(sinceThen.mood.at(-1), "surprised");
  await first.throughline.close();
  clock.pass(60_000);
  const second = await start();
  assert.deepEqual((await second.companion.moodCourse(span)).levels, before.levels);
  assert.deepEqual((await second.companion.moodCourse(since)).levels, sinceThen.levels);
  assert.deepEqual((await second.companion.moodCourse(since)).mood, sinceThen.mood);
  await second.throughline.close();
});
