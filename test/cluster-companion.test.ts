// One companion in several processes: one run, felt alike, led by one of them at a time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Companion } from "../src/companion/companion.ts";
import { runsProjection } from "../src/companion/runs.ts";
import { extendWithCompanion } from "../src/companion/start-companion.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import { awakeProcess } from "./support/awake.ts";
import { heldPlace, mortal, pass, process, soon, until } from "./support/cluster-world.ts";
import type { HeldTimers } from "./support/held-timers.ts";
import { scriptedResponder } from "./support/scripted-responder.ts";

type Awake = Awaited<ReturnType<typeof process>> & {
  readonly companion: Companion;
  readonly storage: ReturnType<typeof mortal>;
  readonly timers: HeldTimers;
  readonly pid: number;
};

function world() {
  const place = heldPlace();
  const { clock } = place;
  let pid = 0;
  const start = async (script: readonly (readonly string[])[] = []): Promise<Awake> => {
    const { storage, timers } = place.open();
    const own = mortal(storage);
    const model = scriptedResponder(script);
    const awake = { pid: ++pid };
    const begun = await awakeProcess(own, { clock, model, awake, timers: soon });
    return { ...begun, companion: begun.run, storage: own, timers, ...awake };
  };
  const store = () => place.open().storage;
  return { ...place, start, store };
}

const runsOf = async (storage: Storage) =>
  ((await storage.logs("", runsProjection).tail("runs", 100))?.records ?? []).map(
    ({ kind, handover }) => (handover === true ? `${kind} handover` : kind),
  );

const documentOf = async (storage: Storage) =>
  (await storage.documents("session").read("session"))!;

/** Waits until this process leads: it is on record, and its state is written. */
async function keeps(storage: Storage, { pid }: Awake): Promise<void> {
  await until(async () => {
    const { value } = (await storage.documents("session").read("session")) ?? { value: {} };
    const tail = await storage.logs("", runsProjection).tail("runs", 1);
    const newest = tail?.records[0];
    const isTaken = newest?.["handover"] === true && newest["pid"] === pid;
    return isTaken && "session_id" in value && value["session_id"] === newest["run_id"];
  });
}

/** All that is stored of the companion, as text. */
async function everything(storage: Storage): Promise<string> {
  const logs = storage.logs("", runsProjection);
  const lines = [JSON.stringify(await documentOf(storage))];
  for (const { key } of (await logs.list({ limit: 100 })).rows) {
    for await (const record of logs.read(key)) lines.push(JSON.stringify(record));
  }
  return lines.join("\n");
}

/** The leader writes the document. */
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

test("what happens to the companion in one process is felt in all, and stored by the leader", async () => {
  const w = world();
  const [a, b, c] = [await w.start(), await w.start(), await w.start()];
  b.companion.personSaid("chat-1", "I hate you, you are stupid");
  await until(() => c.companion.emotions.feeling().levels.sadness > 0.1);
  c.companion.personSeen("Ada");
  c.companion.emotions.override("proud", 600);
  await until(() => b.companion.emotions.feeling().mood === "proud");
  b.companion.sleep("asleep");
  const felt = ({ companion }: Awake) => {
    const { levels, mood } = companion.emotions.feeling();
    return { levels, mood, person: companion.person?.name, sleep: companion.sleepState };
  };
  await until(() => a.companion.sleepState === "asleep" && c.companion.sleepState === "asleep");
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
  await until(() => [a, b, c].every((each) => felt(each).levels.fear > 0.5));
  await until(() => JSON.stringify([felt(b), felt(c)]) === JSON.stringify([felt(a), felt(a)]));
  assert.equal(b.companion.person?.name, "Ada");
});

test("a face that several processes report is announced once in 30 s by all of them together", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  a.companion.emotions.event("violence");
  await until(() => b.companion.emotions.feeling().wounds.length === 1);
  const joy = ({ companion }: Awake) => companion.emotions.feeling().levels.joy;
  a.companion.personSeen("Ada");
  b.companion.personSeen("Ada"); // before it is told of the first sighting
  const [once, seenAt] = [joy(a), a.companion.person?.seenAt];
  await a.companion.save();
  const c = await w.start();
  for (const each of [a, b, c]) each.companion.personSeen("Ada");
  w.clock.pass(1);
  c.companion.personSeen("Ada");
  await until(() => [a, b].every(({ companion }) => companion.person?.seenAt === seenAt! + 1));
  assert.ok(
    [a, b, c].every((each) => joy(each) < once + 0.1),
    "felt once",
  );
  assert.deepEqual([joy(b), joy(c)], [joy(a), joy(a)]);
});

test("when fewer wounds are allowed in all processes, each feels those that there are", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  for (const event of ["violence", "abuse", "violence"]) a.companion.emotions.event(event);
  const woundsOf = ({ companion }: Awake) => companion.emotions.feeling().wounds.length;
  await until(() => woundsOf(b) === 3);
  for (const { companion } of [a, b]) {
    const { settings, ...rest } = companion.emotions.configuration;
    companion.emotions.configure({ ...rest, settings: { ...settings, maxWounds: 1 } });
  }
  b.companion.personSeen("Ada");
  a.companion.personSeen("Ori");
  w.clock.pass(6_000);
  await a.companion.save();
  const levels = ({ companion }: Awake) => JSON.stringify(companion.emotions.feeling().levels);
  await until(() => levels(a) === levels(b)); // read from what was stored
  assert.deepEqual([woundsOf(a), woundsOf(b)], [3, 3]);
});

test("a process that starts between one leader and the next begins no run of its own", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  a.storage.kill();
  const c = await w.start(); // the lease of the dead one is not over
  assert.equal(c.companion.runId, b.companion.runId);
  await pass(w.clock, 10_500, c.timers); // b sleeps: the newcomer is the one to go on
  const store = w.store();
  await keeps(store, c);
  assert.deepEqual(await runsOf(store), ["run_start", "run_start handover"]);
  assert.equal(c.companion.report.kind, "fresh_start");
});

for (const [kind, how] of [
  ["short_break", "ended in order"],
  ["crash_recovery", "were killed"],
] as const) {
  test(`when all processes ${how} the next start is a restart: ${kind}`, async () => {
    const w = world();
    const [a, b] = [await w.start([["Hi"]]), await w.start()];
    await a.turns.submit("chat-1", { content: "Hello" }).done;
    await a.companion.save();
    if (kind === "short_break") {
      await a.throughline.close();
      await keeps(w.store(), b);
      await b.throughline.close();
    } else for (const each of [a, b]) each.storage.kill();
    w.clock.pass(15_000);
    const c = await w.start();
    assert.equal(c.companion.report.kind, kind);
    assert.equal(c.companion.report.gapMs, 15_000);
  });
}

test("a start that finds the lease of a dead process waits until it lapsed, and is a restart", async () => {
  const w = world();
  const a = await w.start();
  await a.companion.save();
  a.storage.kill();
  const { storage, timers } = w.open();
  let isUp = false;
  const starting = awakeProcess(storage, { clock: w.clock, timers: soon });
  void starting.then(() => {
    isUp = true;
  });
  await pass(w.clock, 9_000, timers);
  assert.equal(isUp, false);
  await pass(w.clock, 1_500, timers);
  const { run } = await starting;
  assert.equal(run?.report.kind, "crash_recovery");
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
  await until(() => acknowledged.length === 1);
  assert.deepEqual(acknowledged, ["chat-1"]);
  assert.equal(await isTold(a, "chat-1"), false);
  // Looked at anywhere: what was told elsewhere is shown too.
  const shown = await a.companion.notices.look(["chat-1", "chat-2"]);
  assert.deepEqual(
    shown.map(({ chatId, status }) => `${chatId} ${status}`),
    ["chat-1 delivered", "chat-2 pending"],
  );
  // A failover is no restart: who was told is not told again, and who was not still is.
  await a.throughline.close();
  await keeps(w.store(), b);
  assert.equal(await isTold(b, "chat-1"), false);
  assert.equal(await isTold(b, "chat-2"), true);
});

test("a process that slept while another took the companion over writes nothing of it, and follows", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  await a.companion.save();
  const store = w.store();
  await pass(w.clock, 10_500, b.timers); // the first one sleeps
  await keeps(store, b);
  b.companion.personSeen("Ada");
  await b.companion.save();
  // It wakes with a pass of its loop, before any of its timers.
  a.companion.personSeen("Nobody");
  a.companion.tick();
  await until(() => b.companion.person?.name === "Nobody"); // as by any process
  const { value } = await documentOf(store);
  assert.equal(value["last_person_seen"], "Ada");
  await a.timers.pass(0);
  await saved(store, b);
  await keeps(store, b);
  assert.equal((await documentOf(store)).value["last_person_seen"], "Nobody");
  assert.deepEqual(await runsOf(store), ["run_start", "run_start handover"]);
});

test("what a process that hears nothing did not hear of it reads within 10 s", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  b.storage.deafen(true);
  a.companion.personSeen("Ada");
  await a.companion.save();
  w.clock.pass(10_001);
  await until(() => {
    b.companion.tick();
    return b.companion.person?.name === "Ada";
  });
});

test("a configuration that is put in force in one process is in force in all, and after a failover", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  const { settings, ...rest } = a.companion.emotions.configuration;
  a.companion.emotions.configure({ ...rest, settings: { ...settings, maxWounds: 1 } });
  await until(() => b.companion.emotions.configuration.settings.maxWounds === 1);
  await a.companion.save();
  const c = await w.start();
  assert.equal(c.companion.emotions.configuration.settings.maxWounds, 1);
  assert.deepEqual(c.companion.emotions.configuration, a.companion.emotions.configuration);
});

for (const who of ["the leader", "a follower", "one without a run"]) {
  test(`a chat that is forgotten by ${who} is in no document and no process`, async () => {
    const w = world();
    const [a, b] = [await w.start([["Noted"]]), await w.start([["Noted"]])];
    await b.turns.submit("chat-1", { content: "the secret is 4711" }).done;
    await a.turns.submit("chat-2", { content: "no secret" }).done;
    const store = w.store();
    await b.companion.save();
    await saved(store, a);
    assert.match(JSON.stringify(await documentOf(store)), /4711/);
    assert.match(await everything(store), /"kind":"said".*4711/);
    const other = await process(w.store(), { clock: w.clock });
    await extendWithCompanion(other.throughline);
    const forgetter = { "the leader": a, "a follower": b }[who] ?? other;
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

test("a chat is forgotten while no process leads", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start([["Noted"]])];
  await b.turns.submit("chat-1", { content: "the secret is 4711" }).done;
  const store = w.store();
  await saved(store, a);
  a.storage.kill();
  await b.chats.forget("chat-1");
  assert.doesNotMatch(await everything(store), /4711|chat-1/);
  await pass(w.clock, 10_500, b.timers);
  await keeps(store, b);
  assert.doesNotMatch(await everything(store), /4711|chat-1/);
});

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

test("nothing that was felt is lost when the leader is killed, in the state and in the history of moods", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  a.companion.tick();
  await saved(w.store(), a);
  w.clock.pass(1_000);
  a.companion.personSaid("chat-1", "I hate you, you are stupid");
  b.companion.emotions.event("abuse");
  w.clock.pass(1_000);
  a.companion.personSeen("Ada");
  a.companion.emotions.override("proud", 600);
  a.companion.emotions.event("insult");
  await setImmediate();
  const felt = a.companion.emotions.feeling();
  a.storage.kill();
  await pass(w.clock, 10_500, b.timers);
  const store = w.store();
  await keeps(store, b);
  const { levels, wounds, override } = b.companion.emotions.feeling();
  assert.deepEqual(override, felt.override);
  assert.deepEqual(
    wounds.map(({ id }) => id),
    felt.wounds.map(({ id }) => id),
  );
  assert.ok(levels.sadness > 0.2 && b.companion.person?.name === "Ada");
  const { value } = await documentOf(store);
  assert.match(JSON.stringify(value["conversation"]), /I hate you/);
  const now = w.clock.now();
  const span = { from: now - 60_000, to: now, points: 2 };
  const { events } = await b.companion.moodCourse(span);
  assert.deepEqual(events.map(({ event }) => event).sort(), [
    "abuse",
    "face_recognized",
    "harsh_words",
    "insult",
  ]);
});

test("when all are killed, the next start has what was felt after the last document", async () => {
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
  assert.deepEqual(c.companion.notices.stored.told, { "": 2, "chat-1": 2 });
});

test("a log that grew is continued in another, what a document covers is removed, and none loses an act", async () => {
  const w = world();
  const [a, b, deaf] = [await w.start(), await w.start(), await w.start()];
  await saved(w.store(), a);
  deaf.storage.deafen(true);
  for (let turn = 0; turn < 3; turn++) {
    for (let n = 0; n < 400; n++) b.companion.emotions.event("pat_level1", 0.001);
    b.companion.personSaid("chat-1", `words ${turn}`);
    await b.companion.save();
    await a.companion.save(); // continues it
    await a.companion.save(); // removes the older one
  }
  const logs = w.store().logs("", runsProjection);
  const names = (await logs.list({ limit: 100 })).rows.map(({ key }) => key);
  assert.deepEqual(
    names.filter((key) => key.startsWith("acts-")),
    ["acts-2"],
  );
  await deaf.companion.save();
  const c = await w.start();
  const levels = ({ companion }: Awake) => companion.emotions.feeling().levels;
  for (const each of [b, deaf, c]) assert.deepEqual(levels(each), levels(a));
  await saved(w.store(), a);
  const { value } = await documentOf(w.store());
  assert.deepEqual(
    (value["conversation"] as { text: string }[]).map(({ text }) => text),
    ["words 0", "words 1", "words 2"],
  );
});

test("a leader that dies at any of its writes while it continues the log loses nothing", async () => {
  let writes = 0;
  for (let dies = 1; dies <= writes + 1; dies++) {
    const w = world();
    const [a, b] = [await w.start(), await w.start()];
    await saved(w.store(), a);
    for (let n = 0; n < 1_000; n++) b.companion.emotions.event("pat_level1", 0.001);
    b.companion.personSaid("chat-1", "The door is blue");
    await b.companion.save();
    let left = dies;
    let count = 0;
    a.storage.onWrite(() => {
      count++;
      if (--left === 0) a.storage.kill();
    });
    const saving = a.companion.save().then(() => a.companion.save());
    for (let n = 0; n < 100; n++) await setImmediate();
    if (left > 0) await saving;
    writes = Math.max(writes, count);
    a.storage.kill();
    b.companion.personSeen("Ada");
    await pass(w.clock, 10_500, b.timers);
    await keeps(w.store(), b);
    await b.companion.save();
    const c = await w.start();
    const { levels } = c.companion.emotions.feeling();
    assert.deepEqual(levels, b.companion.emotions.feeling().levels, `write ${dies}`);
    assert.ok(levels.joy > 0.2, `write ${dies}`);
    assert.equal(c.companion.person?.name, "Ada");
    const { value } = await documentOf(w.store());
    const said = (value["conversation"] as { text: string }[]).map(({ text }) => text);
    assert.deepEqual(said, ["The door is blue"], `write ${dies}`);
    for (const each of [b, c]) each.storage.kill();
  }
  assert.ok(writes >= 4, `${writes}`);
});
