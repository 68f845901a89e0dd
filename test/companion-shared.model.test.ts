// Four servers have one companion. Whatever they do, and whichever of them is killed: what counts is stored, once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Companion } from "../src/companion/companion.ts";
import { builtInEmotions } from "../src/companion/emotion/built-in-emotions.ts";
import type { EmotionConfiguration } from "../src/companion/emotion/configuration.ts";
import { runsProjection } from "../src/companion/runs.ts";
import { ThroughlineError } from "../src/core/errors.ts";
import type { DocumentStore } from "../src/core/storage/document-store.ts";
import type { Storage } from "../src/core/storage/storage.ts";
import { seededRandom } from "../src/testing/random.ts";
import { awakeProcess } from "./support/awake.ts";
import { heldPlace, mortal, soon } from "./support/cluster-world.ts";
import { column } from "./support/columns.ts";
import { scriptedResponder } from "./support/scripted-responder.ts";
import { SimulatedVoice } from "./support/simulated-voice.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const servers = 4;
/** A pass of the loop of each server is one round of 100 ms. */
const rounds = isFull ? 3_000 : 60;
/** Rounds from one kill to the next, on average. */
const roundsPerKill = isFull ? 20 : 6;

const stays = { baseline: 0, decayPerSecond: 0 };

/** Feelings that stay as they are: each small one adds a little to joy, so that all can be counted. */
const counting: EmotionConfiguration = {
  ...builtInEmotions,
  emotions: { joy: stays, sadness: stays, anger: stays, fear: stays, disgust: stays },
  events: {
    small: { severity: "mild", deltas: { joy: 0.000_01 }, woundReduction: 0, wound: undefined },
    hurt: {
      severity: "severe",
      deltas: {},
      woundReduction: 0,
      wound: { floors: { fear: 0.1 }, durationMs: 1e9, healPerSecond: 0 },
    },
  },
  settings: { ...builtInEmotions.settings, maxWounds: 20 },
};

/** What becomes of one read or write of a document. */
type Around = <T>(call: () => Promise<T>) => Promise<T>;
const plain: Around = (call) => call();
/** It is stored, and the answer is lost. */
const noAnswer: Around = async (call) => {
  await call();
  throw new ThroughlineError("no answer", { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
};

/** A storage that asks for each read and write of a document what becomes of it. */
function asking(storage: Storage, next: (call: "read" | "write") => Around): Storage {
  const documents = (collection: string): DocumentStore => {
    const inner = storage.documents(collection);
    return {
      read: (...args) => next("read")(() => inner.read(...args)),
      write: (...args) => next("write")(() => inner.write(...args)),
      delete: (key) => inner.delete(key),
      forgetCopies: (key) => inner.forgetCopies(key),
      keys: () => inner.keys(),
    };
  };
  return { ...storage, cluster: storage.cluster, documents };
}

interface Server {
  readonly companion: Companion;
  readonly kill: () => void;
  /** Small feelings since its last pass. */
  gathered: number;
}

test("of 4 servers with 10 acts a second each, killed in between, no wound and no person is lost and nothing is felt twice", async (t) => {
  const seed = Number(process.env["THROUGHLINE_SEED"] ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  const place = heldPlace();
  const start = async (): Promise<Server> => {
    const storage = mortal(place.open().storage);
    const losing = asking(storage, (call) => {
      return call === "write" && random(10) === 0 ? noAnswer : plain;
    });
    const options = { clock: place.clock, timers: soon, awake: { emotions: counting } };
    const { run } = await awakeProcess(losing, options);
    return { companion: run, kill: () => storage.kill(), gathered: 0 };
  };
  const stored = async () =>
    (await place.open().storage.documents("session").read("session"))?.value ?? {};
  const runsLogged = async () => {
    const runs = await place.open().storage.logs("", runsProjection).tail("runs", 10);
    return column(runs?.records ?? [], "kind");
  };
  const up: Server[] = [];
  for (let n = 0; n < servers; n++) up.push(await start());
  const counts = { small: 0, wounds: 0, persons: 0, kills: 0, lost: 0 };
  for (let round = 0; round < rounds; round++) {
    place.clock.pass(100);
    for (const server of up) {
      const { companion } = server;
      const act = random(30);
      if (act === 0 && counts.wounds < 20) {
        companion.emotions.event("hurt");
        counts.wounds++;
        server.gathered = 0; // what was gathered is written with it
        await settled();
      } else if (act < 4) {
        companion.personSeen(`person ${++counts.persons}`);
        server.gathered = 0;
        await settled();
        assert.equal((await stored())["last_person_seen"], `person ${counts.persons}`);
      } else {
        companion.emotions.event("small");
        counts.small++;
        server.gathered++;
      }
    }
    const [killed] = random(roundsPerKill) === 0 ? up.splice(random(up.length), 1) : [];
    if (killed !== undefined) {
      killed.kill();
      counts.kills++;
      counts.lost += killed.gathered;
      assert.ok(killed.gathered <= 1, "of 100 ms");
    }
    for (const server of up) {
      server.companion.tick();
      server.gathered = 0;
    }
    await settled();
    if (killed !== undefined) up.push(await start());
  }
  t.diagnostic(JSON.stringify(counts));
  // Until one that was killed just now was silent for 10 s.
  for (let passed = 0; passed < 20_000; passed += 5_000) {
    place.clock.pass(5_000);
    for (const { companion } of up) companion.tick();
    await settled();
  }
  for (const { companion } of up) {
    const { levels, wounds } = companion.emotions.feeling();
    assert.equal(Math.round(levels.joy * 100_000), counts.small - counts.lost);
    assert.equal(wounds.length, counts.wounds);
    assert.equal(companion.person?.name, `person ${counts.persons}`);
    assert.equal(companion.report.kind, "fresh_start");
  }
  const says = "a server that dies beside a living one is no restart";
  assert.deepEqual(await runsLogged(), ["run_start"], says);
  await Promise.all(up.map(({ companion }) => companion.close()));
  assert.deepEqual(await runsLogged(), ["run_start", "run_end"], "the last to leave ends it");
  assert.equal((await stored())["shutdown_clean"], true);
});

// Two servers write one companion, and a write of one of them conflicts, is refused, or gets no answer.
type Place = ReturnType<typeof heldPlace>;

const away = () => new ThroughlineError("away", { code: "THROUGHLINE_UNAVAILABLE" });
const refused: Around = () => Promise.reject(away());

/** A server of the companion. `writes` and `reads` stand for its next calls, in order; then all go well. */
async function serverOf(place: Place) {
  const writes: Around[] = [];
  const reads: Around[] = [];
  const { kill, deafen, ...storage } = mortal(place.open().storage);
  const queues = { read: reads, write: writes };
  const wrapped = asking(storage, (call) => queues[call].shift() ?? plain);
  const model = scriptedResponder([]);
  const { run, turns } = await awakeProcess(wrapped, { clock: place.clock, timers: soon, model });
  const again = async () =>
    (await awakeProcess(wrapped, { clock: place.clock, timers: soon, model })).run;
  return { run, turns, kill, deafen, again, writes, reads };
}
type Writer = Awaited<ReturnType<typeof serverOf>>;

async function settled() {
  for (let n = 0; n < 40; n++) await setImmediate();
}

/** Lets servers do what is due in a span of time. */
async function pass(place: Place, ms: number, ...servers: readonly Writer[]) {
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
  const stream = new SimulatedVoice("idle");
  stream.isPrompt = false;
  a.run.clients.deliver("robot", stream);
  await settled();
  b.run.emotions.event("abuse");
  await pass(place, 1_500, a, b);
  stream.acknowledge();
  await pass(place, 4_000, a, b);
  assert.deepEqual(column(stream.calls, "text"), ["It rains."]);
});

/** Another server comes first. */
const after =
  ({ run }: Writer): Around =>
  async (call) => {
    await run.save();
    return call();
  };

test("a step of a client that is refused after a conflict has not happened", async () => {
  const place = heldPlace();
  const [a, b] = [await serverOf(place), await serverOf(place)];
  await a.run.clients.begin("robot");
  b.run.emotions.event("snap_detected");
  a.writes.push(after(b), refused);
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
  a.writes.push(after(b));
  await a.run.forget("chat-secret");
  const stored = await place.open().storage.documents("session").read("session");
  assert.doesNotMatch(JSON.stringify(stored), /chat-secret/);
  assert.deepEqual(a.run.report.interrupted, []);
});

test("a wound that comes while a write is under way is written right after it, not at the next pass", async () => {
  const place = heldPlace();
  const a = await serverOf(place);
  a.run.emotions.event("snap_detected");
  a.writes.push(async (call) => {
    const written = await call();
    a.run.emotions.event("abuse");
    return written;
  });
  await pass(place, 100, a);
  const stored = await place.open().storage.documents("session").read("session");
  assert.match(JSON.stringify(stored?.value["emotions"]), /"event":"abuse"/);
});

test("a small feeling that comes during a write waits for the next pass, also after a wound that did not", async () => {
  const place = heldPlace();
  const a = await serverOf(place);
  const during =
    (event: string): Around =>
    async (call) => {
      const written = await call();
      a.run.emotions.event(event);
      return written;
    };
  a.writes.push(during("abuse"), during("snap_detected"), plain);
  a.run.emotions.event("snap_detected");
  await pass(place, 100, a);
  assert.equal(a.writes.length, 1, "two writes");
  await pass(place, 100, a);
  assert.equal(a.writes.length, 0);
});

const ways: readonly [string, (server: Writer) => unknown][] = [
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
    assert.deepEqual(column(events, "event"), ["snap_detected"]);
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
