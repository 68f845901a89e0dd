// What a cluster of servers goes through, however long its leases last.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { seededRandom } from "../../src/testing/random.ts";
import { getJson, type Message, readChat } from "./kill-harness.ts";
import { answerTo, type NotingModel, notingModel, wordsOf } from "./noting-model.ts";
import { type ClusterOptions, ClusterServer, startCluster } from "./server-cluster.ts";

type Options = Omit<ClusterOptions, "model">;

/** Says something, and gives back the status and what was answered. */
async function post(url: string, path: string, body: object, key?: string) {
  const response = await fetch(url + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    body: JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the answers of many routes.
  return { status: response.status, body: (await response.json()) as any };
}

const tell = (url: string, chat: string, key: string) =>
  post(url, `/api/chats/${chat}/messages`, { content: wordsOf(chat, key) }, key);

/** Says it again, as clients do, while the server refuses for the moment. @returns the answer. */
async function told(url: string, chat: string, key: string) {
  for (;;) {
    const { status, body } = await tell(url, chat, key);
    if (status === 503) continue;
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }
}

/** Asks again and again, until it is so. */
async function until<T>(ask: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await ask();
    if (found !== undefined && found !== false) return found;
    await wait(20);
  }
}

const textsOf = (messages: readonly Message[]) =>
  messages.map(({ role, content }) => `${role}: ${content}`);

const exchange = (chat: string, key: string) => [
  `user: ${wordsOf(chat, key)}`,
  `assistant: ${answerTo(wordsOf(chat, key))}`,
];

/** Everything that the database has of a chat. */
async function recordsOf(pool: pg.Pool, chat: string): Promise<readonly object[]> {
  const { rows } = await pool.query(
    "select seq, id, body from throughline.records where collection = 'chats' and key = $1 order by seq",
    [chat],
  );
  return rows;
}

/**
 * A server is stopped in the middle of turns; another one takes a chat over, then it goes on.
 *
 * @returns how long the other one waited for the chat, in milliseconds.
 */
export async function stopAndWake(options: Options, pool: pg.Pool): Promise<number> {
  await using model = await notingModel(() => 1);
  await using cluster = await startCluster(2, { ...options, model: model.name });
  const [a, b] = cluster.servers as [ClusterServer, ClusterServer];
  await told(b.url, "taken", "m0");
  const held = model.holdBack();
  const late = tell(a.url, "taken", "m1");
  const alone = tell(a.url, "left", "m1");
  await model.until((all) => all.length === 3);
  a.signal("SIGSTOP");
  held.pass();
  const stoppedAt = performance.now();
  const taken = await told(b.url, "taken", "m1");
  const waitedMs = performance.now() - stoppedAt;
  await told(b.url, "taken", "m2");
  const before = await recordsOf(pool, "taken");
  const leftBefore = await recordsOf(pool, "left");
  held.free(); // its model's answers are there when it wakes
  a.signal("SIGCONT");
  const assertFenced = ({ status, body }: Awaited<typeof late>) =>
    assert.deepEqual([status, body.code], [503, "THROUGHLINE_FENCED"]);
  assertFenced(await late);
  assert.deepEqual(await recordsOf(pool, "taken"), before);
  // Nobody took the other chat: if its answer comes before the timers of whoever wakes, it is stored.
  const left = await alone;
  if (left.status !== 200) {
    assertFenced(left);
    assert.deepEqual(await recordsOf(pool, "left"), leftBefore);
  }
  // It goes on serving: what was answered elsewhere, what was cut off, and what is new.
  assert.deepEqual((await told(a.url, "taken", "m1")).assistant, taken.assistant);
  await told(a.url, "left", "m1");
  await told(a.url, "taken", "m3");
  const transcript = ["m0", "m1", "m2", "m3"].flatMap((key) => exchange("taken", key));
  for (const { url } of [a, b]) {
    assert.deepEqual(textsOf(await readChat(url, "taken", 50)), transcript);
    assert.deepEqual(textsOf(await readChat(url, "left", 50)), exchange("left", "m1"));
  }
  return waitedMs;
}

/** How each boot of the companion is on record. */
async function runsIn(pool: pg.Pool): Promise<readonly string[]> {
  const { rows } = await pool.query(
    "select body from throughline.records where collection = '' and key = 'runs' order by seq",
  );
  return rows.map(({ body }) => JSON.parse(body).kind);
}

/** Whether a model was told of a restart, with what was said last. */
const isWelcomed = (model: NotingModel) =>
  /Do not mention the interruption|acknowledge you're back|Welcome them/.test(
    model.spoken.at(-1)?.heard ?? "",
  );

/** One of two servers is killed; then both are. */
export async function loseServers(options: Options, pool: pg.Pool): Promise<void> {
  await using model = await notingModel(() => 1);
  const of = { ...options, model: model.name };
  const [a, b] = [await ClusterServer.at("a", of), await ClusterServer.at("b", of)];
  try {
    await a.start();
    await b.start();
    for (const chat of ["one", "two"]) await told(b.url, chat, "m1");
    assert.equal((await post(a.url, "/api/mood", { mood: "proud", duration: 3_600 })).status, 200);
    await until(async () => (await getJson(b.url, "/api/emotions")).mood === "proud");
    const before = await getJson(b.url, "/api/session");
    assert.equal(before.restart_type, "fresh_start");

    // A server that dies beside a living one is no restart.
    await a.kill();
    await told(b.url, "one", "m2");
    assert.equal(isWelcomed(model), false);
    const session = async (url: string) => ({ ...(await getJson(url, "/api/session")), uptime: 0 });
    assert.deepEqual(await session(b.url), { ...before, uptime: 0 });

    // It comes back, and joins; a chat that goes on there is told nothing either.
    await a.start();
    assert.deepEqual(await session(a.url), { ...before, uptime: 0 });
    assert.equal((await getJson(a.url, "/api/emotions")).mood, "proud");
    await told(a.url, "two", "m2");
    assert.equal(isWelcomed(model), false);
    assert.deepEqual(await runsIn(pool), ["run_start"]);
    await restarts(a, b, model);
    assert.deepEqual(await runsIn(pool), ["run_start", "run_start", "run_end", "run_start"]);
  } finally {
    await Promise.all([a.kill(), b.kill()]);
  }
}

/** The only server is killed, and started again after 2 s. */
export async function loseLoneServer(options: Options): Promise<void> {
  const server = await ClusterServer.at("lone", { ...options, model: "offline" });
  try {
    await server.start();
    assert.equal((await post(server.url, "/api/person", { name: "Ada" })).status, 200);
    await wait(200); // files: it is saved at the next pass, every 100 ms
    await server.kill();
    await wait(2_000);
    await server.start();
    const session = await getJson(server.url, "/api/session");
    assert.deepEqual([session.restart_type, session.clean], ["crash_recovery", false]);
    assert.ok(session.elapsed >= 2 && session.elapsed < 30, `${session.elapsed} s`);
    assert.equal(session.last_person_seen, "Ada");
  } finally {
    await server.kill();
  }
}

/** Of each server's small feelings one emotion tells how many there were. Nothing fades. */
const channels = ["joy", "sadness", "anger", "disgust"] as const;
const smallDelta = 0.000_1;
const maxWounds = 20;
const countingEmotions = {
  emotions: Object.fromEntries([...channels, "fear"].map((name) => [name, { decay_rate: 0 }])),
  events: {
    ...Object.fromEntries(channels.map((name) => [name, { deltas: { [name]: smallDelta } }])),
    hurt: { severity: "severe", wound: { floors: { fear: 0.1 }, duration: 1e9, heal_rate: 0 } },
  },
  settings: { max_wounds: maxWounds },
};

/** A kill may lose the small feelings of 100 ms, and those on their way to the database then. */
const lossMs = 100 + 150;
/** A wound and a person are written at once, which takes some milliseconds. */
const writeMs = 80;

/** Four servers have ten acts a second each; two of them are killed again and again, at last all. @returns what was done. */
export async function actAndKill(
  { rounds, seed, ...options }: Options & { readonly rounds: number; readonly seed: number },
  pool: pg.Pool,
) {
  const random = seededRandom(seed);
  const counts = { wounds: 0, persons: 0, kills: 0, maybeLost: 0 };
  const actors = await Promise.all(
    channels.map(async (emotion) => {
      const server = await ClusterServer.at(emotion, { ...options, model: "offline" });
      // JSON is YAML.
      fs.writeFileSync(join(server.home, "emotions.yaml"), JSON.stringify(countingEmotions));
      return { server, emotion, isUp: false, small: [] as number[], maybeLost: 0, urgentAt: 0 };
    }),
  );
  type Actor = (typeof actors)[number];
  const start = async (actor: Actor) => {
    await actor.server.start();
    actor.isUp = true;
  };
  const act = async (actor: Actor, kind: number) => {
    const isWound = kind === 0 && counts.wounds < maxWounds;
    const isPerson = kind === 1;
    if (isWound) counts.wounds++;
    if (isPerson) counts.persons++;
    const { status } = isPerson
      ? await post(actor.server.url, "/api/person", { name: `person ${counts.persons}` })
      : await post(actor.server.url, "/api/emotions/event", {
          event: isWound ? "hurt" : actor.emotion,
        });
    assert.equal(status, 200);
    if (isWound || isPerson) actor.urgentAt = performance.now();
    else actor.small.push(performance.now());
  };
  const kill = async (actor: Actor) => {
    await wait(Math.max(random(60), actor.urgentAt + writeMs - performance.now()));
    const from = performance.now() - lossMs;
    actor.maybeLost += actor.small.filter((at) => at > from).length;
    actor.isUp = false;
    counts.kills++;
    await actor.server.kill();
  };
  /** All that was done is there, once. */
  const assertFelt = async ({ url }: ClusterServer) => {
    const { levels, wounds } = await getJson(url, "/api/emotions");
    for (const { emotion, small, maybeLost } of actors) {
      const felt = Math.round(levels[emotion] / smallDelta);
      const says = `${felt} of ${small.length} of ${emotion}, at most ${maybeLost} lost`;
      assert.ok(felt <= small.length && felt >= small.length - maybeLost, says);
    }
    assert.equal(wounds.length, counts.wounds);
    const { last_person_seen: person } = await getJson(url, "/api/session");
    assert.equal(person, `person ${counts.persons}`);
  };
  let starting: Promise<void> = Promise.resolve();
  try {
    for (const actor of actors) await start(actor);
    for (let round = 0; round < rounds; round++) {
      const next = performance.now() + 100;
      // At one server at most something that is written at once: so it is known who was seen last.
      const special = random(channels.length);
      const kind = random(10);
      await Promise.all(
        actors.map(async (actor, n) => actor.isUp && act(actor, n === special ? kind : 9)),
      );
      const victim = actors[random(2)];
      if (victim?.isUp && random(10) === 0) {
        await kill(victim);
        starting = Promise.all([starting, start(victim)]).then(() => undefined);
        starting.catch(() => undefined); // it is waited for below
      }
      await wait(Math.max(0, next - performance.now()));
    }
    await starting;
    await wait(2_000); // each reads what the others wrote within a second
    for (const { server } of actors) await assertFelt(server);
    assert.deepEqual(
      await runsIn(pool),
      ["run_start"],
      "a death beside a living one is no restart",
    );
    await Promise.all(actors.map(({ server }) => server.kill()));
    const [lone] = actors;
    await lone?.server.start();
    await assertFelt(lone?.server ?? assert.fail());
    assert.deepEqual(await runsIn(pool), ["run_start", "run_start"]);
    counts.maybeLost = actors.reduce((sum, { maybeLost }) => sum + maybeLost, 0);
    return { ...counts, small: actors.reduce((sum, { small }) => sum + small.length, 0) };
  } finally {
    await Promise.all(actors.map(({ server }) => server.kill()));
  }
}

/** All servers are gone for a moment: the kinds of restart are those of a companion on files. */
async function restarts(a: ClusterServer, b: ClusterServer, model: NotingModel): Promise<void> {
  await Promise.all([a.kill(), b.kill()]);
  await wait(2_000);
  await b.start();
  const crash = await getJson(b.url, "/api/session");
  assert.deepEqual([crash.restart_type, crash.clean], ["crash_recovery", false]);
  assert.ok(crash.elapsed >= 2 && crash.elapsed < 30, `${crash.elapsed} s`);
  assert.equal((await getJson(b.url, "/api/emotions")).mood, "proud");
  await told(b.url, "one", "m3");
  assert.equal(isWelcomed(model), true);
  await a.start();
  await told(a.url, "one", "m4");
  assert.equal(isWelcomed(model), false);
  await Promise.all([a.end(), b.end()]);
  await a.start();
  const short = await getJson(a.url, "/api/session");
  assert.deepEqual([short.restart_type, short.clean], ["short_break", true]);
  await told(a.url, "two", "m3");
  assert.equal(isWelcomed(model), true);
}
