// Whatever processes do, miss and die of, each has folded what one fold of the log makes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { awakeProcess } from "../../test/support/awake.ts";
import { heldPlace, mortal, pass, soon, until } from "../../test/support/cluster-world.ts";
import type { Storage } from "../core/storage/storage.ts";
import { ActLog } from "./act-log.ts";
import { storedClients } from "./client-runs.ts";
import type { Companion } from "./companion.ts";
import { startState } from "./emotion/acts.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import { evolve } from "./emotion/emotion.ts";
import { feel } from "./emotion/feel.ts";
import { foldRead, type Life, lifeOf } from "./fold.ts";
import { readLeft } from "./left.ts";
import { runsProjection } from "./runs.ts";

const isFull = globalThis.process.env["THROUGHLINE_FULL"] === "1";

type Act = "words" | "event" | "seen" | "mood" | "sleep" | "reset" | "client" | "config";
const acts: readonly Act[] = [
  ...(["words", "event", "seen", "mood", "sleep", "reset", "client", "config"] as const),
];

type Step =
  | { readonly do: Act; readonly who: number; readonly n: number }
  | { readonly do: "tick" | "save" | "deaf" | "hears" | "missed" | "kill"; readonly who: number }
  | { readonly do: "forget"; readonly who: number; readonly chat: number }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "settle" };

const clientNames = ["lamp", "robot"];

const who = fc.nat({ max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom(...acts), who, n: fc.nat({ max: 5 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom("tick", "save", "deaf", "hears", "missed"), who }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("kill"), who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("forget"), who, chat: fc.nat({ max: 1 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("pass"), ms: fc.nat({ max: 12_000 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("settle") }) },
);

function happen(companion: Companion, { do: act, n }: { readonly do: Act; readonly n: number }) {
  const { emotions } = companion;
  const events = ["pat_level2", "insult", "abuse", "violence", "loud_noise", "person_lost"];
  if (act === "words")
    companion.personSaid(`chat-${n % 2}`, `word ${n}: I hate you, you are stupid`);
  else if (act === "event") emotions.event(events[n] ?? "insult", (n + 1) / 3);
  else if (act === "seen") companion.personSeen(["Ada", "Ori", "Bob"][n % 3] ?? "Ada");
  else if (act === "mood") emotions.override(n % 2 ? "proud" : "calm", n + 1);
  else if (act === "sleep") companion.sleep(n % 2 ? "asleep" : "awake");
  else if (act === "reset") emotions.reset();
  else if (act === "config") {
    const settings = { ...builtInEmotions.settings, maxWounds: n, hysteresisMs: 250 * n };
    emotions.configure({ ...builtInEmotions, settings });
  } else {
    const { clients } = companion;
    const client = n % 2 ? "robot" : "lamp";
    const does = [
      () => clients.begin(client),
      () => clients.heartbeat(client),
      () => clients.inject(client, `text ${n}`),
      () => clients.appended(client, `chat-${n % 2}`),
      () => clients.end(client),
    ];
    // It may be killed meanwhile, or have no open run.
    (async () => does[Math.floor(n * 0.9)]?.())().catch(() => undefined);
  }
}

/** What can be seen of a companion at an instant of its own clock. */
function seenOf(life: Life, at: number): string {
  const { person, sleep, config } = life;
  const { settings } = config;
  const said = life.conversation.length;
  const runs = clientNames.flatMap((name) => life.clients.get(name) ?? []);
  const clients = storedClients.write(runs);
  const feeling = feel(config, evolve(life.emotions, at - life.emotions.at));
  return JSON.stringify({ feeling, person, sleep, settings, clients, said });
}

const livesOf = async (storage: Storage) => {
  const left = await readLeft(storage, builtInEmotions, 0);
  return left.life;
};

/** One fold of the log from its beginning. */
async function oneFold(storage: Storage): Promise<Life> {
  const log = await ActLog.open(storage.logs("", runsProjection), undefined);
  let life = lifeOf(builtInEmotions, undefined, startState(builtInEmotions, 0));
  for (const { act } of (await log?.readOn()) ?? []) if (act) life = foldRead(life, act).life;
  return life;
}

async function run(steps: readonly Step[]): Promise<void> {
  const place = heldPlace();
  const { clock } = place;
  const start = async () => {
    const { storage, timers } = place.open();
    const own = mortal(storage);
    const begun = await awakeProcess(own, { clock, timers: soon });
    return { companion: begun.run, storage: own, timers };
  };
  const store = place.open().storage;
  const up = [await start(), await start(), await start()];
  let hasForgotten = false;
  for (const each of steps) {
    const at = "who" in each ? up[each.who % up.length] : undefined;
    if (each.do === "pass") await pass(clock, each.ms, ...up.map(({ timers }) => timers));
    else if (each.do === "settle") for (let n = 0; n < 20; n++) await setImmediate();
    else if (at === undefined) continue;
    else if (each.do === "tick") at.companion.tick();
    else if (each.do === "save") at.companion.save().catch(() => undefined);
    else if (each.do === "deaf") at.storage.deafen(true);
    else if (each.do === "hears") at.storage.deafen(false);
    else if (each.do === "missed") at.storage.gap();
    else if (each.do === "kill") {
      if (up.length === 1) continue;
      at.storage.kill();
      up.splice(each.who % up.length, 1);
    } else if (each.do === "forget") {
      hasForgotten = true;
      at.companion.forget(`chat-${each.chat}`).catch(() => undefined);
    } else happen(at.companion, each as { readonly do: Act; readonly n: number });
  }
  for (const { storage } of up) storage.deafen(false);
  await pass(clock, 11_000, ...up.map(({ timers }) => timers));
  for (const { companion } of up) await companion.save();
  for (const { companion } of up) await companion.save(); // each has read what the others stored
  const stored = await livesOf(store);
  const now = Math.max(...up.map(({ companion }) => companion.emotions.state.at));
  const expected = seenOf(stored, now);
  const folded = await oneFold(store);
  const count = (life: Life) => (hasForgotten ? 0 : life.conversation.length);
  assert.equal(
    seenOf({ ...folded, conversation: [] }, now),
    seenOf({ ...stored, conversation: [] }, now),
    "one fold",
  );
  assert.equal(count(folded), count(stored), "what was said");
  for (const { companion } of up) {
    const { emotions, person, sleepState } = companion;
    const { state, configuration } = emotions;
    const felt = feel(configuration, evolve(state, now - state.at));
    const mine = { feeling: felt, person, sleep: sleepState, settings: configuration.settings };
    const named = clientNames.filter((name) => stored.clients.has(name));
    const clients = storedClients.write(named.map((name) => companion.clients.get(name)));
    assert.equal(JSON.stringify({ ...mine, clients, said: stored.conversation.length }), expected);
  }
  await until(async () => JSON.stringify(await livesOf(store)) === JSON.stringify(stored));
  for (const { storage } of up) storage.kill();
}

test("whatever 1 to 3 processes do, miss and die of, each is as one fold of the log makes it", async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), run), {
    numRuns: isFull ? 500 : 60,
  });
});
