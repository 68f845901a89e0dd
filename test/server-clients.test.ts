// Programs that are not the server, such as a robot: their runs, and what their model is to hear.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import * as schemas from "../src/companion/routes/answer-schemas.ts";
import { companionRoutes } from "../src/companion/routes.ts";
import { asRun } from "./support/awake.ts";
import { Machine } from "./support/kept-companion.ts";
import { companion, eventsOf, jsonOf, problemOf, until } from "./support/server-fixture.ts";

const robot = { client: "robot" };
const ofRobot = "?client=robot";
const facts = "Ori likes tea";

/** A server on a machine, which may be killed and started again. */
async function serve(t: TestContext, machine: Machine, model: "scripted" | "none" = "none") {
  const { throughline, companion: run } = await machine.run({ memory: async () => facts });
  const c = await companion(model === "none" ? [] : [["Hi"], ["Mmh"]], {
    throughline,
    clock: machine.clock,
    features: [companionRoutes(asRun(run))],
  });
  const sent = async (path: string, body: object = robot) => jsonOf(await c.post(path, body), 200);
  const beat = async (status = 200) => {
    const init = { method: "PUT", body: JSON.stringify(robot) };
    return jsonOf(await c.ask("/api/session/heartbeat", init), status);
  };
  const begin = async (body: object = robot) =>
    schemas.clientRun.strict().parse(await sent("/api/session", body));
  t.after(() => throughline.close());
  return { ...c, sent, beat, begin, run, throughline };
}

type Served = Awaited<ReturnType<typeof serve>>;

/** What is done before a run begins, and what its beginning says then. */
const restarts: readonly {
  readonly name: string;
  readonly before: (c: Served, machine: Machine) => Promise<unknown>;
  readonly says: readonly [kind: string, elapsed: number, clean: boolean, runs: number];
}[] = [
  { name: "never named", before: async () => 0, says: ["fresh_start", 0, true, 1] },
  {
    name: "no end, 20 s after the last heartbeat",
    before: async (c, { clock }) => {
      await c.begin();
      clock.pass(3_600_000);
      await c.beat();
      clock.pass(20_000);
    },
    says: ["crash_recovery", 20, false, 2],
  },
  {
    name: "an end, 20 s ago",
    before: async (c, { clock }) => {
      await c.begin();
      await c.sent("/api/session/end");
      clock.pass(20_000);
    },
    says: ["short_break", 20, true, 2],
  },
  {
    name: "an end, an hour ago",
    before: async (c, { clock }) => {
      await c.begin();
      await c.sent("/api/session/end");
      clock.pass(3_600_000);
    },
    says: ["long_absence", 3_600, true, 2],
  },
];

for (const { name, before, says } of restarts) {
  test(`a client's run begins as it must: ${name}`, async (t) => {
    const machine = new Machine();
    const c = await serve(t, machine);
    await before(c, machine);
    const run = await c.begin();
    const told = (of: typeof run) => [of.restart_type, of.elapsed, of.clean, of.total_sessions];
    assert.deepEqual([...told(run), run.certainty], [...says, "certain"]);
    const { models, ...seen } = await c.get(`/api/session${ofRobot}`);
    assert.equal(models.standard.provider, "scripted");
    assert.deepEqual({ ...seen, text: run.text }, run);
    assert.deepEqual([seen.client, seen.ended], ["robot", false]);
    // The server's own run is told as before.
    const own = schemas.companionRun.strict().parse(await c.get("/api/session"));
    assert.deepEqual([own.restart_type, own.session_id], ["fresh_start", c.run.runId]);
  });
}

test("a client's run survives kills of the server, in which no heartbeat counts as missed", async (t) => {
  const machine = new Machine();
  const first = await serve(t, machine);
  const run = await first.begin();
  machine.clock.pass(10_000);
  await first.beat();
  // Neither is closed: they were killed.
  const second = await serve(t, machine);
  machine.clock.pass(300_000);
  assert.equal((await second.get(`/api/session${ofRobot}`)).session_id, run.session_id);
  const beaten = await second.beat();
  assert.deepEqual([beaten.session_id, beaten.ended, beaten.uptime], [run.session_id, false, 310]);
  machine.clock.pass(5_000);
  const third = await serve(t, machine);
  const next = await third.begin();
  assert.deepEqual(
    [next.restart_type, next.elapsed, next.previous_session_id],
    ["crash_recovery", 5, run.session_id],
  );
});

test("session.json tells of the only client's run, and the server's goes on beside it", async (t) => {
  const machine = new Machine();
  const first = await serve(t, machine);
  await first.begin();
  machine.clock.pass(7_000);
  await first.sent("/api/session/end");
  const run = await first.get(`/api/session${ofRobot}`);
  const seconds = machine.clock.now() / 1_000;
  const { written } = machine;
  assert.deepEqual(
    [written.session_id, written.session_start, written.heartbeat, written.uptime_seconds],
    [run.session_id, seconds - 7, seconds, 7],
  );
  assert.deepEqual([written.shutdown_clean, written.total_sessions], [true, 1]);
  assert.equal(written.throughline.server.session_id, first.run.runId);
  machine.clock.pass(20_000);
  const second = await serve(t, machine);
  const own = await second.get("/api/session");
  assert.deepEqual(
    [own.restart_type, own.elapsed, own.clean, own.total_sessions, own.previous_session_id],
    ["crash_recovery", 20, false, 2, first.run.runId],
  );
  await second.begin({ client: "another" });
  assert.equal(machine.written.session_id, second.run.runId);
  assert.equal(machine.written.throughline.server, undefined);
});

test("what has no open run is refused", async (t) => {
  const c = await serve(t, new Machine());
  const text = { ...robot, text: "Hear this" };
  await problemOf(await c.ask(`/api/session${ofRobot}`), 404, "THROUGHLINE_NOT_FOUND");
  await problemOf(await c.ask(`/api/restart${ofRobot}`), 404, "THROUGHLINE_NOT_FOUND");
  for (const path of ["/api/session/end", "/api/restart/delivered"]) {
    await problemOf(await c.post(path, robot), 404, "THROUGHLINE_NOT_FOUND");
  }
  await problemOf(await c.post("/api/inject", text), 404, "THROUGHLINE_NOT_FOUND");
  await c.begin();
  await c.sent("/api/session/end");
  assert.equal((await c.sent("/api/session/end")).ended, true, "ending twice is ending once");
  assert.equal((await c.beat(409)).code, "THROUGHLINE_CONFLICT");
  await problemOf(await c.post("/api/inject", text), 409, "THROUGHLINE_CONFLICT");
  for (const client of ["", "x".repeat(65), 5]) {
    await problemOf(await c.post("/api/session", { client }), 400, "THROUGHLINE_INVALID");
  }
  assert.throws(() => c.run.clients.begin("x".repeat(65)), /1 to 64 characters/);
  // Beginning again by the same key is beginning once: an answer that was lost is no crash.
  const key = { "idempotency-key": "k1" };
  const begun = await jsonOf(await c.post("/api/session", robot, key), 200);
  assert.deepEqual(await jsonOf(await c.post("/api/session", robot, key), 200), begun);
});

/** A home in which somebody spoke, and a server that came up 40 s after the one before was killed. */
/** @param more chats with the ids `0`, `1` … before the newest two. */
async function afterKill(t: TestContext, more = 0) {
  const machine = new Machine();
  const first = await serve(t, machine);
  await first.begin();
  const others = Array.from({ length: more }, (_, i) => [`${i}`, "snow"] as const);
  for (const [id, word] of [...others, ["local:me", "tea"], ["local:other", "rain"]] as const) {
    machine.clock.pass(10);
    const messages = [{ role: "user", content: `I like ${word}` }];
    const client = id === "local:me" ? "robot" : undefined;
    const path = `/api/chats/${encodeURIComponent(id)}/append`;
    await jsonOf(await first.post(path, { messages, client }), 200);
  }
  machine.clock.pass(40_000);
  return { machine, c: await serve(t, machine, "scripted") };
}

test("one text has the facts and what was said, for the time away as it is, until it was heard", async (t) => {
  const { machine, c } = await afterKill(t);
  const { text } = await c.begin();
  assert.ok(text);
  assert.match(text, /Things you remember:\n {2}"Ori likes tea"/);
  assert.match(text, /USER: "I like tea"/);
  assert.doesNotMatch(text, /rain/, "of the chats to which it appended alone");
  assert.match(text, /Greet naturally, briefly acknowledge you're back\.$/);
  machine.clock.pass(7_200_000);
  const later = schemas.restart.strict().parse(await c.get(`/api/restart${ofRobot}`));
  assert.deepEqual([later.kind, later.status], ["long_absence", "pending"]);
  assert.match(later.text, /about 2 hours/);
  // A crash before it was heard changes nothing of what is to be told.
  await c.begin();
  assert.match((await c.get(`/api/restart${ofRobot}`)).text, /about 2 hours/);
  const { chats } = await c.sent("/api/restart/delivered");
  assert.deepEqual(chats, ["local:me"]);
  const heard = await c.get(`/api/restart${ofRobot}`);
  assert.deepEqual([heard.status, heard.text], ["delivered", ""]);
  const notices = heard.deliveries.map((each: { chat_id: string; status: string }) => {
    return [each.chat_id, each.status];
  });
  assert.deepEqual(notices.sort(), [
    ["local:me", "delivered"],
    ["local:other", "pending"],
  ]);
  await c.say("And now?");
  assert.doesNotMatch(
    c.model.requests[0]?.context ?? "",
    /Time away|like tea/,
    "it is not told once more",
  );
});

test("without a client the text is of the server's run, and once heard no chat is told", async (t) => {
  const { machine, c } = await afterKill(t, 12);
  const { status, kind, text } = await c.get("/api/restart");
  assert.deepEqual([status, kind], ["pending", "short_break"]);
  assert.match(text, /^<<<context facts[\s\S]*I like tea[\s\S]*I like rain/);
  const { chats } = await c.sent("/api/restart/delivered", {});
  assert.deepEqual([chats.includes("0"), chats.length], [true, 14]);
  assert.equal((await c.get("/api/restart")).text, "");
  // Also after a kill, of the restart before.
  machine.clock.pass(5_000);
  const next = await serve(t, machine);
  assert.match((await next.get("/api/restart")).text, /Continue seamlessly/);
});

test("a long pat and words to say are inject events, together within 3 s, until they were heard", async (t) => {
  const machine = new Machine();
  const c = await serve(t, machine);
  await c.throughline.chats.append("local:me", [{ role: "assistant", content: "Knock, knock" }]);
  const nobody = await c.sent("/api/touch", { level: 2 });
  assert.equal(nobody.hint, "told", "without an open run in a turn of its own");
  await c.turns.running("local:me")?.done;
  await c.begin();
  const listen = async () => eventsOf((await c.ask("/api/events")).body);
  const events = await listen();
  assert.equal((await c.sent("/api/touch", { level: 2 })).hint, "sent");
  const hint = "[Someone scratched your head. This probably means they liked what you just did.]";
  const first = await until(events, "inject");
  assert.deepEqual([first.data.client, first.data.text], ["robot", hint]);
  schemas.events.inject.strict().parse(first.data);
  assert.equal((await c.sent("/api/touch", { level: 2 })).hint, "pending", "one is enough");
  for (const text of ["Tea is ready.", "It rains."])
    await c.sent("/api/inject", { ...robot, text });
  await machine.timers.pass(3_000);
  const second = await until(events, "inject");
  assert.equal(second.data.text, "Tea is ready.\n\nIt rains.");
  // Nothing was reported as heard: who comes back gets all of it, with its age.
  machine.clock.pass(60_000);
  const again = await until(await listen(), "inject");
  assert.match(again.data.text, /^\[1 minute ago\] \[Someone scratched[\s\S]*\[1 minute ago\] Tea/);
  // Who listened before gets only what is new.
  await c.sent("/api/inject", { ...robot, text: "It is late." });
  await machine.timers.pass(3_000);
  assert.equal((await until(events, "inject")).data.text, "It is late.");
  await c.sent("/api/restart/delivered", { ...robot, id: first.data.id });
  assert.equal((await c.get(`/api/session${ofRobot}`)).restart_type, "fresh_start");
  assert.deepEqual((await c.beat()).injects.length, 3);
  const next = await serve(t, machine);
  assert.deepEqual((await next.beat()).injects.length, 3, "they survive a kill");
  assert.equal((await next.begin()).injects.length, 3, "and a crash of the client");
  assert.deepEqual((await next.sent("/api/session/end")).injects, [], "and end with its run");
});

test("at most 20 texts wait for a client; the oldest goes, with a line in the log", async (t) => {
  const machine = new Machine();
  const c = await serve(t, machine);
  await c.begin();
  const [oldest] = (await c.sent("/api/inject", { ...robot, text: "0" })).injects;
  for (let i = 1; i <= 20; i++) await c.sent("/api/inject", { ...robot, text: `${i}` });
  const { injects } = await c.beat();
  assert.equal(injects.length, 20);
  assert.ok(!injects.includes(oldest));
  const lines = machine.logged.filter((line) => line.includes("the oldest was dropped"));
  assert.deepEqual([lines.length, lines[0]?.includes(oldest)], [1, true]);
});

test("forgetting a chat reaches the runs of clients", async (t) => {
  const { c } = await afterKill(t);
  await c.begin();
  await c.throughline.chats.forget("local:me");
  const { text } = await c.get(`/api/restart${ofRobot}`);
  assert.doesNotMatch(text, /I like tea/);
  assert.deepEqual((await c.sent("/api/restart/delivered")).chats, []);
});
