// Turns whose model the client calls, and what such a client keeps of its sessions, over HTTP.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as schemas from "../src/server/answer-schemas.ts";
import {
  type Companion,
  companion,
  type FixtureOptions,
  jsonOf,
  me,
  problemOf,
  words,
} from "./support/server-fixture.ts";

const turns = `${me}/turns`;
const target = { provider: "anthropic", model: "claude" };
const lamp = { id: "c1", type: "function", function: { name: "lamp", arguments: "{}" } };
const call = { id: "m1-call", role: "assistant", content: "", tool_calls: [lamp] };
const result = { id: "m1-result", role: "tool", content: "on", tool_call_id: "c1" };
const usage = { input_tokens: 40, output_tokens: 5, cost_usd: 0.001 };
const end = (id: string) => ({
  messages: [{ id: `${id}-answer`, role: "assistant", content: "It is on." }],
  usage,
  session_id: `session-of-${id}`,
});

/** A client of its turns, whose answers are as they are described. */
async function agent(script: Parameters<typeof companion>[0] = [], options: FixtureOptions = {}) {
  const c = await companion(script, options);
  const begin = async (body: object) => {
    const answer = await jsonOf(await c.post(turns, { ...target, ...body }), 200);
    return schemas.openedTurn.strict().parse(answer);
  };
  const steps = async (id: string, messages: object[]) => {
    const answer = await jsonOf(await c.post(`${turns}/${id}/steps`, { messages }), 200);
    return schemas.keptSteps.strict().parse(answer);
  };
  const ended = async (id: string, body: object = end(id)) =>
    schemas.answer.strict().parse(await jsonOf(await c.post(`${turns}/${id}/end`, body), 200));
  const open = async () =>
    schemas.openTurns.strict().parse(await c.get(`${turns}?open=true`)).turns;
  const shown = async () => words((await c.get(`${me}/messages`)).messages);
  return { ...c, begin, steps, ended, open, shown };
}

const m1 = { id: "m1", content: "Is the lamp on?" };
const ids = (messages: readonly { readonly id: string }[] = []) => messages.map(({ id }) => id);

test("a turn is begun, its steps are stored, and it ends once; each may be sent again", async () => {
  const c = await agent();
  const first = await c.begin(m1);
  assert.deepEqual(
    [first.state, first.turn_id, first.attempt, first.is_new, first.session_id, first.reason],
    ["open", "m1", 1, true, "", "no_session"],
  );
  assert.deepEqual([first.instructions, first.stopped], ["You are kind.", false]);
  assert.deepEqual(await c.open(), [{ turn_id: "m1", state: "running" }]);
  for (const _ of [1, 2]) {
    const kept = await c.steps("m1", [call, result]);
    assert.deepEqual(kept, { ids: ["m1-call", "m1-result"], stopped: false });
  }
  const again = await c.begin(m1);
  assert.deepEqual([again.state, ids(again.messages)], ["open", ["m1-call", "m1-result"]]);
  assert.deepEqual((await c.begin({ id: "m1" })).state, "open");
  const answer = await c.ended("m1");
  assert.deepEqual(
    [answer.outcome, answer.assistant?.content, answer.session.session_id],
    ["answered", "It is on.", "session-of-m1"],
  );
  await problemOf(await c.post(`${turns}/m1/end`, end("m1")), 409, "THROUGHLINE_CONFLICT");
  for (const body of [m1, { id: "m1" }]) {
    const over = await c.begin(body);
    assert.deepEqual(
      [over.state, ids(over.messages)],
      ["answered", ["m1-call", "m1-result", "m1-answer"]],
    );
  }
  assert.deepEqual(await c.open(), []);
  assert.deepEqual(await c.shown(), [
    "user: Is the lamp on?",
    "assistant: ",
    "tool: on",
    "assistant: It is on.",
  ]);
  const { session } = answer;
  const counted = [session.message_count, session.total_tokens, session.total_cost_usd];
  assert.deepEqual(counted, [1, 45, 0.001]);
  assert.equal(c.model.requests.length, 0, "no model of the server was asked");
});

test("steps may be written as the seeds write them, with fields of the agent's own", async () => {
  const c = await agent();
  await c.begin(m1);
  const step = { ...call, role: "ASSISTANT", timestamp: 1_772_616_912, confidence: 0.5 };
  await c.steps("m1", [step]);
  const [kept] = (await c.begin(m1)).messages ?? [];
  assert.deepEqual(
    [kept?.role, kept?.timestamp, kept?.["confidence"]],
    ["assistant", "2026-03-04T09:35:12.000Z", 0.5],
  );
});

test("each provider goes on with its own session and counters after another one answered", async () => {
  const c = await agent();
  const other = { provider: "openai", model: "gpt" };
  for (const [id, on] of [
    ["a1", target],
    ["b1", other],
    ["a2", target],
    ["b2", other],
  ] as const) {
    const begun = await c.begin({ ...on, id, content: id });
    const before = id.endsWith("1") ? "" : `session-of-${id.replace("2", "1")}`;
    assert.deepEqual([begun.session_id, begun.is_new], [before, before === ""]);
    const { session } = await c.ended(id);
    assert.deepEqual([session.provider, session.message_count], [on.provider, Number(id[1])]);
    assert.deepEqual(
      [session.session_id, session.total_tokens],
      [`session-of-${id}`, 45 * Number(id[1])],
    );
  }
});

test("the next message waits for an open turn; a repeated one joins the wait", async () => {
  const c = await agent();
  await c.begin(m1);
  const waiting = [1, 2].map(() => c.begin({ id: "m2", content: "And now?" }));
  await c.ended("m1");
  for (const begun of await Promise.all(waiting)) {
    assert.deepEqual([begun.state, begun.turn_id], ["open", "m2"]);
  }
  assert.equal((await c.ended("m2")).session.message_count, 2);
});

test("a message that the server's own model answers is running, then answered", async () => {
  const gate = Promise.withResolvers<void>();
  const c = await agent([[{ type: "wait", until: gate.promise }, "Yes"]]);
  const said = c.stream(`${me}/messages`, { content: "Hello" }, { "idempotency-key": "k" });
  const { body } = await said;
  const { turns: running } = c;
  const id = running.running("local:me")?.id ?? assert.fail("it runs");
  assert.deepEqual(await c.begin({ id }), { state: "running", turn_id: id });
  assert.deepEqual(await c.open(), [{ turn_id: id, state: "running" }]);
  gate.resolve();
  await new Response(body).text();
  assert.equal((await c.begin({ id })).state, "answered");
});

test("a turn of which nothing is heard for 10 minutes fails, and the next one runs", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const c = await agent();
  await c.begin(m1);
  const next = c.begin({ id: "m2", content: "Hello?" });
  t.mock.timers.tick(599_000);
  await c.steps("m1", [call]);
  t.mock.timers.tick(599_000);
  assert.equal((await c.steps("m1", [result])).ids.length, 1);
  t.mock.timers.tick(600_000);
  assert.equal((await next).state, "open");
  for (const path of ["steps", "end"]) {
    const late = await c.post(`${turns}/m1/${path}`, { messages: [call] });
    await problemOf(late, 409, "THROUGHLINE_CONFLICT");
  }
});

test("a client is told that its answer is not wanted any more, and what came is kept", async () => {
  const c = await agent();
  await c.begin(m1);
  assert.deepEqual(await jsonOf(await c.post(`${me}/stop`), 200), { stopped: true });
  assert.equal((await c.steps("m1", [call, result])).stopped, true);
  assert.equal((await c.begin(m1)).stopped, true);
  const answer = await c.ended("m1", { ...end("m1"), outcome: "interrupted" });
  assert.deepEqual(
    [answer.outcome, answer.assistant?.partial, answer.assistant?.partial_reason],
    ["interrupted", true, "stopped"],
  );
});

test("an answer that its model cut says why; a turn that failed without words can be begun again", async () => {
  const c = await agent();
  await c.begin(m1);
  const failed = await c.ended("m1", { outcome: "failed" });
  assert.deepEqual([failed.outcome, failed.assistant], ["failed", null]);
  assert.equal((await c.begin(m1)).attempt, 2);
  const partial = { partial: true, partial_reason: "length" };
  const cut = await c.ended("m1", { messages: [{ ...end("m1").messages[0], ...partial }] });
  assert.deepEqual([cut.assistant?.partial, cut.assistant?.partial_reason], [true, "length"]);
});

const codes = { 400: "INVALID", 404: "NOT_FOUND", 409: "CONFLICT" } as const;
const ours = ["exact", "hidden", "attachments", "provider_data"] as const;
const refused: readonly (readonly [string, string, object, keyof typeof codes])[] = [
  ["no provider", turns, { model: "m", content: "x" }, 400],
  ["an address", turns, { ...m1, provider: "http://x", model: "m" }, 400],
  ["nothing said", turns, { ...target, id: "m3", content: "" }, 400],
  ["an unknown field", turns, { ...target, ...m1, extra: {} }, 400],
  ["an unknown message", turns, { ...target, id: "m9" }, 404],
  ["a step of a person", `${turns}/m1/steps`, { messages: [{ role: "user", content: "x" }] }, 400],
  ...ours.map((name) => {
    const messages = [{ ...call, [name]: {} }];
    return [`a step with ${name}`, `${turns}/m1/steps`, { messages }, 400] as const;
  }),
  ["steps of no turn", `${turns}/m9/steps`, { messages: [call] }, 409],
  ["the end of no turn", `${turns}/m9/end`, {}, 409],
  ["a negative cost", `${turns}/m1/end`, { usage: { cost_usd: -1 } }, 400],
];

test("what cannot be is refused, and the turn stays open", async () => {
  const c = await agent();
  await c.begin(m1);
  const other = await c.post(turns, { ...target, ...m1, content: "Off?" });
  await problemOf(other, 409, "THROUGHLINE_ID_CONFLICT");
  for (const [what, path, body, status] of refused) {
    const code = `THROUGHLINE_${codes[status]}`;
    await problemOf(await c.post(path, body), status, code).catch((error) => {
      throw new Error(what, { cause: error });
    });
  }
  await problemOf(await c.ask(turns), 400, "THROUGHLINE_INVALID");
  await problemOf(await c.ask("/api/chats/none/turns?open=true"), 404, "THROUGHLINE_NOT_FOUND");
  assert.equal((await c.ended("m1")).outcome, "answered");
});

async function session(c: Companion, path: string, body: object = {}) {
  return jsonOf(await c.post(`${me}/session/${path}`, body), 200);
}

test("a session is resolved with its reason, and usage is counted once, in the session that it is of", async () => {
  const c = await companion();
  const resolve = async () => schemas.resolved.strict().parse(await session(c, "resolve", target));
  const count = async (body: object) =>
    schemas.usageCounted.strict().parse(await session(c, "usage", body));
  const of = { ...target, generation: 1, bucket_generation: 1 };
  const missing = await c.post(`${me}/session/usage`, of);
  await problemOf(missing, 404, "THROUGHLINE_NOT_FOUND");
  const first = await resolve();
  assert.deepEqual([first.is_new, first.session_id, first.reason], [true, "", "no_session"]);
  assert.deepEqual([first.session.generation, first.bucket_generation], [1, 1]);
  const delta = { ...of, id: "u1", tokens: 30, cost_usd: 0.5, session_id: "s-1" };
  for (const _ of [1, 2]) {
    const now = await count(delta);
    assert.deepEqual(
      [now.counted, now.message_count, now.total_tokens, now.total_cost_usd, now.session_id],
      [true, 1, 30, 0.5, "s-1"],
    );
  }
  const other = await c.post(`${me}/session/usage`, { ...delta, tokens: 31 });
  await problemOf(other, 409, "THROUGHLINE_ID_CONFLICT");
  const again = await resolve();
  assert.deepEqual([again.is_new, again.session_id, again.reason], [false, "s-1", "still_valid"]);
  await jsonOf(await c.post(`${me}/reset`, { all: true }), 200);
  assert.equal((await count({ ...of, tokens: 7 })).counted, false);
  const { session: begun } = await resolve();
  const now = await count({ ...of, generation: begun.generation, tokens: 7 });
  assert.deepEqual([now.generation, now.message_count, now.total_tokens], [2, 1, 7]);
  await jsonOf(await c.post(`${me}/reset`, { provider: target.provider }), 200);
  assert.equal((await count({ ...of, generation: 2, session_id: "s-1" })).counted, false);
  assert.deepEqual([(await resolve()).session_id, (await resolve()).bucket_generation], ["", 2]);
});

test("what was summarised is recorded, and models get the summary in place of it", async () => {
  const c = await companion([["Yes"]]);
  const said = ["one", "two", "three"].map((content, i) => ({
    id: `x${i}`,
    role: "user",
    content,
  }));
  await jsonOf(await c.post(`${me}/append`, { messages: said }), 200);
  const change = async (path: string, body: object) =>
    schemas.chat.strict().parse(await jsonOf(await c.post(`${me}/${path}`, body), 200));
  assert.equal((await change("compact", { last_consolidated: 2 })).last_consolidated, 2);
  await jsonOf(await c.post(`${me}/clear`), 200);
  assert.equal((await c.get(me)).last_consolidated, 0);
  await jsonOf(
    await c.post(`${me}/append`, { messages: [{ role: "user", content: "four" }] }),
    200,
  );
  const { messages } = await c.get(`${me}/messages`);
  await change("compact", { up_to_seq: messages[0].seq, summary: "They counted to four." });
  await jsonOf(await c.say("And five"), 200);
  const prompt = JSON.stringify(c.model.requests[0]?.messages);
  assert.match(prompt, /They counted to four/);
  assert.doesNotMatch(prompt, /"four"/);
  for (const body of [
    { last_consolidated: 99 },
    { up_to_seq: 99_999, summary: "x" },
    { up_to_seq: 1, summary: " " },
    { summary: "x" },
    { up_to_seq: 1 },
    { up_to_seq: messages[0].seq, summary: "Kept in part.", last_consolidated: 99 },
  ]) {
    await problemOf(await c.post(`${me}/compact`, body), 400, "THROUGHLINE_INVALID");
  }
  const [asked, kept] = [await c.get(`${me}/prompt`), await c.get(me)];
  assert.doesNotMatch(JSON.stringify(asked), /Kept in part/);
  assert.equal(kept.last_consolidated, 0);
  await problemOf(
    await c.post("/api/chats/none/compact", { last_consolidated: 0 }),
    404,
    "THROUGHLINE_NOT_FOUND",
  );
});
