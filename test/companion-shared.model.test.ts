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

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const servers = 4;
/** A pass of the loop of each server is one round of 100 ms. */
const rounds = isFull ? 3_000 : 300;

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

/** A storage whose answer to a write of a document is lost now and then: it was stored all the same. */
function losingAnswers(storage: Storage, isLost: () => boolean): Storage {
  const documents = (collection: string): DocumentStore => {
    const inner = storage.documents(collection);
    return {
      read: (...args) => inner.read(...args),
      delete: (key) => inner.delete(key),
      forgetCopies: (key) => inner.forgetCopies(key),
      keys: () => inner.keys(),
      async write(...args) {
        const revision = await inner.write(...args);
        if (!isLost()) return revision;
        throw new ThroughlineError("no answer", { code: "THROUGHLINE_OUTCOME_UNKNOWN" });
      },
    };
  };
  return { ...storage, documents };
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
    const losing = losingAnswers(storage, () => random(10) === 0);
    const options = { clock: place.clock, timers: soon, awake: { emotions: counting } };
    const { run } = await awakeProcess(losing, options);
    return { companion: run, kill: () => storage.kill(), gathered: 0 };
  };
  const settle = async () => {
    for (let i = 0; i < 40; i++) await setImmediate();
  };
  const stored = async () =>
    (await place.open().storage.documents("session").read("session"))?.value ?? {};
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
        await settle();
      } else if (act < 4) {
        companion.personSeen(`person ${++counts.persons}`);
        server.gathered = 0;
        await settle();
        assert.equal((await stored())["last_person_seen"], `person ${counts.persons}`);
      } else {
        companion.emotions.event("small");
        counts.small++;
        server.gathered++;
      }
    }
    const [killed] = random(20) === 0 ? up.splice(random(up.length), 1) : [];
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
    await settle();
    if (killed !== undefined) up.push(await start());
  }
  t.diagnostic(JSON.stringify(counts));
  // Until one that was killed just now was silent for 10 s.
  for (let passed = 0; passed < 20_000; passed += 5_000) {
    place.clock.pass(5_000);
    for (const { companion } of up) companion.tick();
    await settle();
  }
  for (const { companion } of up) {
    const { levels, wounds } = companion.emotions.feeling();
    assert.equal(Math.round(levels.joy * 100_000), counts.small - counts.lost);
    assert.equal(wounds.length, counts.wounds);
    assert.equal(companion.person?.name, `person ${counts.persons}`);
    assert.equal(companion.report.kind, "fresh_start");
  }
  const runs = await place.open().storage.logs("", runsProjection).tail("runs", 10);
  assert.deepEqual(
    runs?.records.map(({ kind }) => kind),
    ["run_start"],
    "a server that dies beside a living one is no restart",
  );
  await Promise.all(up.map(({ companion }) => companion.close()));
  const ended = await place.open().storage.logs("", runsProjection).tail("runs", 10);
  assert.deepEqual(
    ended?.records.map(({ kind }) => kind),
    ["run_start", "run_end"],
    "the last to leave ends it",
  );
  assert.equal((await stored())["shutdown_clean"], true);
});
