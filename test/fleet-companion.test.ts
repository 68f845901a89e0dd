// One companion in several processes: one run, felt alike, kept by one of them at a time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Companion } from "../src/companion/companion.ts";
import { runsProjection } from "../src/companion/runs.ts";
import { extendWithCompanion } from "../src/companion/start-companion.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import { heldPlace, mortal, pass, process, soon, until } from "./support/fleet-world.ts";
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
    const begun = await process(own, { clock, model, awake, timers: soon });
    return { ...begun, companion: begun.run!, storage: own, timers, ...awake };
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

/** Waits until this process took the companion over: it is on record, and its state is written. */
async function keeps(storage: Storage, { pid }: Awake): Promise<void> {
  await until(async () => {
    const { value } = (await storage.documents("session").read("session")) ?? { value: {} };
    const tail = await storage.logs("", runsProjection).tail("runs", 1);
    const newest = tail?.records[0];
    const isTaken = newest?.["handover"] === true && newest["pid"] === pid;
    return isTaken && "session_id" in value && value["session_id"] === newest["run_id"];
  });
}

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

test("what happens to the companion in one process is felt in all, and stored by the one that keeps it", async () => {
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
  await saved(store, b); // asked of the one that keeps it
  const { value } = await documentOf(store);
  assert.equal(value["last_person_seen"], "Ada");
  assert.equal(value["sleep_state"], "asleep");
  assert.match(JSON.stringify(value["conversation"]), /I hate you/);
});

test("what happened in two processes at once, each feels in its own order, until the next save", async () => {
  const w = world();
  const [a, b, c] = [await w.start(), await w.start(), await w.start()];
  b.companion.personSaid("chat-1", "I hate you, you are stupid");
  c.companion.personSeen("Ada");
  const levels = ({ companion }: Awake) => companion.emotions.feeling().levels;
  await until(() => b.companion.person?.name === "Ada");
  assert.notDeepEqual(levels(b), levels(c));
  w.clock.pass(6_000); // what is done here is by then in what the keeper stores
  await a.companion.save();
  await until(() => JSON.stringify(levels(c)) === JSON.stringify(levels(a)));
  assert.deepEqual(levels(b), levels(a));
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

test("when the process that keeps it ends, another goes on: a run on record, and no restart", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  a.companion.personSaid("chat-1", "I hate you");
  const store = w.store();
  await a.throughline.close();
  await keeps(store, b);
  assert.deepEqual(await runsOf(store), ["run_start", "run_end", "run_start handover"]);
  assert.equal(b.companion.report.kind, "fresh_start");
  assert.equal((await documentOf(store)).value["shutdown_clean"], false);
  assert.deepEqual((await documentOf(store)).value["conversation"], [
    { role: "USER", text: "I hate you", timestamp: w.clock.now() / 1_000 },
  ]);
  await b.throughline.close();
  assert.deepEqual((await runsOf(store)).slice(-2), ["run_start handover", "run_end"]);
  assert.equal((await documentOf(store)).value["shutdown_clean"], true);
});

test("when the process that keeps it is killed, another goes on once the lease lapsed, as it felt", async () => {
  const w = world();
  const [a, b, c] = [await w.start(), await w.start(), await w.start()];
  b.companion.emotions.override("proud", 600);
  await until(() => a.companion.emotions.feeling().mood === "proud");
  a.storage.kill();
  await pass(w.clock, 10_500, b.timers, c.timers);
  const store = w.store();
  await until(async () => (await runsOf(store)).length === 2);
  assert.deepEqual(await runsOf(store), ["run_start", "run_start handover"]);
  assert.equal(b.companion.emotions.feeling().mood, "proud");
  assert.equal(c.companion.emotions.feeling().mood, "proud");
  // And so on: what is said at either is kept.
  c.companion.personSeen("Ada");
  await saved(store, c);
  assert.equal((await documentOf(store)).value["last_person_seen"], "Ada");
});

test("a process that starts between one keeper and the next begins no run of its own", async () => {
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
  const starting = process(storage, { clock: w.clock, awake: {}, timers: soon });
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
  const welcomed: string[] = [];
  a.companion.onChange((change) => {
    if (change.type === "welcomed") welcomed.push(change.chatId);
  });
  const isTold = async (at: Awake, chat: string) => {
    await at.turns.submit(chat, { content: "I am back" }).done;
    const requests = (at.model as ReturnType<typeof scriptedResponder>).requests;
    return /blue door/.test(requests.at(-1)?.context ?? "");
  };
  assert.equal(await isTold(b, "chat-1"), true);
  await until(() => welcomed.length === 1);
  assert.deepEqual(welcomed, ["chat-1"]);
  assert.equal(await isTold(a, "chat-1"), false);
  // Looked at anywhere: what was told elsewhere is shown too.
  const shown = await a.companion.receptions.look(["chat-1", "chat-2"]);
  assert.deepEqual(
    shown.map(({ chatId, status }) => `${chatId} ${status}`),
    ["chat-1 delivered", "chat-2 pending"],
  );
  // A handover is no restart: who was told is not told again, and who was not still is.
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
  await until(() => b.companion.person?.name === "Nobody"); // told, as by any process
  const { value } = await documentOf(store);
  assert.equal(value["last_person_seen"], "Ada");
  await a.timers.pass(0);
  await saved(store, a);
  await keeps(store, b);
  assert.equal((await documentOf(store)).value["last_person_seen"], "Nobody");
  assert.deepEqual(await runsOf(store), ["run_start", "run_start handover"]);
});

test("what a process did not hear it reads, once it knows of the gap", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  b.storage.deafen(true);
  a.companion.personSeen("Ada");
  a.companion.emotions.event("pat_level2");
  await until(() => a.companion.person?.name === "Ada");
  assert.equal(b.companion.person, undefined);
  b.storage.deafen(false);
  b.storage.gap();
  await until(() => {
    a.companion.tick();
    return b.companion.person?.name === "Ada";
  });
  assert.deepEqual(b.companion.emotions.feeling().levels, a.companion.emotions.feeling().levels);
});

test("what the one that keeps the companion was asked and did not hear is asked again, once it knows of the gap", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start()];
  const store = w.store();
  await saved(store, a);
  const asked = Promise.withResolvers<void>(); // heard by whoever joined last
  store.cluster.subscribe(({ say }) => (say === "ask" ? asked.resolve() : undefined));
  a.storage.deafen(true);
  let isSaved = false;
  void b.companion.save().then(() => {
    isSaved = true;
  });
  await asked.promise;
  a.storage.deafen(false);
  assert.equal(isSaved, false);
  a.storage.gap();
  await until(() => isSaved);
});

for (const who of ["the process that keeps it", "another process", "one without a run"]) {
  test(`a chat that is forgotten by ${who} is in no document and no process`, async () => {
    const w = world();
    const [a, b] = [await w.start([["Noted"]]), await w.start([["Noted"]])];
    await b.turns.submit("chat-1", { content: "the secret is 4711" }).done;
    await a.turns.submit("chat-2", { content: "no secret" }).done;
    const store = w.store();
    await saved(store, a);
    assert.match(JSON.stringify(await documentOf(store)), /4711/);
    const other = await process(w.store(), { clock: w.clock });
    await extendWithCompanion(other.throughline);
    const forgetter = { "the process that keeps it": a, "another process": b }[who] ?? other;
    const receipt = await forgetter.chats.forget("chat-1");
    assert.deepEqual(
      receipt.removed.filter(({ place }) => place === "companion"),
      [{ place: "companion", count: 2 }],
    );
    assert.doesNotMatch(JSON.stringify(await documentOf(store)), /4711/);
    await saved(store, b);
    const { value } = await documentOf(store);
    assert.doesNotMatch(JSON.stringify(value), /4711/);
    assert.match(JSON.stringify(value), /no secret/);
  });
}

test("a chat is forgotten by whoever takes over from a keeper that died before it did", async () => {
  const w = world();
  const [a, b] = [await w.start(), await w.start([["Noted"]])];
  await b.turns.submit("chat-1", { content: "the secret is 4711" }).done;
  const store = w.store();
  await saved(store, b);
  a.storage.kill();
  const forgetting = b.chats.forget("chat-1");
  await pass(w.clock, 10_500, b.timers);
  await forgetting;
  assert.doesNotMatch(JSON.stringify(await documentOf(store)), /4711/);
});
