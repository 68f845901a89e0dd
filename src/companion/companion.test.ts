import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { column, columns } from "../../test/support/columns.ts";

import { Machine } from "../../test/support/kept-companion.ts";
import { openThroughline } from "../core/throughline.ts";

import { runsProjection } from "./runs.ts";
import { startCompanion } from "./start-companion.ts";

const closed = { code: "THROUGHLINE_CLOSED" };
const unavailable = { code: "THROUGHLINE_UNAVAILABLE" };
/** When each document was written, in seconds since the start. */
const writtenAt = ({ storage }: Machine) =>
  storage.writes.map(({ uptime_seconds }) => Math.round(uptime_seconds));

test("50 passes a second for 60 s write 7 documents, and build one for each of them alone", async () => {
  // R13c: at most 8.
  const machine = new Machine();
  const { companion } = await machine.run();
  const before = machine.clock.readings;
  await machine.tick(companion);
  await machine.pass(companion, 60_000);
  const { writes } = machine.storage;
  assert.deepEqual(writtenAt(machine), [0, 10, 20, 30, 40, 50, 60]);
  assert.equal(machine.clock.readings - before, 7, "the clock is read once for a document");
  const snapshots = new Set(writes.map(({ throughline }) => throughline.saved.uptime_ms));
  assert.equal(snapshots.size, 7, "a sign of life is the whole state");
});

test("a save that failed is tried again after 1, 2, 4, 8, 16 and 30 s, and logged once", async () => {
  // R12
  const machine = new Machine();
  const { companion } = await machine.run();
  machine.storage.fails = { documents: true };
  await machine.tick(companion);
  await machine.pass(companion, 91_000);
  assert.deepEqual(writtenAt(machine), [0, 1, 3, 7, 15, 31, 61, 91]);
  assert.deepEqual(machine.logged, ['not saved; again soon {"error":"THROUGHLINE_UNAVAILABLE"}']);
  machine.storage.fails = {};
  await machine.pass(companion, 40_000);
  machine.storage.fails = { documents: true };
  await machine.pass(companion, 40_000);
  assert.equal(machine.logged.length, 2, "what fails after it went well is reported again");
});

test("a step of a client that could not be stored has not happened, and can be repeated", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  const { clients } = companion;
  const failing = async (step: () => Promise<unknown>) => {
    machine.storage.fails = { documents: true };
    await assert.rejects(step, unavailable);
    machine.storage.fails = {};
  };
  await failing(() => clients.begin("nova"));
  assert.throws(() => clients.get("nova"), { code: "THROUGHLINE_NOT_FOUND" });
  const { runId } = await clients.begin("nova");
  await failing(() => clients.inject("nova", "Look up"));
  await clients.inject("nova", "Look up");
  assert.equal(clients.get("nova").injects.length, 1);
  await failing(() => clients.end("nova"));
  assert.equal(clients.get("nova").runId, runId);
  await clients.end("nova");
  await failing(() => clients.begin("nova"));
  const { restart } = await clients.begin("nova");
  assert.deepEqual([restart.clean, restart.totalRuns], [true, 2]);
});

test("a step of a client that is stored has happened, also while the history of moods cannot be stored", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  await companion.save();
  machine.storage.fails = { moods: true };
  companion.emotions.event("pat_level2");
  const { restart } = await companion.clients.begin("nova");
  assert.equal(restart.totalRuns, 1);
  await companion.clients.inject("nova", "Look up");
  assert.equal(companion.clients.get("nova").injects.length, 1);
  machine.storage.fails = {};
  await machine.tick(companion);
  const stored = await machine.storage.logs("", runsProjection).tail("moods", 10);
  assert.match(JSON.stringify(stored?.records), /pat_level2/);
});

test("a wound is saved at the next pass, what leaves none with the rest", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  await machine.tick(companion);
  for (const [event, writes] of [
    ["insult", 1],
    ["violence", 2],
    ["abuse", 3],
  ] as const) {
    companion.emotions.event(event);
    await machine.tick(companion);
    assert.equal(machine.storage.writes.length, writes, event);
  }
  const wounds: { event: string }[] = machine.written.emotions.wounds;
  assert.deepEqual(column(wounds, "event"), ["violence", "abuse"]);
});

test("with saveEveryMs 0 what is said, felt, seen and slept is written at the next pass", async () => {
  const machine = new Machine();
  const { companion } = await machine.run({ saveEveryMs: 0 });
  await machine.tick(companion);
  const acts = [
    () => companion.personSaid("a", "Hello"),
    () => companion.replied("a", "Hi"),
    () => companion.emotions.event("pat_level1"),
    () => companion.personSeen("Ada"),
    () => companion.sleep("asleep"),
  ];
  for (const act of acts) {
    const before = machine.storage.writes.length;
    machine.clock.pass(20);
    act();
    await machine.tick(companion);
    assert.equal(machine.storage.writes.length, before + 1, String(act));
  }
});

test("a heartbeat that waits for a save does not take its place with an older state", async () => {
  // R12: a save that resolved is what a power cut leaves.
  const machine = new Machine();
  const { companion } = await machine.run();
  await machine.tick(companion);
  machine.clock.pass(10_000);
  companion.emotions.event("insult");
  const gate = Promise.withResolvers<void>();
  machine.storage.gate = gate.promise;
  const saved = companion.save();
  await setImmediate();
  companion.tick(); // the heartbeat
  gate.resolve();
  await saved;
  await setImmediate();
  assert.equal(machine.storage.writes.length, 3);
  assert.equal(machine.written.emotions.levels.anger, 0.25);
});

test("nothing is written after close, whatever happens then", async () => {
  const machine = new Machine();
  const { throughline, companion } = await machine.run();
  const heard: string[] = [];
  companion.onChange(({ type }) => heard.push(type));
  await machine.tick(companion);
  await companion.close();
  assert.equal(machine.written.shutdown_clean, true);
  const count = machine.storage.writes.length;
  heard.length = 0;
  companion.emotions.event("violence");
  companion.personSaid("a", "Hello");
  companion.replied("a", "Hi");
  await machine.pass(companion, 60_000);
  await assert.rejects(companion.save(), closed);
  await assert.rejects(companion.clients.begin("robot"), closed);
  await companion.close();
  assert.equal(machine.storage.writes.length, count);
  assert.deepEqual(heard, [], "and no pass of the loop tells anything");
  await throughline.close();
});

test("a close waits for the write under way, and its own is the last", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  const gate = Promise.withResolvers<void>();
  machine.storage.gate = gate.promise;
  companion.tick();
  const forgotten = companion.forget("a");
  const saved = companion.save();
  const ended = companion.close();
  gate.resolve();
  await Promise.all([forgotten, saved, ended]);
  assert.deepEqual(column(machine.storage.writes, "shutdown_clean"), [false, false, false, true]);
});

test("a close stores how it felt, who was seen, that it slept, and that the run ended", async () => {
  const machine = new Machine();
  const first = await machine.run();
  assert.partialDeepStrictEqual(first.companion.report, { kind: "fresh_start", clean: true });
  first.companion.personSeen("Ada");
  machine.clock.pass(100_000);
  first.companion.emotions.event("abuse");
  first.companion.sleep("asleep");
  await first.throughline.close();
  const before = first.companion.emotions.feeling();
  machine.clock.pass(10_000);
  const { companion } = await machine.run();
  const { kind, clean, gapMs, totalRuns, previousRunId } = companion.report;
  assert.deepEqual([kind, clean, gapMs, totalRuns], ["short_break", true, 10_000, 2]);
  assert.equal(previousRunId, first.companion.runId);
  const { wounds, levels } = companion.emotions.feeling();
  assert.deepEqual(columns(wounds, "id", "ageSeconds"), [[before.wounds[0]?.id, 10]]);
  assert.equal(levels.sadness, 0.25, "as deep as the wound");
  assert.equal(companion.person?.name, "Ada");
  assert.equal(companion.person?.seenAt, machine.clock.now() - 110_000);
  assert.equal(companion.sleepState, "asleep");
});

test("a state that cannot be stored at the close is reported, and the run has ended all the same", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  await machine.tick(companion);
  machine.storage.fails = { documents: true };
  await assert.rejects(companion.close(), unavailable);
  machine.storage.fails = {};
  machine.clock.pass(5_000);
  assert.equal((await machine.run()).companion.report.clean, true);
});

test("boredom of 0.8 for 60 s is sleep, and what a person says or does wakes; with sleepAfterBoredMs 0 nobody sleeps", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  const slept: string[] = [];
  companion.onChange((change) => change.type === "sleep" && slept.push(change.state));
  /** It falls asleep within 2 s after this. */
  const fallAsleep = async (ms: number) => {
    await machine.pass(companion, ms, 500);
    assert.equal(companion.sleepState, "awake");
    await machine.pass(companion, 2_000, 500);
    assert.equal(companion.sleepState, "asleep");
  };
  for (const wake of [
    () => companion.personSaid("a", "Hello"),
    () => companion.personSeen("Ada"),
  ]) {
    await fallAsleep(459_000); // 0.8 of boredom after 400 s of neglect
    wake();
    assert.equal(companion.sleepState, "awake");
  }
  await fallAsleep(459_000);
  companion.sleep("awake");
  await fallAsleep(59_000);
  assert.deepEqual(slept, ["asleep", "awake", "asleep", "awake", "asleep", "awake", "asleep"]);
  const other = new Machine();
  const { companion: wakeful } = await other.run({ sleepAfterBoredMs: 0 });
  await other.pass(wakeful, 3_600_000, 1_000);
  assert.equal(wakeful.sleepState, "awake");
});

test("feelings that move by less than 0.05 are not published, until they have moved that far", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  let published = 0;
  companion.onChange(({ type }) => {
    if (type === "emotions") published++;
  });
  await machine.tick(companion);
  await machine.pass(companion, 60_000, 200);
  assert.equal(published, 1, "at rest nothing moves");
  companion.emotions.event("pat_level1", 0.9);
  await machine.tick(companion);
  assert.equal(published, 1);
  companion.emotions.event("pat_level1", 0.9);
  await machine.tick(companion);
  assert.equal(published, 2);
});

test("a watcher that throws breaks neither the loop nor what others hear, and is logged", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  companion.onChange(() => {
    throw new RangeError("canary");
  });
  const heard: string[] = [];
  const leave = companion.onChange(({ type }) => heard.push(type));
  await machine.tick(companion);
  companion.personSeen("Ada");
  companion.sleep("asleep");
  companion.notices.show({ chatId: "a", kind: "short_break", status: "delivered", text: "x" });
  leave();
  companion.sleep("awake");
  assert.deepEqual(heard, ["emotions", "person", "sleep", "acknowledged"]);
  assert.equal(machine.storage.writes.length, 1);
  assert.equal(machine.logged.length, 5);
  assert.match(machine.logged.join(), /"message":"canary"/);
});

test("one Throughline has one run; one that could not begin can be begun again", async () => {
  const machine = new Machine();
  const { throughline } = await machine.run();
  await assert.rejects(startCompanion(throughline), { code: "THROUGHLINE_CONFLICT" });
  const { clock, storage } = machine;
  const other = await openThroughline({ clock, storage });
  const configuration = { code: "THROUGHLINE_CONFIGURATION" };
  await assert.rejects(startCompanion(other, { saveEveryMs: -1 }), configuration);
  assert.equal((await startCompanion(other)).report.totalRuns, 2);
});

test("two faces that take turns are each announced and saved at once, once in 30 s, and a wound outlives it", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  companion.emotions.event("violence");
  await machine.tick(companion);
  const announced: string[] = [];
  companion.onChange((change) => {
    if (change.type === "person") announced.push(change.person.name);
  });
  const before = machine.storage.writes.length;
  const seeBoth = async (times: number) => {
    for (let turns = 0; turns < times; turns++) {
      for (const name of ["Ada", "Ori"]) {
        companion.personSeen(name);
        await machine.pass(companion, 500, 500);
      }
    }
  };
  await seeBoth(8);
  assert.deepEqual(announced, ["Ada", "Ori"]);
  assert.equal(machine.storage.writes.length - before, 2);
  await seeBoth(52);
  assert.deepEqual(announced, ["Ada", "Ori", "Ada", "Ori"], "in one minute");
  assert.equal(companion.emotions.feeling().wounds.length, 1);
  assert.equal(companion.person?.seenAt, machine.clock.now() - 500, "each sighting counts as seen");
});

test("a face that the run before announced is not announced again, though it crashed", async () => {
  const machine = new Machine();
  const first = await machine.run();
  await machine.tick(first.companion);
  first.companion.emotions.event("violence");
  first.companion.personSeen("Ada");
  await machine.tick(first.companion);
  machine.clock.pass(10_000);
  const { companion } = await machine.run();
  const joyAfter = (name: string) => {
    companion.personSeen(name);
    return companion.emotions.feeling().levels.joy;
  };
  const before = companion.emotions.feeling().levels.joy;
  assert.equal(joyAfter("Ada"), before);
  assert.ok(joyAfter("Ori") > before, "another face is");
});

test("a process that has nothing else to do waits until its companion has begun", () => {
  const url = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)));
  const script = `
    const { openThroughline } = await import(${url("../core/throughline.ts")});
    const { startCompanion } = await import(${url("start-companion.ts")});
    const { MemoryPlace, openMemoryProcess } = await import(${url("../../test/support/memory-place.ts")});
    const storage = openMemoryProcess({ place: new MemoryPlace() });
    const throughline = await openThroughline({ storage });
    await startCompanion(throughline);
    process.stdout.write("closed");`;
  // Its own timer holds no process.
  const args = ["--input-type=module", "--eval", script];
  const { status, stdout } = spawnSync(process.execPath, args, { timeout: 60_000 });
  assert.deepEqual([status, String(stdout)], [0, "closed"]);
});

test("a companion saves itself when something is due, and no more once its memories are closed", async () => {
  const machine = new Machine();
  const { throughline, companion } = await machine.run({ saveEveryMs: 1_000 });
  companion.emotions.event("pat_level2");
  const { length } = machine.storage.writes;
  await machine.timers.pass(1_200);
  assert.ok(machine.storage.writes.length > length);
  await throughline.close();
  assert.equal(machine.timers.count, 0);
});
