import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { column, columns } from "../../test/support/columns.ts";
import { HeldClock } from "../../test/support/held-clock.ts";
import { ThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { LogRecord, LogStore } from "../core/storage/log-store.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import { openThroughline } from "../core/throughline.ts";
import type { Companion } from "./companion.ts";
import { applyEvent, startState } from "./emotion/acts.ts";
import { builtInEmotions as config } from "./emotion/built-in-emotions.ts";
import { type EmotionState, emotions, evolve } from "./emotion/emotion.ts";
import { feel } from "./emotion/feel.ts";
import { MoodHistory, type MoodRecord, moodCourse } from "./mood-history.ts";
import { runsProjection } from "./runs.ts";
import { startCompanion } from "./start-companion.ts";

const noon = Date.UTC(2026, 2, 1, 12);
const born = startState(config, noon);
const all = { from: 0, to: noon + 1e12 };

/** Felt so many milliseconds after noon. */
function felt(ms: number, name?: string, kind: MoodRecord["kind"] = "felt"): MoodRecord {
  const before = evolve(born, ms);
  const state =
    name === undefined ? before : applyEvent(config, before, { event: name, id: "w" }).state;
  const at = noon + ms;
  return { at, kind, state, events: name === undefined ? [] : [{ at, event: name, intensity: 1 }] };
}

/** A history on a log that fails, hangs or loses its answer as it is told. */
function history() {
  const inner = openMemoryStorage().logs("", runsProjection);
  let ids = 0;
  const disk = {
    appends: [] as (readonly LogRecord[])[],
    fails: undefined as "nothing stored" | "stored, and nobody knows" | undefined,
    gate: Promise.resolve(),
  };
  const logs: Pick<LogStore, "append" | "page"> = {
    page: (key, options) => inner.page(key, options),
    async append(key, records) {
      disk.appends.push(records);
      await disk.gate;
      if (disk.fails === "nothing stored") {
        throw new ThroughlineError("away", { code: "THROUGHLINE_UNAVAILABLE" });
      }
      const seq = await inner.append(key, records);
      if (disk.fails === undefined) return seq;
      throw new ThroughlineError("who knows", { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
    },
  };
  const moods = new MoodHistory(logs as LogStore, () => `id-${++ids}`);
  const write = (record: JsonObject) => inner.append("moods", [{ id: `w-${++ids}`, ...record }]);
  const told = async (span: Parameters<typeof moods.between>[1] = all) =>
    (await moods.between(config, span)).map(
      ({ at, kind, events }) =>
        `${kind} ${at - noon}${events.map(({ event }) => ` ${event}`).join("")}`,
    );
  return { moods, disk, inner, write, told };
}

test("what is felt within a second of the first is one record: the last state, and all events", async () => {
  const { moods, told, disk } = history();
  for (const ms of [0, 400, 999, 1_000, 1_900, 2_000]) {
    moods.note(felt(ms, ms === 1_900 ? "insult" : "loud_noise"));
  }
  const wanted = [
    "felt 999 loud_noise loud_noise loud_noise",
    "felt 1900 loud_noise insult",
    "felt 2000 loud_noise",
  ];
  assert.deepEqual(await told(), wanted);
  await moods.flush();
  assert.deepEqual(column(disk.appends, "length"), [3]);
  assert.deepEqual(await told(), wanted, "stored and read it is the same");
});

test("of the events of one record the newest 50 are kept; while the disk fails at most 1,500 records wait: the oldest feelings go, runs stay", async () => {
  const { moods, disk, told } = history();
  for (let ms = 0; ms < 60; ms++) moods.note(felt(ms, "pat_level1"));
  const [record] = await moods.between(config, all);
  assert.deepEqual([record?.events.length, record?.events[0]?.at], [50, noon + 10]);
  disk.fails = "nothing stored";
  for (let i = 1; i < 600; i++) moods.note(felt(i * 10_000, "pat_level1"));
  await assert.rejects(moods.flush());
  moods.note(felt(6_005_000, undefined, "up"));
  for (let i = 601; i <= 2_000; i++) moods.note(felt(i * 10_000, "pat_level1"));
  disk.fails = undefined;
  await moods.flush();
  const kept = await told();
  assert.deepEqual([kept.length, kept[500]], [1_500, "up 6005000"]);
  assert.equal(kept.at(-1), "felt 20000000 pat_level1");
});

test("what brings no event is one record for 10 s, apart from one that did and from the ends of runs", async () => {
  const { moods, told } = history();
  moods.note({ ...felt(0, undefined, "up"), downAt: noon - 5_000 });
  for (const ms of [0, 3_000, 9_999, 10_000]) moods.note(felt(ms));
  moods.note(felt(12_000, "loud_noise"));
  for (const ms of [25_000, 30_000]) moods.note(felt(ms)); // the noise is forgotten
  moods.note(felt(31_000, "insult"));
  moods.note(felt(31_001, undefined, "down"));
  moods.note(felt(31_002, undefined, "up"));
  await moods.flush();
  assert.deepEqual(await told(), [
    ...["up 0", "felt 9999", "felt 10000", "felt 12000 loud_noise", "felt 30000"],
    ...["felt 31000 insult", "down 31001", "up 31002"],
  ]);
  const [up] = await moods.between(config, all);
  assert.equal(up?.downAt, noon - 5_000);
});

test("a clock that is set back begins another record, and the records are read in order", async () => {
  const { moods, told } = history();
  moods.note(felt(3_600_000, "pat_level1"));
  moods.note(felt(5_000, "insult"));
  const wanted = ["felt 5000 insult", "felt 3600000 pat_level1"];
  assert.deepEqual(await told(), wanted);
  await moods.flush();
  assert.deepEqual(await told(), wanted);
  assert.deepEqual(await told({ from: noon + 6_000, to: noon + 7_000 }), ["felt 5000 insult"]);
});

for (const fails of ["nothing stored", "stored, and nobody knows"] as const) {
  test(`a flush that fails (${fails}) keeps what waits, and the next one stores it once`, async () => {
    const { moods, disk, told } = history();
    disk.fails = fails;
    moods.note(felt(0, "pat_level1"));
    await assert.rejects(moods.flush());
    moods.note(felt(1, "insult"));
    const wanted = ["felt 0 pat_level1", "felt 1 insult"];
    assert.deepEqual(await told(), wanted);
    await assert.rejects(moods.flush());
    disk.fails = undefined;
    await moods.flush();
    assert.deepEqual(await told(), wanted);
    const stored = disk.appends.length;
    await moods.flush();
    assert.equal(disk.appends.length, stored, "nothing is left");
  });
}

/** A record so many seconds after noon. */
function record(
  seconds: number,
  kind: MoodRecord["kind"],
  more: Partial<MoodRecord> = {},
): MoodRecord {
  const ms = seconds * 1_000;
  return { at: noon + ms, kind, state: evolve(born, ms), events: [], ...more };
}

/** The course from noon, a point a second. */
function course(records: readonly MoodRecord[], seconds: number) {
  const span = { from: noon, to: noon + seconds * 1_000, points: seconds + 1 };
  return moodCourse(config, records, span);
}

/** Where there is a mood, as spans of seconds, both ends included. */
function shown(moods: readonly (string | null)[]): string[] {
  const spans: string[] = [];
  let start: number | undefined;
  for (const [i, mood] of [...moods, null].entries()) {
    if (mood !== null) start ??= i;
    else if (start !== undefined) {
      spans.push(`${start}-${i - 1}`);
      start = undefined;
    }
  }
  return spans;
}

test("at every instant the course is what evolve and feel say, for any history", () => {
  const events = Object.keys(config.events);
  const step = fc.tuple(fc.nat(200_000), fc.constantFrom(...events));
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 8 }),
      fc.integer({ min: 2, max: 60 }),
      (steps, points) => {
        const records: MoodRecord[] = [record(0, "up", { state: born })];
        let state: EmotionState = born;
        let at = noon;
        for (const [i, [wait, event]] of steps.entries()) {
          at += wait;
          state = applyEvent(config, evolve(state, wait), { event, id: `w${i}` }).state;
          records.push({ at, kind: "felt", state, events: [] });
        }
        const drawn = moodCourse(config, records, { from: noon, to: at + 100_000, points });
        for (const [i, instant] of drawn.at.entries()) {
          const last = records.findLast((each) => each.at <= instant);
          assert.ok(last);
          const felt = feel(config, evolve(last.state, instant - last.at));
          assert.equal(drawn.mood[i], felt.mood);
          assert.equal(drawn.boredom[i], felt.boredom);
          for (const name of emotions) assert.equal(drawn.levels[name][i], felt.levels[name]);
        }
      },
    ),
    { numRuns: 50 },
  );
});

test("between a clean end and the next boot nothing is drawn", () => {
  const { mood, runs } = course([record(0, "up"), record(3, "down"), record(7, "up")], 10);
  assert.deepEqual(shown(mood), ["0-3", "7-10"]);
  assert.deepEqual(columns(runs, "from", "to").flat(), [noon, noon + 3_000, noon + 7_000, null]);
});

for (const [says, downAt, wanted] of [
  ["4 s after the boot", 4, ["0-4", "7-10"]],
  ["before its own boot", -60, ["0-0", "7-10"]],
  ["after the next boot", 60, ["0-10"]],
  ["at no known time", undefined, ["0-10"]],
] as const) {
  test(`a run that was killed and last lived ${says} is drawn as ${wanted.join(", ")}`, () => {
    const left = downAt === undefined ? {} : { downAt: noon + downAt * 1_000 };
    const { mood } = course([record(0, "up"), record(7, "up", left)], 10);
    assert.deepEqual(shown(mood), wanted);
  });
}

const hurt = applyEvent(config, born, { event: "violence", id: "w" }).state;

test("a wound is drawn from when it was made to when it will be gone, or was healed by what happened", () => {
  const { wounds } = course([record(0, "up", { state: hurt })], 10);
  const wanted = { id: "w", event: "violence", from: noon, to: noon + 550_000 };
  assert.deepEqual(wounds, [wanted]);
  let state = evolve(hurt, 5_000);
  for (let pat = 0; pat < 4; pat++) {
    state = applyEvent(config, state, { event: "pat_level2", id: "x" }).state;
  }
  assert.deepEqual(feel(config, state).wounds, []);
  const records = [record(0, "up", { state: hurt }), record(5, "felt", { state })];
  assert.deepEqual(column(course(records, 10).wounds, "to"), [noon + 5_000]);
});

test("of a record that ends after the span its events in the span are returned, and nothing is drawn", () => {
  const noise = { event: "loud_noise", intensity: 1 };
  const event = (seconds: number) => ({ at: noon + seconds * 1_000, ...noise });
  const late = record(1.5, "felt", { events: [event(1), event(1.5)] });
  const { events, runs, mood } = course([late], 1);
  assert.deepEqual(events, [event(1)]);
  assert.deepEqual([runs, shown(mood)], [[], []]);
});

// The past of a companion that lives, as it is asked for: what happened later changes nothing of it.
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

test("a fright shows in the history after somebody came 8 s later, before a save and after it", async () => {
  const world = await awake();
  const { clock, companion } = world;
  const from = clock.now();
  companion.emotions.event("loud_noise");
  live(world, 4);
  const span = { from, to: clock.now(), points: 5 };
  const before = await companion.moodCourse(span);
  assert.ok((before.levels.fear[0] ?? 0) > 0.2);
  assert.deepEqual(column(before.events, "event"), ["loud_noise"]);
  live(world, 4);
  companion.personSeen("Ori");
  assert.deepEqual(await companion.moodCourse(span), before);
  await companion.save();
  assert.deepEqual(await companion.moodCourse(span), before);
  await world.close();
});

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
  const emotions = { ...configuration.emotions, fear };
  companion.emotions.configure({ ...configuration, emotions });
  const since = (await companion.moodCourse(span)).levels.fear;
  assert.equal(since[0], felt);
  assert.equal(since[0], before[0]);
  assert.ok((since[30] ?? 0) > (before[30] ?? 0));
  await world.close();
});
