// The past of a companion that lives, as it is asked for: what happened later changes nothing of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import { openThroughline } from "../core/throughline.ts";
import type { Companion } from "./companion.ts";
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

test("the past is drawn by the configuration in force now, from what was felt", async () => {
  const world = await awake();
  const { clock, companion } = world;
  companion.emotions.event("loud_noise");
  const felt = companion.emotions.feeling().levels.fear;
  live(world, 60);
  const span = { from: clock.now() - 60_000, to: clock.now(), points: 61 };
  const before = (await companion.moodCourse(span)).levels.fear;
  const { configuration } = companion.emotions;
  const fear = { ...configuration.emotions.fear, decayPerSecond: 0 };
  companion.emotions.configure({
    ...configuration,
    emotions: { ...configuration.emotions, fear },
  });
  const since = (await companion.moodCourse(span)).levels.fear;
  assert.equal(since[0], felt);
  assert.equal(since[0], before[0]);
  assert.ok((since[30] ?? 0) > (before[30] ?? 0));
  await world.close();
});
