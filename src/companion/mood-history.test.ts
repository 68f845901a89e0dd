import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isoTime } from "../core/clock.ts";
import { ThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { LogRecord, LogStore } from "../core/storage/log-store.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import { applyEvent, startState } from "./emotion/acts.ts";
import { builtInEmotions as config } from "./emotion/built-in-emotions.ts";
import { evolve } from "./emotion/emotion.ts";
import { MoodHistory, type MoodRecord } from "./mood-history.ts";
import { runsProjection } from "./runs.ts";

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
  assert.deepEqual(
    disk.appends.map(({ length }) => length),
    [3],
  );
  assert.deepEqual(await told(), wanted, "stored and read it is the same");
});

test("what brings no event is one record for 10 s, and never in the place of one that did", async () => {
  const { moods, told } = history();
  moods.note(felt(0, undefined, "up"));
  for (const ms of [0, 3_000, 9_999, 10_000]) moods.note(felt(ms));
  moods.note(felt(12_000, "loud_noise"));
  for (const ms of [25_000, 30_000]) moods.note(felt(ms)); // the noise is forgotten
  moods.note(felt(31_000, "insult"));
  await moods.flush();
  assert.deepEqual(await told(), [
    ...["up 0", "felt 9999", "felt 10000", "felt 12000 loud_noise", "felt 30000"],
    "felt 31000 insult",
  ]);
});

test("beginning and end of a run are records of their own", async () => {
  const { moods, told } = history();
  moods.note({ ...felt(0, undefined, "up"), downAt: noon - 5_000 });
  moods.note(felt(1, "pat_level1"));
  moods.note(felt(2, undefined, "down"));
  moods.note(felt(3, undefined, "up"));
  assert.deepEqual(await told(), ["up 0", "felt 1 pat_level1", "down 2", "up 3"]);
  const [up] = await moods.between(config, all);
  assert.equal(up?.downAt, noon - 5_000);
});

test("of the events of one record the newest 50 are kept", async () => {
  const { moods } = history();
  for (let ms = 0; ms < 60; ms++) moods.note(felt(ms, "pat_level1"));
  const [record] = await moods.between(config, all);
  assert.deepEqual([record?.events.length, record?.events[0]?.at], [50, noon + 10]);
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

test("while the disk fails at most 1500 records wait: the oldest feelings go, runs stay", async () => {
  const { moods, disk, told } = history();
  disk.fails = "nothing stored";
  moods.note(felt(0, undefined, "up"));
  for (let i = 1; i <= 3_000; i++) {
    moods.note(felt(i * 10_000, "pat_level1"));
    if (i === 600) await assert.rejects(moods.flush());
  }
  disk.fails = undefined;
  await moods.flush();
  assert.deepEqual(
    disk.appends.slice(1).map(({ length }) => length),
    [500, 500, 500],
  );
  const kept = await told();
  assert.equal(kept.length, 1_500);
  assert.equal(kept[0], "up 0");
  assert.equal(kept.at(-1), "felt 30000000 pat_level1");
});

test("any span of any history is what a scan of all of it gives", async () => {
  const { moods, told } = history();
  for (let i = 0; i < 1_700; i++) {
    moods.note(felt(i * 20_000));
    if (i % 300 === 0) await moods.flush();
  }
  const instants = Array.from({ length: 1_700 }, (_, i) => i * 20_000);
  const span = fc.tuple(fc.integer({ min: -1e5, max: 35e6 }), fc.nat(4e6));
  await fc.assert(
    fc.asyncProperty(span, async ([from, length]) => {
      const first = instants.findLastIndex((at) => at < from);
      const wanted = instants.slice(Math.max(0, first)).filter((at) => at <= from + length);
      const found = await told({ from: noon + from, to: noon + from + length });
      assert.deepEqual(
        found,
        wanted.map((at) => `felt ${at}`),
      );
    }),
    { numRuns: 20 },
  );
});

test("records that nobody can read are passed over, and cost no other", async () => {
  const { moods, write, told } = history();
  const state = born as unknown as JsonObject;
  const good = { at: isoTime(noon), kind: "felt", state };
  const damaged: JsonObject[] = [
    {},
    { ...good, at: "yesterday" },
    { ...good, at: 5 },
    { ...good, kind: "dreamt" },
    { ...good, state: "happy" },
    { ...good, state: {} },
    { ...good, state: { anchor: [] } },
  ];
  for (const record of damaged) await write(record);
  await write(good);
  const event = { at: isoTime(noon), name: "insult", intensity: 1 };
  for (const wrong of [{ at: "x" }, { name: 7 }, { intensity: null }, { wound: "deep" }]) {
    await write({ ...good, events: [event, { ...event, ...wrong }] });
  }
  await write({ ...good, events: "many" });
  await write({ ...good, down_at: "never" });
  await write({ ...good, at: isoTime(noon + 1), events: [event, { ...event, wound: "limit" }] });
  assert.deepEqual(await told(), ["felt 0", "felt 1 insult insult"]);
  const records = await moods.between(config, all);
  assert.deepEqual(
    records[1]?.events.map(({ wound }) => wound),
    [undefined, "limit"],
  );
});
