// One companion in several processes: one run, felt alike. Each writes the document on top of what others wrote.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Companion } from "../src/companion/companion.ts";
import { runsProjection } from "../src/companion/runs.ts";
import { extendWithCompanion } from "../src/companion/start-companion.ts";
import { isoTime } from "../src/core/clock.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import { awakeProcess } from "./support/awake.ts";
import { heldPlace, mortal, pass, process, soon } from "./support/cluster-world.ts";
import { scriptedResponder } from "./support/scripted-responder.ts";

type Awake = Awaited<ReturnType<typeof process>> & {
  readonly companion: Companion;
  readonly storage: ReturnType<typeof mortal>;
};

function world() {
  const place = heldPlace();
  const { clock } = place;
  const up: Companion[] = [];
  const start = async (script: readonly (readonly string[])[] = []): Promise<Awake> => {
    const { storage } = place.open();
    const own = mortal(storage);
    const model = scriptedResponder(script);
    const begun = await awakeProcess(own, { clock, model, timers: soon });
    up.push(begun.run);
    return { ...begun, companion: begun.run, storage: own };
  };
  const store = () => place.open().storage;
  /** One pass of the loop of each process, 100 ms later; what it begins is done. */
  const passes = async (count = 1) => {
    for (let n = 0; n < count; n++) {
      clock.pass(100);
      for (const companion of up) companion.tick();
      for (let turns = 0; turns < 30; turns++) await setImmediate();
    }
  };
  /** Passes until it is so: each process reads what the others wrote within a second. */
  const until = async (holds: () => boolean | Promise<boolean>) => {
    for (let n = 0; !(await holds()); n++) {
      assert.ok(n < 20, "it is not so after 2 s");
      await passes();
    }
  };
  return { ...place, start, store, passes, until };
}

const runsOf = async (storage: Storage) =>
  ((await storage.logs("", runsProjection).tail("runs", 100))?.records ?? []).map(
    ({ kind }) => kind,
  );

const documentOf = async (storage: Storage) =>
  (await storage.documents("session").read("session"))!;

/** All that is stored of the companion, as text. */
async function everything(storage: Storage): Promise<string> {
  const logs = storage.logs("", runsProjection);
  const lines = [JSON.stringify(await documentOf(storage))];
  for (const { key } of (await logs.list({ limit: 100 })).rows) {
    for await (const record of logs.read(key)) lines.push(JSON.stringify(record));
  }
  return lines.join("\n");
}

/** Writes the document. */
async function saved(storage: Storage, { companion }: Awake): Promise<void> {
  const { revision = 0 } = (await storage.documents("session").read("session")) ?? {};
  await companion.save();
  assert.ok((await documentOf(storage)).revision > revision);
}

test("a second process joins the run of the first: the same run and report, and nothing of it is written", async () => {
  const w = world();
  const a = await w.start();
  await a.companion.save();
  const store = w.store();
  const before = await documentOf(store);
  const b = await w.start();
  assert.equal(b.companion.runId, a.companion.runId);
  assert.deepEqual(b.companion.report, JSON.parse(JSON.stringify(a.companion.report)));
  assert.equal(b.companion.startedAt, a.companion.startedAt);
  b.companion.tick();
  assert.deepEqual(await documentOf(store), before);
  assert.deepEqual(await runsOf(store), ["run_start"]);
});

test("what happens to the companion in one process is felt in all, and stored", async () => {
  const w = world();
  const [a, b, c] = [await w.start(), await w.start(), await w.start()];
  b.companion.personSaid("chat-1", "I hate you, you are stupid");
  await w.until(() => c.companion.emotions.feeling().levels.sadness > 0.1);
  c.companion.personSeen("Ada");
  c.companion.emotions.override("proud", 600);
  await w.until(() => b.companion.emotions.feeling().mood === "proud");
  b.companion.sleep("asleep");
  const felt = ({ companion }: Awake) => {
    const { levels, mood } = companion.emotions.feeling();
    return { levels, mood, person: companion.person?.name, sleep: companion.sleepState };
  };
  await w.until(() => a.companion.sleepState === "asleep" && c.companion.sleepState === "asleep");
  assert.equal(felt(a).person, "Ada");
  assert.deepEqual(felt(a), felt(b));
  assert.deepEqual(felt(a), felt(c));
  const store = w.store();
  await saved(store, a);
  const { value } = await documentOf(store);
  assert.equal(value["last_person_seen"], "Ada");
  assert.equal(value["sleep_state"], "asleep");
  assert.match(JSON.stringify(value["conversation"]), /I hate you/);
});

test("what happened in three processes at once, all feel in one order", async () => {
  const w = world();
  const [a, b, c] = [await w.start(), await w.start(), await w.start()];
  b.companion.personSaid("chat-1", "I hate you, you are stupid");
  c.companion.personSeen("Ada");
  a.companion.emotions.event("snap_detected");
  c.companion.emotions.event("abuse");
  const felt = ({ companion }: Awake) => companion.emotions.feeling();
  await Promise.all([a, b, c].map(({ companion }) => companion.save()));
  await w.until(() => [a, b, c].every((each) => felt(each).levels.fear > 0.5));
  await w.until(() => JSON.stringify([felt(b), felt(c)]) === JSON.stringify([felt(a), felt(a)]));
  assert.equal(b.companion.person?.name, "Ada");
});

test("when all processes ended in order the next start is a short break", async () => {
  const w = world();
  const [a, b] = [await w.start([["Hi"]]), await w.start()];
  await a.turns.submit("chat-1", { content: "Hello" }).done;
  await a.throughline.close();
  assert.deepEqual(await runsOf(w.store()), ["run_start"]);
  await b.throughline.close();
  assert.deepEqual(await runsOf(w.store()), ["run_start", "run_end"]);
  w.clock.pass(15_000);
  const { kind, gapMs } = (await w.start()).companion.report;
  assert.deepEqual([kind, gapMs], ["short_break", 15_000]);
});

test("each chat is told of a restart once, in whichever process it is talked in", async () => {
  const w = world();
  const first = await w.start([["Hi"], ["Hi"]]);
  for (const chat of ["chat-1", "chat-2"]) {
    await first.turns.submit(chat, { content: "Remember the blue door" }).done;
  }
  await first.throughline.close();
  w.clock.pass(2 * 60 * 60 * 1_000);
  const [a, b] = [await w.start([["A"], ["A"]]), await w.start([["B"], ["B"], ["B"]])];
  const acknowledged: string[] = [];
  a.companion.onChange((change) => {
    if (change.type === "acknowledged") acknowledged.push(change.chatId);
  });
  const isTold = async (at: Awake, chat: string) => {
    await at.turns.submit(chat, { content: "I am back" }).done;
    const requests = (at.model as ReturnType<typeof scriptedResponder>).requests;
    return /blue door/.test(requests.at(-1)?.context ?? "");
  };
  assert.equal(await isTold(b, "chat-1"), true);
  await w.until(() => acknowledged.length === 1);
  assert.deepEqual(acknowledged, ["chat-1"]);
  assert.equal(await isTold(a, "chat-1"), false);
  // Looked at anywhere: what was told elsewhere is shown too.
  const shown = await a.companion.notices.look(["chat-1", "chat-2"]);
  assert.deepEqual(
    shown.map(({ chatId, status }) => `${chatId} ${status}`),
    ["chat-1 delivered", "chat-2 pending"],
  );
  // A server that ends is no restart: who was told is not told again, and who was not still is.
  await a.throughline.close();
  assert.equal(await isTold(b, "chat-1"), false);
  assert.equal(await isTold(b, "chat-2"), true);
});

test("a configuration is in force where it was put in force, and what happens there is felt in all", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  const { events, ...rest } = a.companion.emotions.configuration;
  const sting = {
    ...events["violence"]!,
    wound: { ...events["violence"]!.wound!, floors: { fear: 1 } },
  };
  a.companion.emotions.configure({ ...rest, events: { ...events, sting } });
  a.companion.emotions.event("sting");
  await w.until(() => b.companion.emotions.feeling().levels.fear === 1);
  assert.throws(() => b.companion.emotions.event("sting"), { code: "THROUGHLINE_INVALID" });
});

for (const who of ["one process", "another", "one without a run"]) {
  test(`a chat that is forgotten by ${who} is in no document and no process`, async () => {
    const w = world();
    const [a, b] = [await w.start([["Noted"]]), await w.start([["Noted"]])];
    await b.turns.submit("chat-1", { content: "the secret is 4711" }).done;
    await a.turns.submit("chat-2", { content: "no secret" }).done;
    const store = w.store();
    await b.companion.save();
    await saved(store, a);
    assert.match(JSON.stringify(await documentOf(store)), /4711/);
    const other = await process(w.store(), { clock: w.clock });
    await extendWithCompanion(other.throughline);
    const forgetter = { "one process": a, another: b }[who] ?? other;
    const receipt = await forgetter.chats.forget("chat-1");
    assert.deepEqual(
      receipt.removed.filter(({ place }) => place === "companion"),
      [{ place: "companion", count: 2 }],
    );
    assert.doesNotMatch(await everything(store), /4711|chat-1/);
    for (const each of [b, a]) await each.companion.save();
    assert.doesNotMatch(await everything(store), /4711|chat-1/);
    assert.match(JSON.stringify(await documentOf(store)), /no secret/);
  });
}

test("words that a process wanted to store when their chat was forgotten elsewhere are not stored", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  await saved(w.store(), a);
  b.storage.away(true);
  b.companion.personSaid("chat-1", "the secret is 4711");
  b.companion.personSaid("chat-2", "no secret");
  await assert.rejects(b.companion.save(), { code: "THROUGHLINE_UNAVAILABLE" });
  await a.companion.forget("chat-1");
  b.storage.away(false);
  await b.companion.save();
  for (const each of [a, b]) await each.companion.save();
  assert.doesNotMatch(await everything(w.store()), /4711/);
  assert.match(await everything(w.store()), /no secret/);
});

test("when all are killed, the next start has all that was stored", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  a.companion.personSaid("chat-1", "The house is red");
  await saved(w.store(), a);
  w.clock.pass(5_000);
  b.companion.personSaid("chat-1", "The door is blue");
  b.companion.emotions.event("abuse");
  b.companion.personSeen("Ada");
  await b.companion.save();
  const { levels } = b.companion.emotions.feeling();
  for (const each of [a, b]) each.storage.kill();
  w.clock.pass(15_000);
  const c = await w.start();
  const { kind, gapMs } = c.companion.report;
  assert.deepEqual([kind, gapMs], ["crash_recovery", 15_000]);
  assert.equal(c.companion.person?.name, "Ada");
  const { wounds, levels: now } = c.companion.emotions.feeling();
  assert.deepEqual(
    wounds.map(({ event, ageSeconds }) => [event, ageSeconds]),
    [["abuse", 15]],
  );
  assert.ok(now.fear < levels.fear && Math.abs(now.fear - 0.28) < 1e-9, "as deep as the wound");
  await saved(w.store(), c);
  const { value } = await documentOf(w.store());
  const said = (value["conversation"] as { text: string }[]).map(({ text }) => text);
  assert.deepEqual(said, ["The house is red", "The door is blue"]);
});

test("a client's run is one at all servers, also when all are killed; what was told is not told again", async () => {
  const w = world();
  const first = await w.start();
  await first.throughline.chats.append("chat-1", [{ role: "user", content: "I like tea" }]);
  first.storage.kill();
  w.clock.pass(15_000);
  const [a, b] = [await w.start(), await w.start()];
  const { runId } = await a.companion.clients.begin("robot");
  await a.companion.clients.appended("robot", "chat-1");
  await saved(w.store(), a);
  w.clock.pass(5_000);
  assert.equal((await b.companion.clients.heartbeat("robot")).runId, runId);
  await b.companion.clients.inject("robot", "It rains.");
  assert.deepEqual(await b.companion.clients.delivered("robot"), ["chat-1"]);
  await a.companion.save();
  assert.equal(a.companion.clients.get("robot").injects[0]?.text, "It rains.");
  await b.companion.clients.delivered();
  for (const each of [a, b]) each.storage.kill();
  w.clock.pass(7_000);
  const c = await w.start();
  const run = await c.companion.clients.begin("robot");
  const { kind, gapMs } = run.restart;
  assert.deepEqual([kind, gapMs, run.previousRunId], ["crash_recovery", 7_000, runId]);
  assert.deepEqual(run.injects.length, 1);
  const { value } = await documentOf(w.store());
  assert.match(JSON.stringify(value), /"told":2/);
});

test("a start that finds no end in order waits 10 s for a sign of life, and is a restart", async () => {
  const w = world();
  const a = await w.start();
  a.storage.kill();
  const { storage, timers } = w.open();
  const starting = awakeProcess(storage, { clock: w.clock, timers });
  let isUp = false;
  void starting.then(() => {
    isUp = true;
  });
  await pass(w.clock, 10_000, timers);
  assert.equal(isUp, false);
  await pass(w.clock, 1_000, timers);
  const { run } = await starting;
  assert.equal(run.report.kind, "crash_recovery");
  assert.deepEqual(await runsOf(w.store()), ["run_start", "run_start"]);
});

test("a start joins a server that hears nothing: its document moves", async () => {
  const w = world();
  const a = await w.start();
  a.storage.deafen(true);
  const { storage, timers } = w.open();
  const starting = awakeProcess(storage, { clock: w.clock, timers });
  for (let n = 0; n < 22; n++) {
    a.companion.tick();
    await pass(w.clock, 500, timers);
  }
  const { run } = await starting;
  assert.equal(run.runId, a.companion.runId);
  assert.deepEqual(await runsOf(w.store()), ["run_start"]);
});

for (const [says, isAlive, killedMs, isAhead = false] of [
  ["ends no run while one that hears nothing writes the document", true, 0],
  ["ends no run beside one that was killed just now, which may hear nothing", false, 1_000],
  ["ends the run of one that was killed, and silent for 10 s", false, 10_500],
  ["ends the run of one that was killed a while ago", false, 25_000],
  ["ends the run of one that was killed a while ago, whose clock was ahead", false, 25_000, true],
] as const) {
  test(`a server that leaves ${says}`, async () => {
    const w = world();
    const { storage, timers } = w.open();
    const starting = awakeProcess(storage, { clock: w.clock, timers });
    await pass(w.clock, 1_000, timers);
    const { run } = await starting;
    const b = await w.start();
    const begun = w.clock.now();
    if (isAhead) w.clock.set(isoTime(begun + 600_000));
    b.companion.emotions.event("pat_level1");
    await w.passes();
    if (isAlive) b.storage.deafen(true);
    else b.storage.kill();
    if (isAhead) w.clock.set(isoTime(begun));
    for (let passed = 0; passed < killedMs; passed += 500) {
      run.tick();
      await pass(w.clock, 500, timers);
    }
    let isClosed = false;
    const closing = run.close().finally(() => {
      isClosed = true;
    });
    // A command that serves is gone 4.5 s after a signal, and its turns had 3 s of that.
    for (let n = 0; n < 3; n++) {
      if (isAlive) b.companion.tick();
      await pass(w.clock, 500, timers);
    }
    for (let turns = 0; turns < 100 && !isClosed; turns++) await setImmediate();
    assert.ok(isClosed, "it takes longer than a process that serves has");
    await closing;
    const isEnded = killedMs >= 10_000;
    assert.deepEqual(await runsOf(w.store()), isEnded ? ["run_start", "run_end"] : ["run_start"]);
    const { value } = await documentOf(w.store());
    assert.equal(value["shutdown_clean"], isEnded);
    const { alive } = (value["throughline"] as { shared: { alive: object } }).shared;
    assert.equal(Object.keys(alive).length, isEnded ? 0 : 1, "a dead server's sign comes back");
  });
}

test("a server that slept while the others died has the run of the one that started since", async () => {
  const w = world();
  const a = await w.start();
  a.storage.deafen(true); // it sleeps
  const b = await w.start();
  assert.notEqual(b.companion.runId, a.companion.runId);
  a.storage.deafen(false);
  b.companion.emotions.event("abuse");
  a.companion.personSeen("Ada");
  await w.until(() => b.companion.person?.name === "Ada");
  assert.equal(a.companion.runId, b.companion.runId);
  assert.deepEqual(a.companion.report, b.companion.report);
  assert.equal(a.companion.emotions.feeling().wounds.length, 1);
});

test("a client that begins at one server goes on at another at once", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  await w.passes();
  const { runId } = await a.companion.clients.begin("robot");
  await b.companion.clients.inject("robot", "It rains.");
  const ended = await a.companion.clients.end("robot");
  assert.deepEqual([ended.runId, ended.isEnded], [runId, true]);
  await assert.rejects(b.companion.clients.heartbeat("lamp"), { code: "THROUGHLINE_NOT_FOUND" });
});

test("a face that servers report all the time is announced every 30 s, at each once, and felt as often", async () => {
  const w = world();
  const both = [await w.start(), await w.start()];
  const announced = both.map(({ companion }) => {
    const at: number[] = [];
    companion.onChange(({ type }) => type === "person" && at.push(w.clock.now()));
    return at;
  });
  const begun = w.clock.now();
  for (let second = 0; second < 65; second++) {
    for (const { companion } of both) companion.personSeen("Ada");
    w.clock.pass(900);
    await w.passes();
  }
  const seconds = announced.map((at) => at.map((each) => Math.floor((each - begun) / 1_000)));
  assert.deepEqual(seconds, [
    [0, 30, 60],
    [0, 30, 60],
  ]);
  // One that starts now knows who was announced.
  const { companion } = await w.start();
  companion.personSeen("Ada");
  const to = w.clock.now();
  const { events } = await companion.moodCourse({ from: begun, to, points: 2 });
  assert.deepEqual(
    events.map(({ event }) => event),
    Array(3).fill("face_recognized"),
  );
});

test("a clock that tells parts of a millisecond damages no document", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  w.clock.pass(0.25);
  a.companion.personSeen("Ada");
  a.companion.sleep("awake");
  await a.companion.forget("chat-1");
  w.clock.pass(0.5);
  await w.until(() => b.companion.person?.name === "Ada");
  const c = await w.start();
  assert.equal(c.companion.runId, a.companion.runId);
});
