// Two servers write one companion, and a write of one of them conflicts, is refused, or gets no answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ThroughlineError } from "../src/core/errors.ts";
import type { DocumentStore } from "../src/core/storage/document-store.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import { awakeProcess } from "./support/awake.ts";
import { heldPlace, mortal, soon } from "./support/cluster-world.ts";
import { scriptedResponder } from "./support/scripted-responder.ts";

type Place = ReturnType<typeof heldPlace>;

/** What becomes of one read or write of a document. */
type Around = <T>(call: () => Promise<T>) => Promise<T>;
const plain: Around = (call) => call();
const away = () => new ThroughlineError("away", { code: "THROUGHLINE_UNAVAILABLE" });
const noAnswer: Around = async (call) => {
  await call();
  throw new ThroughlineError("no answer", { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
};
const refused: Around = () => Promise.reject(away());

/** A server of the companion. `writes` and `reads` stand for its next calls, in order; then all go well. */
async function serverOf(place: Place) {
  const writes: Around[] = [];
  const reads: Around[] = [];
  const { kill, deafen, ...storage } = mortal(place.open().storage);
  const documents = (collection: string): DocumentStore => {
    const inner = storage.documents(collection);
    return {
      read: (...args) => (reads.shift() ?? plain)(() => inner.read(...args)),
      write: (...args) => (writes.shift() ?? plain)(() => inner.write(...args)),
      delete: (key) => inner.delete(key),
      forgetCopies: (key) => inner.forgetCopies(key),
      keys: () => inner.keys(),
    };
  };
  const wrapped: Storage = { ...storage, cluster: storage.cluster, documents };
  const model = scriptedResponder([]);
  const { run, turns } = await awakeProcess(wrapped, { clock: place.clock, timers: soon, model });
  const again = async () =>
    (await awakeProcess(wrapped, { clock: place.clock, timers: soon, model })).run;
  return { run, turns, kill, deafen, again, writes, reads };
}

async function settled() {
  for (let n = 0; n < 40; n++) await setImmediate();
}

/** Lets servers do what is due in a span of time. */
async function pass(place: Place, ms: number, ...servers: Awaited<ReturnType<typeof serverOf>>[]) {
  for (let passed = 0; passed < ms; passed += 100) {
    place.clock.pass(100);
    for (const { run } of servers) run.tick();
    await settled();
  }
}

test("a text that is acknowledged after another server wrote is not sent a second time", async () => {
  const place = heldPlace();
  const [a, b] = [await serverOf(place), await serverOf(place)];
  await a.run.clients.begin("robot");
  await a.run.clients.inject("robot", "It rains.");
  const sent: string[] = [];
  const taken = Promise.withResolvers<void>();
  a.run.clients.deliver("robot", {
    state: "idle",
    voiceStream: "v1",
    onChange: () => () => undefined,
    inject(text) {
      sent.push(text);
      return taken.promise;
    },
  });
  await settled();
  b.run.emotions.event("abuse");
  await pass(place, 1_500, a, b);
  taken.resolve();
  await pass(place, 4_000, a, b);
  assert.deepEqual(sent, ["It rains."]);
});

test("a step of a client that is refused after a conflict has not happened", async () => {
  const place = heldPlace();
  const [a, b] = [await serverOf(place), await serverOf(place)];
  await a.run.clients.begin("robot");
  b.run.emotions.event("snap_detected");
  const conflict: Around = async (call) => {
    await b.run.save();
    return call();
  };
  a.writes.push(conflict, refused);
  const code = "THROUGHLINE_UNAVAILABLE";
  await assert.rejects(a.run.clients.inject("robot", "once"), { code });
  await a.run.clients.inject("robot", "once");
  await b.run.readOn();
  for (const { run } of [a, b]) assert.equal(run.clients.get("robot").injects.length, 1);
});

test("a step that may be stored, and cannot be looked for, is reported as unknown", async () => {
  const place = heldPlace();
  const [a, b] = [await serverOf(place), await serverOf(place)];
  await a.run.clients.begin("robot");
  a.writes.push(noAnswer);
  const code = "THROUGHLINE_OUTCOME_UNKNOWN";
  const inject = a.run.clients.inject("robot", "once");
  a.reads.push(refused);
  await assert.rejects(inject, { code });
  await a.run.save();
  await b.run.readOn();
  for (const { run } of [a, b]) assert.equal(run.clients.get("robot").injects.length, 1);
});

test("a step whose answer was lost is known to the other servers within a second or so", async () => {
  const place = heldPlace();
  const [a, b] = [await serverOf(place), await serverOf(place)];
  await a.run.clients.begin("robot");
  await pass(place, 1_500, a, b);
  a.writes.push(noAnswer);
  await a.run.clients.inject("robot", "once");
  await pass(place, 1_500, b);
  for (const { run } of [a, b]) assert.equal(run.clients.get("robot").injects.length, 1);
});

test("forgetting a chat reaches its interrupted turn, also where another server wrote first", async () => {
  const place = heldPlace();
  const first = await serverOf(place);
  const target = { provider: "scripted", model: "m" };
  await first.turns.open("chat-secret", { content: "words", id: "m1" }, target);
  first.kill();
  place.clock.pass(30_000);
  const [a, b] = [await serverOf(place), await serverOf(place)];
  assert.equal(a.run.report.interrupted.length, 1);
  b.run.emotions.event("snap_detected");
  a.writes.push(async (call) => {
    await b.run.save();
    return call();
  });
  await a.run.forget("chat-secret");
  const stored = await place.open().storage.documents("session").read("session");
  assert.doesNotMatch(JSON.stringify(stored), /chat-secret/);
  assert.deepEqual(a.run.report.interrupted, []);
});

const ways: readonly [string, (server: Awaited<ReturnType<typeof serverOf>>) => unknown][] = [
  ["is stored", () => undefined],
  ["is stored without an answer", ({ writes }) => writes.push(noAnswer)],
  ["is stored with a chat that is forgotten", ({ run }) => run.forget("another")],
];
for (const [how, act] of ways) {
  test(`an event that ${how} is in the history of moods once`, async () => {
    const place = heldPlace();
    const [a, b] = [await serverOf(place), await serverOf(place)];
    await a.run.save();
    a.run.emotions.event("snap_detected");
    await act(a);
    await pass(place, 3_000, a, b);
    const now = place.clock.now();
    const { events } = await a.run.moodCourse({ from: now - 60_000, to: now, points: 2 });
    assert.deepEqual(
      events.map(({ event }) => event),
      ["snap_detected"],
    );
  });
}

test("a server that missed that another one began a run does not end that run", async () => {
  const place = heldPlace();
  const a = await serverOf(place);
  a.deafen(true);
  const c = await serverOf(place);
  assert.notEqual(c.run.runId, a.run.runId);
  await a.run.close();
  c.kill();
  place.clock.pass(30_000);
  const { run } = await serverOf(place);
  assert.equal(run.report.clean, false);
});

test("a companion that is begun again in its process counts its acts on", async () => {
  const place = heldPlace();
  const [a, b] = [await serverOf(place), await serverOf(place)];
  for (let n = 0; n < 3; n++) a.run.emotions.event("face_recognized");
  await a.run.close();
  const again = await a.again();
  b.run.emotions.event("snap_detected");
  await b.run.save();
  again.emotions.event("abuse");
  await again.save();
  assert.equal(again.emotions.feeling().wounds.length, 1);
});
