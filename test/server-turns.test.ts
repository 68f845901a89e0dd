import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ResponderError } from "../src/core/models/responder.ts";
import { openMemoryStorage } from "../src/core/storage/memory/memory-storage.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { changed } from "./support/changed.ts";
import type { ScriptedStep } from "./support/scripted-responder.ts";
import {
  type Companion,
  companion,
  eventsOf,
  jsonOf,
  me,
  problemOf,
  type Told,
  until,
  words,
} from "./support/server-fixture.ts";

const unavailable: ScriptedStep = {
  type: "fail",
  error: new ResponderError("the model is busy", {
    kind: "unavailable",
    usage: { inputTokens: 5, outputTokens: 0, costUsd: 0.5 },
  }),
};

function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { step: { type: "wait", until: promise } as const, open: () => resolve() };
}

/** Begins a turn and waits until its message is stored. */
async function begin(c: Companion, content: string) {
  const response = await c.stream(`${me}/messages`, { content });
  const events = eventsOf(response.body);
  await until(events, "accepted");
  return events;
}

const names = (events: readonly Told[]) =>
  events.map(({ name }) => name).filter((name) => name !== ":");
const transcript = async (c: Companion) => words((await c.get(`${me}/messages`)).messages);

test("a turn answers with both messages, the session and the usage, and is stored; a stream tells the same", async () => {
  const c = await companion([
    ["Hi ", "there"],
    ["Hi ", "there"],
  ]);
  const answer = await jsonOf(await c.say("Hello"), 200);
  assert.equal(answer.turn_id, answer.user.id);
  assert.deepEqual(words([answer.user, answer.assistant]), ["user: Hello", "assistant: Hi there"]);
  assert.equal(answer.outcome, "answered");
  assert.equal(answer.session.message_count, 1);
  assert.deepEqual(answer.usage, { input_tokens: 10, output_tokens: 2, cost_usd: 0 });
  assert.deepEqual(answer.notices, []);
  assert.deepEqual(await transcript(c), ["user: Hello", "assistant: Hi there"]);
  const response = await c.stream(`${me}/messages`, { content: "And?" });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const events = await Array.fromAsync(eventsOf(response.body));
  assert.deepEqual(names(events), ["accepted", "text", "text", "result"]);
  const [, accepted, , , result] = events;
  assert.equal(accepted?.data.user.content, "And?");
  assert.equal(accepted?.data.turn_id, result?.data.turn_id);
  const told = words([result?.data.user, result?.data.assistant]);
  assert.deepEqual(told, (await transcript(c)).slice(2));
});

test("an answer is kept with what it took: tokens, cost, its time and the time to its first word", async () => {
  const [first, rest] = [gate(), gate()];
  const c = await companion([[first.step, "Hi ", rest.step, "there"]]);
  const response = await c.stream(`${me}/messages`, { content: "Hello" });
  const events = eventsOf(response.body);
  await until(events, "accepted");
  c.clock.pass(400);
  first.open();
  await until(events, "text");
  c.clock.pass(600);
  rest.open();
  const { data } = await until(events, "result");
  const stats = { input_tokens: 10, output_tokens: 2, cost_usd: 0 };
  assert.deepEqual(data.assistant.stats, { ...stats, latency_ms: 1_000, first_word_ms: 400 });
  const { messages } = await c.get(`${me}/messages`);
  assert.deepEqual(messages[1].stats, data.assistant.stats);
  assert.equal(messages[0].stats, undefined);
});

test("without a price the cost is unknown, not 0, in the answer, its message and the session", async () => {
  const usage = { inputTokens: 7, outputTokens: 3, costUsd: undefined };
  const end = { type: "end", finish: "stop", usage } as const;
  const c = await companion([["Hi", end], ["Priced"]]);
  const answer = await jsonOf(await c.say("Hello"), 200);
  assert.deepEqual(answer.usage, { input_tokens: 7, output_tokens: 3, cost_usd: null });
  assert.equal(answer.assistant.stats.cost_usd, null);
  const { session } = await jsonOf(await c.say("And now?"), 200);
  const bucket = session.provider_sessions.scripted;
  assert.deepEqual(
    [bucket.total_cost_usd, bucket.total_tokens, bucket.unpriced_tokens],
    [0, 21, 10],
  );
});

test("a stream tells a call and its result as messages, between the texts, as the transcript shows them", async () => {
  const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } } as const;
  const c = await companion([
    [
      { type: "reasoning", text: "The window " },
      { type: "reasoning", text: "is near." },
      "Let me look. ",
      { type: "tool-call", call },
      { type: "tool-result", toolCallId: "c1", toolName: "look", content: "rain", isError: false },
      { type: "reasoning", text: "Wet." },
      "It rains.",
    ],
  ]);
  const response = await c.stream(`${me}/messages`, { content: "Weather?" });
  const events = (await Array.fromAsync(eventsOf(response.body))).filter(
    ({ name }) => name !== ":",
  );
  const told = events.map(({ name, data }) => [name, data.text ?? data.message?.content ?? ""]);
  assert.deepEqual(told, [
    ["accepted", ""],
    ["reasoning", "The window "],
    ["reasoning", "is near."],
    ["text", "Let me look. "],
    ["message", "Let me look. "],
    ["message", "rain"],
    ["reasoning", "Wet."],
    ["text", "It rains."],
    ["result", ""],
  ]);
  const { messages } = await c.get(`${me}/messages`);
  assert.deepEqual(
    [events[0], ...events.filter(({ name }) => name === "message"), events.at(-1)].map(
      (event) => event?.data.message ?? event?.data.assistant ?? event?.data.user,
    ),
    messages,
  );
  assert.deepEqual(
    messages.map((message: { reasoning_content?: string }) => message.reasoning_content),
    [undefined, "The window is near.", undefined, "Wet."],
  );
});

test("what only the model that made an answer can use is stored, and shown nowhere over HTTP", async () => {
  const data = { type: "provider-data", data: { signature: "canary" } } as const;
  const c = await companion([
    ["Hi", data],
    ["Ho", data],
  ]);
  const watched = eventsOf((await c.ask("/api/events")).body);
  assert.equal((await watched.next()).value?.data, "connected");
  assert.equal(JSON.stringify(await jsonOf(await c.say("Hello"), 200)).includes("canary"), false);
  const response = await c.stream(`${me}/messages`, { content: "Hello again" });
  const told = await Array.fromAsync(eventsOf(response.body));
  const messages = [1, 2, 3, 4].map(() => until(watched, "message"));
  const shown = [
    told,
    await Promise.all(messages),
    await c.get(`${me}/messages`),
    await c.get("/api/search?query=hi"),
    await c.get("/api/chats?query=hi"),
  ];
  for (const each of shown) assert.equal(JSON.stringify(each).includes("canary"), false);
  const stored = await Array.fromAsync(c.throughline.chats.records("local:me"));
  assert.equal(JSON.stringify(stored).split("canary").length, 3);
});

test("a model that fails without a word is 502 with the turn, and the message can be answered", async () => {
  const c = await companion([[unavailable], ["Here now"], [unavailable]]);
  const problem = await problemOf(await c.say("Hello"), 502, "THROUGHLINE_MODEL_FAILED");
  assert.equal(problem.detail, "the model is busy");
  assert.deepEqual(await transcript(c), ["user: Hello"]);
  const chat = await c.get(me);
  assert.deepEqual([chat.unanswered_ids, chat.running], [[problem.turn_id], false]);
  const answer = await jsonOf(await c.post(`${me}/answer`), 200);
  assert.equal(answer.turn_id, problem.turn_id);
  assert.deepEqual(await transcript(c), ["user: Hello", "assistant: Here now"]);
  assert.equal((await c.get(me)).total_cost_usd, 0.5, "what the failed attempt cost is counted");
  await problemOf(await c.post(`${me}/answer`), 404, "THROUGHLINE_NOT_FOUND");
  const { body } = await c.stream(`${me}/messages`, { content: "Hello" });
  const events = await Array.fromAsync(eventsOf(body));
  assert.deepEqual(names(events), ["accepted", "error"]);
  const { data } = events.at(-1)!;
  assert.deepEqual([data.status, data.code], [502, "THROUGHLINE_MODEL_FAILED"]);
  assert.equal(data.turn_id, events[1]?.data.turn_id);
});

test("an answer that breaks off is 200, marked partial, with the reason", async () => {
  const c = await companion([["Once upon", unavailable]]);
  const answer = await jsonOf(await c.say("Tell me"), 200);
  assert.deepEqual([answer.outcome, answer.reason], ["failed", "the model is busy"]);
  assert.deepEqual([answer.assistant.partial, answer.assistant.content], [true, "Once upon"]);
});

test("a stopped answer keeps what came, if anything did; stopping again says that nothing ran", async () => {
  const c = await companion([["Once ", { type: "hang" }], [{ type: "hang" }]]);
  const events = await begin(c, "Tell me");
  await until(events, "text");
  for (const [turn_id, stopped] of [
    ["another", false],
    [c.turns.running("local:me")?.id, true],
  ]) {
    assert.deepEqual(await jsonOf(await c.post(`${me}/stop`, { turn_id }), 200), { stopped });
  }
  const { data } = await until(events, "result");
  assert.deepEqual([data.outcome, data.assistant.content], ["interrupted", "Once "]);
  assert.deepEqual(await jsonOf(await c.post(`${me}/stop`), 200), { stopped: false });
  const silent = await begin(c, "Tell me");
  await c.post(`${me}/stop`);
  const { data: none } = await until(silent, "result");
  assert.deepEqual([none.outcome, none.assistant], ["interrupted", null]);
});

test("who reads a turn slowly misses nothing of it", async () => {
  const pieces = Array.from({ length: 30 }, (_, n) => `${n} `.padEnd(30, "x"));
  const c = await companion([pieces], { limits: { watcherBytes: 100 } });
  const response = await c.stream(`${me}/messages`, { content: "Hello" });
  await c.turns.running("local:me")?.done;
  const events = await Array.fromAsync(eventsOf(response.body));
  const texts = events.flatMap(({ name, data }) => (name === "text" ? [data.text] : []));
  assert.deepEqual(texts, pieces);
  assert.equal(events.at(-1)?.name, "result");
});

test("a turn that runs is told from its begin to who comes late; none is 204", async () => {
  const held = gate();
  const c = await companion([["One ", held.step, "two"]]);
  assert.equal((await c.ask(`${me}/turn`)).status, 204);
  const first = await begin(c, "Hello");
  await until(first, "text");
  assert.equal((await c.get(me)).running, true);
  const late = eventsOf((await c.ask(`${me}/turn`)).body);
  await until(late, "text");
  held.open();
  const rest = await Array.fromAsync(late);
  assert.deepEqual(names(rest), ["text", "result"]);
  assert.equal(rest.at(-1)?.data.assistant.content, "One two");
  assert.equal((await c.ask(`${me}/turn`)).status, 204);
});

test("the next message of a chat waits for its turn, and other chats do not wait", async () => {
  const held = gate();
  const c = await companion([[held.step, "first"], ["other"], ["second"]]);
  const events = await begin(c, "one");
  const waiting = eventsOf((await c.stream(`${me}/messages`, { content: "two" })).body);
  assert.equal((await waiting.next()).value?.name, ":", "its stream begins at once");
  const other = await jsonOf(await c.post("/api/chats/b/messages", { content: "hey" }), 200);
  assert.equal(other.assistant.content, "other");
  held.open();
  await until(events, "result");
  assert.equal((await until(waiting, "result")).data.assistant.content, "second");
  const said = await transcript(c);
  assert.deepEqual(said, ["user: one", "assistant: first", "user: two", "assistant: second"]);
});

test("a message that waits for its turn can be erased, also twice: it is not answered", async () => {
  const held = gate();
  const c = await companion([[held.step, "One"], ["Two"]]);
  const first = await begin(c, "1");
  const second = c.post(`${me}/messages`, { content: "a secret" });
  const waiting = async () => {
    const { head } = await c.throughline.chats.existing("local:me");
    return head.pending?.[0];
  };
  let id = await waiting();
  for (; id === undefined; id = await waiting());
  for (let time = 0; time < 2; time++) {
    const removed = await c.ask(`${me}/messages/${id}`, { method: "DELETE" });
    assert.equal((await jsonOf(removed, 200)).erased, true);
  }
  held.open();
  await Array.fromAsync(first);
  await problemOf(await second, 404, "THROUGHLINE_NOT_FOUND");
  assert.doesNotMatch(JSON.stringify(await c.get(`${me}/messages`)), /a secret/);
  assert.equal(c.model.requests.length, 1);
});

test("past its queue a chat is busy: 503 with Retry-After, and nothing is stored", async () => {
  const held = gate();
  const c = await companion([[held.step, "first"], ["second"]], { maxQueued: 1 });
  await begin(c, "one");
  const second = c.say("two");
  const response = await c.say("three");
  assert.equal(response.headers.get("retry-after"), "5");
  await problemOf(response, 503, "THROUGHLINE_BUSY");
  held.open();
  await second;
  assert.equal((await transcript(c)).length, 4);
});

test("dismissing leaves messages unanswered for good, and can be repeated", async () => {
  const c = await companion([[unavailable]]);
  await c.say("Hello");
  assert.deepEqual(await jsonOf(await c.post(`${me}/dismiss`), 200), { dismissed: 1 });
  assert.deepEqual(await jsonOf(await c.post(`${me}/dismiss`), 200), { dismissed: 0 });
  assert.deepEqual((await c.get(me)).unanswered_ids, []);
});

test("forgetting a chat stops its turn, and no answer comes back", async () => {
  const c = await companion([
    ["Never ", { type: "hang" }],
    ["mind", { type: "hang" }],
  ]);
  const events = await begin(c, "Hello");
  await until(events, "text");
  const waiting = c.say("And then");
  const receipt = await jsonOf(await c.ask(me, { method: "DELETE" }), 200);
  assert.equal(receipt.removed[0].place, "transcript");
  await waiting;
  await problemOf(await c.ask(me), 404, "THROUGHLINE_NOT_FOUND");
  assert.deepEqual((await c.get("/api/chats")).chats, []);
});

test("a stream that is refused at once has the refusal's own status", async () => {
  const c = await companion();
  const response = await c.stream(`${me}/messages`, { content: "  " });
  await problemOf(response, 400, "THROUGHLINE_INVALID");
  const first = await companion([["Hi"]]);
  await first.say("Hello", { "idempotency-key": "k" });
  const headers = { "idempotency-key": "k" };
  const other = await first.stream(`${me}/messages`, { content: "Other" }, headers);
  await problemOf(other, 409, "THROUGHLINE_ID_CONFLICT");
});

test("the same Idempotency-Key is the same message and gets the same answer, while its turn runs and in the next run", async () => {
  const held = gate();
  const c = await companion([[held.step, "Hi"], ["again"]]);
  const headers = { "idempotency-key": "key 1" };
  const both = [c.say("Hello", headers), c.say("Hello", headers)];
  held.open();
  const [first, joined] = await Promise.all(both.map(async (each) => jsonOf(await each, 200)));
  assert.deepEqual(joined, first);
  assert.match(first.turn_id, /^i_[0-9a-f]{32}$/);
  const next = await companion([], { throughline: c.throughline });
  for (const { say } of [c, next]) {
    const second = await jsonOf(await say("Hello", headers), 200);
    assert.deepEqual([second.turn_id, second.user], [first.turn_id, first.user]);
    assert.deepEqual(second.assistant, first.assistant);
  }
  assert.equal((await transcript(c)).length, 2);
  assert.equal(next.model.requests.length, 0);
  await problemOf(await c.say("Other", headers), 409, "THROUGHLINE_ID_CONFLICT");
  assert.equal((await jsonOf(await c.say("Hello"), 200)).assistant.content, "again");
  assert.equal(c.model.requests.length, 2);
});

test("a message that is repeated by its key after its chat was forgotten stays forgotten, also after a restart and once the chat was begun again", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "throughline-forgotten-"));
  const target = { provider: "scripted", model: "scripted" };
  let throughline = await openThroughline({ home, ...target });
  t.after(async () => {
    await throughline.close();
    rmSync(home, { recursive: true, force: true });
  });
  const headers = { "idempotency-key": "k" };
  const other = { "idempotency-key": "other" };
  let c = await companion([["Hi"]], { throughline });
  await jsonOf(await c.say("Hello", headers), 200);
  await jsonOf(await c.ask(me, { method: "DELETE" }), 200);
  const isRefused = async () => {
    const { detail } = await problemOf(await c.say("Hello", headers), 409, "THROUGHLINE_CONFLICT");
    assert.match(detail, /forgotten/);
  };
  await isRefused();
  await throughline.close();
  throughline = await openThroughline({ home, ...target });
  c = await companion([["Hi"], ["Yes"]], { throughline });
  await isRefused();
  await problemOf(await c.ask(me), 404, "THROUGHLINE_NOT_FOUND");
  await jsonOf(await c.say("Are you there?", other), 200);
  await problemOf(await c.say("Hello", headers), 409, "THROUGHLINE_CONFLICT");
  await jsonOf(await c.say("Are you there?", other), 200);
  assert.equal((await c.throughline.chats.row("local:me")).message_count, 2);
});

test("an Idempotency-Key has 1 to 255 printable ASCII characters", async () => {
  const c = await companion([["Hi"], ["Hi"]]);
  for (const key of ["k", "k".repeat(255)]) {
    await jsonOf(await c.say("Hello", { "idempotency-key": key }), 200);
  }
  for (const key of ["k".repeat(256), "", "a\tb", "\u00e9"]) {
    const response = await c.say("Hello", { "idempotency-key": key });
    await problemOf(response, 400, "THROUGHLINE_INVALID");
  }
});

test("events tell every message, turn and session change, in order", async () => {
  const c = await companion([["Hi"], [unavailable]]);
  const response = await c.ask("/api/events", { headers: { "last-event-id": "17" } });
  const events = eventsOf(response.body);
  assert.equal((await events.next()).value?.data, "connected");
  const next = async () => (await events.next()).value;
  const { user, assistant } = await jsonOf(await c.say("Hello"), 200);
  const ids = { chat_id: "local:me", turn_id: user.id };
  const stored = (message: unknown) => {
    return { name: "message", data: { change: "stored", chat_id: "local:me", message } };
  };
  assert.deepEqual(await next(), { name: "turn", data: { ...ids, state: "running" } });
  assert.deepEqual(await next(), stored(user));
  assert.deepEqual(await next(), stored(assistant));
  assert.deepEqual(await next(), { name: "turn", data: { ...ids, state: "answered" } });
  await c.say("And?");
  for (const name of ["turn", "message"]) await until(events, name);
  assert.equal((await until(events, "turn")).data.state, "failed");
  await c.ask(`${me}/messages/${user.id}`, { method: "DELETE" });
  assert.equal((await next())?.data.change, "erased");
  for (const [path, body, change] of [
    [`${me}/reset`, {}, "provider_reset"],
    [`${me}/reset`, { all: true }, "ended"],
    [`${me}/reset`, { provider: "scripted" }, "provider_reset"],
    [`${me}/fork`, { message_id: assistant.id, chat_id: "copy" }, "forked"],
    [`${me}/clear`, {}, "cleared"],
  ] as const) {
    await c.post(path, body);
    assert.equal((await next())?.data.change, change);
    if (change === "ended") assert.equal((await next())?.data.change, "reset");
  }
  await c.ask(me, { method: "DELETE" });
  assert.equal((await next())?.data.change, "forgotten");
});

test("a repair is told to who watches, counted, and makes the health degraded", async () => {
  const report = {
    ...{ at: "2026-03-01T12:00:00.000Z", key: "chats/a", kind: "torn_tail" as const },
    ...{ bytes: 3, after_seq: 7, reason: "a torn tail was cut" },
  };
  const listeners = new Set<(told: typeof report) => void>();
  const storage = changed(openMemoryStorage(), {
    repairs: () => [report],
    onRepair: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  const throughline = await openThroughline({ storage });
  const others = listeners.size;
  const c = await companion([], { throughline, version: "1.2.3" });
  const events = eventsOf((await c.ask("/api/events")).body);
  await events.next();
  for (const tell of listeners) tell(report);
  assert.deepEqual((await events.next()).value, { name: "repair", data: report });
  const health = await c.get("/healthz");
  assert.deepEqual([health.status, health.version, health.repairs], ["degraded", "1.2.3", 1]);
  const metrics = await (await c.ask("/metrics")).text();
  assert.match(metrics, /throughline_repairs_total\{kind="torn_tail"\} 2/);
  await c.server.close();
  assert.equal(listeners.size, others, "a server that closed listens no more");
});

test("one more watcher than the limit is busy, until one leaves; a HEAD opens none, and a quiet stream says that it is there", async () => {
  const limits = { watchers: 2, keepAliveMs: 1 };
  const c = await companion([[{ type: "hang" }]], { limits });
  await begin(c, "Hello");
  for (const path of ["/api/events", `${me}/turn`]) {
    const { status, headers } = await c.ask(path, { method: "HEAD" });
    assert.deepEqual([status, headers.get("content-type")], [200, "text/event-stream"]);
  }
  assert.match(await (await c.ask("/metrics")).text(), /throughline_watchers 0/);
  const first = await c.ask("/api/events");
  const events = eventsOf((await c.ask("/api/events")).body);
  assert.deepEqual((await events.next()).value, { name: ":", data: "connected" });
  assert.deepEqual((await events.next()).value, { name: ":", data: "keep-alive" });
  await problemOf(await c.ask("/api/events"), 503, "THROUGHLINE_BUSY");
  await first.body?.cancel();
  assert.equal((await c.ask("/api/events")).status, 200);
});

test("a model's error that is not one of ours is told without its words", async () => {
  const c = await companion([[{ type: "fail", error: new Error("canary /home/nova/key") }]]);
  const text = await (await c.say("Hello")).text();
  assert.doesNotMatch(text, /canary|nova/);
});
