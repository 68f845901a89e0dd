// Messages that an application stores and takes back over HTTP. No model is asked.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as schemas from "../src/server/answer-schemas.ts";
import { events as serverEvents } from "../src/server/event-schemas.ts";
import {
  assertDescribed,
  type Companion,
  companion,
  eventsOf,
  jsonOf,
  me,
  problemOf,
  until,
  words,
} from "./support/server-fixture.ts";

const append = `${me}/append`;
const takeBack = `${me}/take-back`;
const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
const said = [
  { id: "q", role: "user", content: "Where is it?", timestamp: "2026-03-01T12:00:00+01:00" },
  { id: "call", role: "assistant", content: "", tool_calls: [call] },
  { id: "result", role: "tool", content: "none", tool_call_id: "c1", name: "look", is_error: true },
  { id: "a", role: "assistant", content: "I do not know." },
];

const again = { messages: [{ role: "assistant", content: "Hm." }] };

async function shown(c: Companion): Promise<string[]> {
  return words((await c.get(`${me}/messages`)).messages);
}

test("a conversation with tools is stored as it was sent, once, and no model is asked", async () => {
  const c = await companion([["Here"]]);
  for (const _ of [1, 2]) {
    const answer = await jsonOf(await c.post(append, { messages: said }), 200);
    assert.deepEqual(schemas.messageIds.strict().parse(answer).ids, ["q", "call", "result", "a"]);
  }
  const { messages } = await c.get(`${me}/messages`);
  assert.deepEqual(
    messages.map(({ seq: _, timestamp: __, ...message }: Record<string, unknown>) => message),
    said.map(({ timestamp: _, ...message }) => message),
  );
  assert.equal(messages[0].timestamp, "2026-03-01T11:00:00.000Z");
  assert.equal(c.model.requests.length, 0);
  assert.equal((await c.get(me)).unanswered_ids.length, 0);
  const [one, two] = [await c.post(append, again), await c.post(append, again)];
  assert.notDeepEqual(
    await jsonOf(one, 200),
    await jsonOf(two, 200),
    "without ids they are others",
  );
  await jsonOf(await c.say("And now?"), 200);
  assert.deepEqual(
    c.model.requests[0]?.messages.map(({ role }) => role),
    ["user", "assistant", "tool", "assistant", "user"],
  );
});

test("an append that cannot be used is refused, and nothing of it is stored", async () => {
  const c = await companion();
  const known = { id: "known", role: "user", content: "before" };
  await jsonOf(await c.post(append, { messages: [known] }), 200);
  const message = { role: "user", content: "Hello" };
  const names = "hidden turn exact attachments provider_data provider synthetic extra".split(" ");
  const fields = names.map((name) => ({ ...message, [name]: true }));
  for (const wrong of [
    ...fields,
    { ...message, role: "boss" },
    { role: "user" },
    { ...message, timestamp: "2026-03-01T12:00:00" },
    { ...message, timestamp: 1_740_000_500_000 },
    { ...message, tool_calls: [{ ...call, function: { arguments: "{}" } }] },
    { ...message, id: "removal:q" },
  ]) {
    const sent = { messages: [message, wrong] };
    await problemOf(await c.post(append, sent), 400, "THROUGHLINE_INVALID");
  }
  for (const body of [
    { messages: [] },
    { messages: message },
    { messages: [message], model: "x" },
  ]) {
    await problemOf(await c.post(append, body), 400, "THROUGHLINE_INVALID");
  }
  const other = { messages: [message, { ...message, id: "known" }] };
  await problemOf(await c.post(append, other), 409, "THROUGHLINE_ID_CONFLICT");
  assert.deepEqual(await shown(c), ["user: before"]);
});

test("what is appended while a turn runs stands before its reply, and the turn continues", async () => {
  const gate = Promise.withResolvers<void>();
  const c = await companion([[{ type: "wait", until: gate.promise }, "Hi"]]);
  const { body } = await c.stream(`${me}/messages`, { content: "Hello" });
  const events = eventsOf(body);
  await until(events, "accepted");
  await jsonOf(await c.post(append, { messages: [{ role: "assistant", content: "Ping" }] }), 200);
  gate.resolve();
  await Array.fromAsync(events);
  assert.deepEqual(await shown(c), ["user: Hello", "assistant: Ping", "assistant: Hi"]);
});

test("what is taken back is shown no more, also when the request or the append is repeated", async () => {
  const c = await companion();
  await jsonOf(await c.post(append, { messages: said }), 200);
  const ids = ["call", "result", "a"];
  for (const _ of [1, 2]) {
    const answer = await jsonOf(await c.post(takeBack, { ids }), 200);
    assert.deepEqual(schemas.messageIds.strict().parse(answer).ids, ids);
  }
  const { chats } = await c.get("/api/chats");
  assert.equal(chats[0].message_count, 1);
  await jsonOf(await c.post(append, { messages: said }), 200);
  assert.deepEqual(await shown(c), ["user: Where is it?"], "an append brings nothing back");
  assert.equal(c.model.requests.length, 0);
});

test("all are taken back or none: an id that is no message of the chat is 404", async () => {
  const c = await companion();
  await problemOf(await c.post(takeBack, { ids: ["q"] }), 404, "THROUGHLINE_NOT_FOUND");
  await jsonOf(await c.post(append, { messages: said }), 200);
  await problemOf(await c.post(takeBack, { ids: ["q", "x"] }), 404, "THROUGHLINE_NOT_FOUND");
  for (const body of [{}, { ids: [] }, { ids: "q" }, { ids: [1] }, { ids: ["q"], erase: true }]) {
    await problemOf(await c.post(takeBack, body), 400, "THROUGHLINE_INVALID");
  }
  assert.equal((await shown(c)).length, 4);
});

test("listeners are told what was stored and what was taken back, and never what is hidden", async () => {
  const c = await companion();
  const watched = eventsOf((await c.ask("/api/events")).body);
  const messages = said.slice(0, 1);
  await c.post(append, { messages });
  await c.post(takeBack, { ids: ["q"] });
  await c.post(append, { messages });
  await c.server.close();
  const told = await Array.fromAsync(watched);
  assertDescribed(told, serverEvents, ["message"]);
  assert.deepEqual(
    told.flatMap(({ name, data }) => (name === "message" ? [data.change] : [])),
    ["stored", "taken_back"],
  );
});
