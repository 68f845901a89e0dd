// The companion behind its HTTP routes, and the routes that came with it: retry, rename, filters.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as schemas from "../src/companion/routes/answer-schemas.ts";
import { companionRoutes } from "../src/companion/routes.ts";
import { ResponderError } from "../src/core/models/responder.ts";
import * as answers from "../src/server/answer-schemas.ts";
import { KnownKeys } from "../src/server/idempotency.ts";
import { type AwakeOptions, asRun, awakeCompanion } from "./support/awake.ts";
import { HeldClock } from "./support/held-clock.ts";
import { Machine } from "./support/kept-companion.ts";
import type { ScriptedStep } from "./support/scripted-responder.ts";
import {
  assertDescribed,
  companion,
  eventsOf,
  jsonOf,
  me,
  problemOf,
  until,
  words,
} from "./support/server-fixture.ts";

const unavailable: ScriptedStep = {
  type: "fail",
  error: new ResponderError("the model is busy", { kind: "unavailable" }),
};
const eventNames = /pat_level1, .*insult.*, sustained_yelling/;
const moodNames = /happy, excited, curious, thinking, sad, disappointed, surprised, sleepy/;

/** A companion that is up, behind its HTTP routes. */
async function awake(
  script: readonly (readonly ScriptedStep[])[] = [],
  options: AwakeOptions = {},
) {
  const c = await awakeCompanion(script, options);
  const sent = async (path: string, body: object = {}) => jsonOf(await c.post(path, body), 200);
  return { ...c, sent };
}

/** The second run of a machine, 40 s after the first was killed in the middle of a turn. */
async function afterKill(script: readonly (readonly ScriptedStep[])[] = []) {
  const machine = new Machine();
  const first = await machine.run();
  first.companion.personSeen("Ada");
  first.companion.emotions.event("abuse");
  await first.throughline.chats.append("local:me", [
    { role: "user", content: "Hello" },
    { role: "assistant", content: "Hi" },
  ]);
  await machine.tick(first.companion);
  machine.clock.pass(40_000);
  const { throughline, companion: run } = await machine.run();
  const c = await companion(script, {
    throughline,
    clock: machine.clock,
    features: [companionRoutes(asRun(run))],
  });
  return { ...c, run, machine };
}

test("GET /api/session says how the run came about, in the seed's names and seconds", async () => {
  const c = await awake();
  c.clock.pass(12_345);
  const run = schemas.companionRun.strict().parse(await c.get("/api/session"));
  assert.deepEqual(run, {
    ...{ session_id: c.run.runId, restart_type: "fresh_start", elapsed: 0, uptime: 12.3 },
    ...{ total_sessions: 1, session_start: c.run.startedAt / 1_000, clean: true },
    ...{ interrupted_turns: [], certainty: "certain", previous_session_id: null, quarantined: 0 },
    ...{ sleep_state: "awake", last_person_seen: null, last_person_seen_time: null },
    models: { standard: { provider: "scripted", model: "script-1" }, providers: ["scripted"] },
  });
});

test("after a kill, session and restart show the gap, the run before and the notices, pending and delivered", async () => {
  const c = await afterKill([["1"]]);
  const run = schemas.companionRun.strict().parse(await c.get("/api/session"));
  assert.deepEqual(
    [run.restart_type, run.elapsed, run.clean, run.total_sessions],
    ["short_break", 40, false, 2],
  );
  assert.equal(run.last_person_seen, "Ada");
  assert.equal(run.last_person_seen_time, c.run.startedAt / 1_000 - 40);
  const { report, deliveries } = schemas.restart.strict().parse(await c.get("/api/restart"));
  assert.deepEqual([report.kind, report.certainty], ["short_break", "certain"]);
  assert.match(String(report.previous_session_id), /^[0-9a-f]{8}$/);
  const [pending] = deliveries;
  assert.deepEqual(
    [deliveries.length, pending?.chat_id, pending?.status],
    [1, "local:me", "pending"],
  );
  assert.match(pending?.text ?? "", /USER: \\?"Hello\\?"/);
  assert.deepEqual([pending?.parts, pending?.at], [["session"], null]);
  await c.say("Hello");
  const [told] = schemas.restart.strict().parse(await c.get("/api/restart")).deliveries;
  assert.ok(told);
  assert.deepEqual([told.status, told.kind], ["delivered", "short_break"]);
  assert.ok(c.model.requests[0]?.context?.includes(told.text), "the very text that it was told");
});

test("emotions are levels, wounds, mood and its reason, sleep, and what can move them", async () => {
  const c = await awake();
  const now = async () => schemas.emotionState.strict().parse(await c.get("/api/emotions"));
  assert.deepEqual([(await now()).mood_cause, (await now()).sleep_state], [null, "awake"]);
  c.run.emotions.event("insult");
  assert.deepEqual((await now()).mood_cause, { event: "insult", age: 0 });
  c.run.emotions.event("violence");
  c.clock.pass(1_234);
  c.run.sleep("asleep");
  const state = await now();
  assert.deepEqual([state.mood, state.voice_state, state.boredom], ["disappointed", "idle", 0]);
  assert.deepEqual([state.mood_cause?.event, state.sleep_state], ["violence", "asleep"]);
  const [wound] = state.wounds;
  assert.deepEqual(
    [wound?.event, wound?.duration, wound?.age, wound?.healing, wound?.heals_in],
    ["violence", 300, 1.2, false, 548.766],
  );
  assert.deepEqual(wound?.floors, { fear: 0.25, sadness: 0.2 });
  assert.deepEqual(state.baselines, { joy: 0.3, sadness: 0, anger: 0, fear: 0, disgust: 0 });
  assert.equal(state.event_severity["violence"], "severe");
  assert.deepEqual(Object.keys(state.event_severity), state.events);
  assert.deepEqual([state.moods.length, state.triggers.length], [10, 5]);
  c.clock.pass(60_000);
  const { mood_cause } = await now();
  assert.deepEqual(mood_cause, { event: "violence", age: 61.2 }, "a wound, before what came since");
});

test("an event moves the feelings as far as its intensity says, and tells of a wound", async () => {
  const c = await awake();
  const insult = await c.sent("/api/emotions/event", { event: "insult", intensity: 2 });
  const applied = schemas.appliedEvent.strict().parse(insult);
  assert.deepEqual([applied.status, applied.event, applied.wound], ["applied", "insult", null]);
  assert.equal(applied.state.levels.anger, 0.5);
  for (let wound = 1; wound <= 6; wound++) {
    const { wound: left } = await c.sent("/api/emotions/event", { event: "abuse" });
    assert.equal(left, wound <= 5 ? "added" : "limit");
  }
});

test("a reset brings the levels to rest; wounds, boredom and a mood that was set stay", async () => {
  const c = await awake();
  c.run.emotions.event("violence");
  c.run.emotions.override("proud");
  const reset = schemas.emotionsReset.strict().parse(await c.sent("/api/emotions/reset"));
  assert.deepEqual([reset.state.levels.anger, reset.state.levels.fear], [0, 0.25]);
  assert.deepEqual([reset.state.wounds.length, reset.state.mood], [1, "proud"]);
});

test("a reset with a configuration that is refused is 400, with what is wrong, and changes nothing", async () => {
  const problems = ["emotions.yaml:3: joy.baseline must be a number from 0 to 1"];
  const c = await awake([], { emotionProblems: () => problems });
  c.run.emotions.event("insult");
  const response = await c.post("/api/emotions/reset");
  const { detail } = await problemOf(response, 400, "THROUGHLINE_INVALID");
  assert.equal(detail, problems[0]);
  const { levels, warnings } = await c.get("/api/emotions");
  assert.deepEqual([levels.anger, warnings], [0.25, problems]);
});

test("a mood is shown for its seconds, 10 when nothing is said", async () => {
  const c = await awake();
  const set = schemas.moodSet.strict().parse(await c.sent("/api/mood", { mood: "excited" }));
  assert.deepEqual([set.status, set.mood, set.state.mood], ["set", "excited", "excited"]);
  const until = new Date(c.clock.now() + 10_000).toISOString();
  assert.deepEqual(set.state.mood_override, { mood: "excited", until });
  c.clock.pass(10_000);
  assert.equal((await c.get("/api/emotions")).mood, "excited", "the last instant is included");
  c.clock.pass(1);
  assert.deepEqual((await c.get("/api/emotions")).mood_override, null);
  const { state } = await c.sent("/api/mood", { mood: "sad", duration: 0.5 });
  assert.equal(state.mood_override.until, new Date(c.clock.now() + 500).toISOString());
});

test("a person who is seen is told, with the time in seconds; sleep is set and taken back", async () => {
  const c = await awake();
  const seen = schemas.personSeen.strict().parse(await c.sent("/api/person", { name: "Ada" }));
  const wanted = { last_person_seen: "Ada", last_person_seen_time: c.clock.now() / 1_000 };
  assert.deepEqual(seen, wanted);
  assert.equal((await c.get("/api/session")).last_person_seen, "Ada");
  for (const state of ["asleep", "awake"]) {
    const set = schemas.sleeping.strict().parse(await c.sent("/api/sleep", { state }));
    assert.deepEqual(set, { sleep_state: state });
    assert.equal((await c.get("/api/session")).sleep_state, state);
  }
});

test("the history of moods is drawn over its span, or the last day, with events, wounds and runs", async () => {
  const c = await awake();
  c.clock.pass(60_000);
  await c.sent("/api/emotions/event", { event: "abuse" });
  c.clock.pass(60_000);
  const now = c.clock.now();
  const path = `/api/emotions/history?from=${now - 180_000}&to=${now}&points=10`;
  const course = schemas.moodHistory.strict().parse(await c.get(path));
  assert.deepEqual([course.at.length, course.at[0], course.at[9]], [10, now - 180_000, now]);
  assert.deepEqual(
    course.mood.map((mood) => mood !== null),
    [false, false, false, true, true, true, true, true, true, true],
  );
  assert.deepEqual(course.levels.disgust.map(Boolean).lastIndexOf(true), 9);
  const wanted = { at: now - 60_000, event: "abuse", intensity: 1, wound: "added" };
  assert.deepEqual(course.events, [wanted]);
  assert.deepEqual(
    course.wounds.map(({ event, from, to }) => [event, from, to]),
    [["abuse", now - 60_000, now + 915_000]],
  );
  assert.deepEqual(course.runs, [{ from: now - 120_000, to: null }]);
  const day = await c.get("/api/emotions/history");
  assert.deepEqual([day.from, day.to, day.at.length], [now - 86_400_000, now, 300]);
  const later = await c.get(`/api/emotions/history?from=${now - 1}&to=${now + 1e9}`);
  assert.deepEqual([later.from, later.to], [now - 1, now]);
});

const history = "/api/emotions/history";
const wrongBodies: readonly [path: string, body: object, detail: RegExp][] = [
  [`${history}?from=-1`, {}, /^from: must be a whole number from 0 to 8640000000000000$/],
  [`${history}?points=9`, {}, /^points: must be a whole number from 10 to 2000$/],
  [`${history}?from=5&to=5`, {}, /^from must be before to, and not in the future$/],
  [`${history}?since=5`, {}, /^the query: unknown field "since"; the fields are from, to, points$/],
  ["/api/emotions/event", { event: "hug" }, eventNames],
  ["/api/emotions/event", { event: "toString" }, eventNames],
  ["/api/emotions/event", { event: "x".repeat(65) }, /^event: must be at most 64/],
  ["/api/emotions/event", { event: "insult", intensity: -1 }, /^intensity: .*0/],
  ["/api/emotions/event", { event: "insult", intensity: 10.1 }, /^intensity: .*10/],
  ["/api/emotions/event", { event: "insult", force: 1 }, /the body: unknown field "force"; /],
  ["/api/mood", { mood: "grumpy" }, moodNames],
  ["/api/mood", { mood: "sad", duration: 0 }, /^duration: must be more than 0/],
  ["/api/mood", { mood: "sad", duration: 3_600.1 }, /^duration: .*3600/],
  ["/api/person", { name: " \u200e\n" }, /a person's name is text/],
  ["/api/person", { name: "x".repeat(257) }, /^name: must be at most 256/],
  ["/api/sleep", { state: "sleepy" }, /^state: must be awake or asleep/],
  [`${me}/rename`, { title: 5 }, /^title: must be a text/],
  [`${me}/retry`, { message_id: "" }, /^message_id: must not be empty/],
  [`${me}/retry`, { provider: "http://evil" }, /^provider: must be a name/],
];
test("what cannot be done to the companion is 400, says what is wanted, and changes nothing", async () => {
  const c = await awake([["Hi"]]);
  await c.say("Hello");
  const state = async () =>
    JSON.stringify([await c.get("/api/emotions"), await c.get("/api/session"), await c.get(me)]);
  const before = await state();
  for (const [path, body, wanted] of wrongBodies) {
    const response = await (path.includes("?") ? c.ask(path) : c.post(path, body));
    const { detail } = await problemOf(response, 400, "THROUGHLINE_INVALID");
    assert.match(detail, wanted, `${path} ${JSON.stringify(body).slice(0, 50)}`);
  }
  assert.equal(await state(), before);
});

test("events tell feelings, the person, sleep and that a chat was told, as the routes do", async () => {
  const c = await afterKill([["Hi"]]);
  const events = eventsOf((await c.ask("/api/events")).body);
  c.run.tick();
  const { data: felt } = await until(events, "emotions");
  const state = await c.get("/api/emotions");
  assertDescribed([{ name: "emotions", data: felt }], schemas.events, ["emotions"]);
  for (const [name, value] of Object.entries(felt)) assert.deepEqual(value, state[name], name);
  assert.equal(felt.wounds[0].event, "abuse");
  await c.post("/api/person", { name: "Bob" });
  assert.equal((await until(events, "person")).data.last_person_seen, "Bob");
  await c.post("/api/sleep", { state: "asleep" });
  assert.deepEqual((await until(events, "sleep")).data, { sleep_state: "asleep" });
  await c.say("Hello again");
  assert.deepEqual((await until(events, "sleep")).data, { sleep_state: "awake" });
  const told = { chat_id: "local:me", status: "delivered" };
  assert.deepEqual((await until(events, "restart")).data, told);
  await c.post("/api/mood", { mood: "proud" });
  c.run.tick();
  assert.equal((await until(events, "emotions")).data.mood, "proud");
});

test("forgetting a chat says what the companion held of it", async () => {
  const c = await awake([["Hi"]]);
  await c.say("Hello");
  const { removed } = answers.forgetReceipt
    .strict()
    .parse(await jsonOf(await c.ask(me, { method: "DELETE" }), 200));
  assert.deepEqual(
    removed.find(({ place }) => place === "companion"),
    { place: "companion", count: 2 },
  );
  assert.deepEqual((await c.get("/api/restart")).deliveries, []);
});

test("the same Idempotency-Key is the same retry, while it runs and afterwards", async () => {
  const held = Promise.withResolvers<void>();
  const c = await companion([["one"], [{ type: "wait", until: held.promise }, "two"], ["three"]]);
  await c.say("Hello");
  const headers = { "idempotency-key": "k" };
  const first = c.post(`${me}/retry`, {}, headers);
  while (c.turns.running("local:me") === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const second = c.post(`${me}/retry`, {}, headers);
  const other = await c.post(`${me}/retry`, {}, { "idempotency-key": "other" });
  await problemOf(other, 409, "THROUGHLINE_CONFLICT");
  held.resolve();
  const [a, b] = [await jsonOf(await first, 200), await jsonOf(await second, 200)];
  assert.deepEqual(a, b);
  const later = await jsonOf(await c.post(`${me}/retry`, {}, headers), 200);
  assert.deepEqual([later.assistant.id, later.assistant.content], [a.assistant.id, "two"]);
  assert.equal(c.model.requests.length, 2);
  const again = await jsonOf(await c.post(`${me}/retry`, {}, { "idempotency-key": "next" }), 200);
  assert.equal(again.assistant.content, "three");
});

test("a retry for which no word comes is 502, and the answer before stays", async () => {
  const c = await companion([["one"], [unavailable]]);
  await c.say("Hello");
  await problemOf(await c.post(`${me}/retry`), 502, "THROUGHLINE_MODEL_FAILED");
  const { messages } = await c.get(`${me}/messages`);
  assert.deepEqual(words(messages), ["user: Hello", "assistant: one"]);
  assert.equal(messages[1].hidden, undefined);
});

test("a retry of nothing, of another message or of one without an answer is refused", async () => {
  const c = await companion([["one"], ["two"], [unavailable]]);
  await problemOf(await c.post(`${me}/retry`), 404, "THROUGHLINE_NOT_FOUND");
  const first = await jsonOf(await c.say("Hello"), 200);
  await c.say("And?");
  const body = { message_id: first.turn_id };
  await problemOf(await c.post(`${me}/retry`, body), 404, "THROUGHLINE_NOT_FOUND");
  await c.say("Now?");
  await problemOf(await c.post(`${me}/retry`), 409, "THROUGHLINE_CONFLICT");
  const streamed = await c.stream(`${me}/retry`);
  await problemOf(streamed, 409, "THROUGHLINE_CONFLICT");
  const key = { "idempotency-key": "a\tb" };
  await problemOf(await c.post(`${me}/retry`, {}, key), 400, "THROUGHLINE_INVALID");
});

test("a title of one's own is kept, told, and taken back by an empty one", async () => {
  const c = await companion([["Hi"]]);
  await c.say("Hello");
  const events = eventsOf((await c.ask("/api/events")).body);
  const rename = async (title: string) =>
    answers.chat.strict().parse(await jsonOf(await c.post(`${me}/rename`, { title }), 200)).title;
  assert.equal(await rename("My <b>talk</b>"), "My <b>talk</b>");
  const told = { chat_id: "local:me", change: "renamed" };
  assert.deepEqual((await until(events, "session")).data, told);
  assert.equal((await c.get("/api/chats")).chats[0].title, "My <b>talk</b>");
  assert.equal([...(await rename("\u{1f9f5}".repeat(200)))].length, 120);
  assert.equal(await rename(""), "Hello");
  const other = await c.post("/api/chats/nobody/rename", { title: "x" });
  await problemOf(other, 404, "THROUGHLINE_NOT_FOUND");
});

// What is done to the companion over HTTP under an Idempotency-Key, by a client that tries again.
const key = (name: string) => ({ "idempotency-key": name });
const writes = [
  ["/api/emotions/event", { event: "loud_noise" }, { event: "insult" }],
  ["/api/emotions/reset", {}, undefined],
  ["/api/mood", { mood: "sad", duration: 5 }, { mood: "sad", duration: 6 }],
  ["/api/person", { name: "Ada" }, { name: "Ori" }],
  ["/api/sleep", { state: "asleep" }, { state: "awake" }],
] as const;

test("what is asked twice with the same key within an hour is done once, and answered the same", async () => {
  for (const [index, [path, body, other]] of writes.entries()) {
    const c = await awakeCompanion();
    const first = await jsonOf(await c.post(path, body, key("k")), 200);
    c.clock.pass(59 * 60_000);
    assert.deepEqual(await jsonOf(await c.post(path, body, key("k")), 200), first, path);
    if (other !== undefined) {
      await problemOf(await c.post(path, other, key("k")), 409, "THROUGHLINE_CONFLICT");
    }
    const [elsewhere, otherBody] = writes[index === 0 ? 1 : 0];
    await problemOf(await c.post(elsewhere, otherBody, key("k")), 409, "THROUGHLINE_CONFLICT");
    c.clock.pass(60_000);
    await jsonOf(await c.post(elsewhere, otherBody, key("k")), 200);
  }
});

test("what was refused was not done, and its key stays free", async () => {
  const c = await awakeCompanion();
  const hug = await c.post("/api/emotions/event", { event: "hug" }, key("k"));
  await problemOf(hug, 400, "THROUGHLINE_INVALID");
  await jsonOf(await c.post("/api/emotions/event", { event: "insult" }, key("k")), 200);
  const long = await c.post("/api/emotions/event", { event: "insult" }, key("k".repeat(256)));
  await problemOf(long, 400, "THROUGHLINE_INVALID");
});

test("of more than 1000 keys the oldest are forgotten", async () => {
  const keys = new KnownKeys(new HeldClock());
  const see = (n: number) => keys.once(`k${n}`, [n], async () => ({ n }));
  for (let n = 0; n < 1_001; n++) await see(n);
  const other = (n: number) => keys.once(`k${n}`, ["other"], async () => ({ n }));
  await assert.rejects(other(1), { code: "THROUGHLINE_CONFLICT" });
  assert.deepEqual(await other(0), { n: 0 });
});
