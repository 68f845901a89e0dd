import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import {
  chat,
  down,
  type Script,
  type ScriptedCompanionOptions,
  scriptedCompanion,
} from "../../../test/support/scripted-companion.ts";
import type { FreshnessOptions } from "../chat/freshness.ts";
import { offlineResponder } from "../models/offline-responder.ts";

const reminder = { role: "assistant", content: "Reminder: dentist at 9" } as const;

const world = (window?: number, script: Script = [["1"], ["2"], ["3"]]) =>
  scriptedCompanion(script, { window });

const opened = "user: <Reminder: dentist at 9>\n\nMove it to 10";

for (const window of [undefined, 4_096]) {
  const of = window === undefined ? "" : " of a model with a small window";
  test(`what the companion says first is in the first request${of}`, async () => {
    const w = await world(window);
    await w.chats.append(chat, [reminder]);
    await w.say("Move it to 10");
    assert.deepEqual(w.asked(0), [opened]);
  });
}

test("it stays the start of every request, byte for byte, also of an answer made again", async () => {
  const w = await world();
  await w.chats.append(chat, [reminder]);
  await w.say("Move it to 10");
  await (await w.turns.retry(chat)).done;
  await w.say("Thanks");
  assert.deepEqual(w.asked(1), [opened]);
  assert.deepEqual(w.asked(2), [opened, "assistant: 2", "user: Thanks"]);
});

test("the built-in responder repeats the words of the person, and no record that goes with them", async () => {
  const w = await scriptedCompanion(offlineResponder());
  await w.chats.append(chat, [reminder]);
  const first = await w.say("Move it to 10");
  assert.match(first.assistant?.content ?? "", /^You said: "Move it to 10"\. It is kept\./);
  await w.chats.compact(chat, first.assistant?.seq ?? 0, "They moved it.");
  const second = await w.say("What did I say?");
  assert.match(second.assistant?.content ?? "", /^This is the first message of yours/);
});

const small = 4_096;

test("a model with a small window is sent what the companion said after the answer before", async () => {
  const w = await world(small);
  await w.say("Hello");
  await w.chats.append(chat, [{ role: "assistant", content: "Drink some water" }, reminder]);
  await w.say("Move it to 10");
  await w.say("Thanks");
  assert.deepEqual(w.asked(1), [
    "user: <Drink some water\n\nReminder: dentist at 9>\n\nMove it to 10",
  ]);
  assert.deepEqual(w.asked(2), ["user: Thanks"]);
  const summary =
    /^What was said last: Turn 1: You said 'Hello' .*Turn 2: You said 'Move it to 10' .*'2'\.$/m;
  assert.match(w.model.requests[2]?.context ?? "", summary, "the working memory, before its words");
});

test("a model with a small window is sent what the companion said while it was answering", async () => {
  const gate = Promise.withResolvers<void>();
  const w = await world(small, [[{ type: "wait", until: gate.promise }, "1"], ["2"]]);
  const first = w.turns.submit(chat, { content: "Hello" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  await w.chats.append(chat, [reminder]);
  gate.resolve();
  await first.done;
  await w.say("Move it to 10");
  assert.deepEqual(w.asked(1), [opened]);
});

test("a model with a small window is sent a summary, and not what it tells, an erasure removed or a reset ended", async () => {
  const w = await world(small, [["1"], ["2"], ["3"], ["4"]]);
  await w.say("Hello");
  const [told] = await w.chats.append(chat, [{ role: "assistant", content: "Old news" }]);
  assert.ok(told);
  await w.chats.compact(chat, told.seq, "They said hello.");
  const [slip] = await w.chats.append(chat, [{ role: "assistant", content: "Your PIN is 4711" }]);
  await w.chats.append(chat, [reminder]);
  assert.ok(slip);
  await w.chats.erase(chat, slip.id);
  await w.say("Move it to 10");
  const [sent = "", ...others] = w.asked(1);
  assert.deepEqual(others, []);
  assert.match(sent, /They said hello\./);
  assert.match(sent, /\nReminder: dentist at 9\n.*\n\nMove it to 10$/);
  assert.doesNotMatch(sent, /Old news|4711/);
  await w.chats.append(chat, [reminder]);
  await w.sessions.reset(chat);
  await w.say("Hello again");
  assert.deepEqual(w.asked(2), ["user: Hello again"]);
});

// What it says on its own after the last turn of a period, when the next turn ends that period.

const said = (content: string) => ({ role: "assistant", content }) as const;

const daily: FreshnessOptions = { dailyReset: true, timeZone: "UTC" };
const idle: FreshnessOptions = { idleTimeoutMinutes: 60 };

/** At ten in the evening. */
function evening({
  script = [["1"], ["2"], ["3"]],
  ...options
}: ScriptedCompanionOptions & { readonly script?: Script } = {}) {
  const at = "2026-03-01T22:00:00.000Z";
  return scriptedCompanion(script, { at, freshness: daily, ...options });
}

const limit: FreshnessOptions = { maxSessionMessages: 1 };
const rules = { "daily reset": daily, "idle rule": idle, "limit of messages": limit };
for (const [rule, freshness] of Object.entries(rules)) {
  for (const window of freshness === limit ? [undefined] : [undefined, 4_096]) {
    const of = window === undefined ? "" : " of a model with a small window";
    test(`a reminder before the turn that the ${rule} ends the period at is in the request${of}`, async () => {
      const w = await evening({ freshness, window });
      await w.say("My PIN is 4711");
      w.clock.set("2026-03-02T09:00:00.000Z");
      await w.chats.append(chat, [reminder]);
      w.clock.set("2026-03-02T09:05:00.000Z");
      const { notices } = await w.say("Move it to 10");
      assert.deepEqual(w.asked(1), [opened]);
      assert.doesNotMatch(JSON.stringify(w.model.requests[1]), /4711/);
      if (freshness === limit) return; // of the provider's part
      assert.match(String(notices), /^A new session began/);
      assert.equal((await w.sessions.active(chat))?.generation, 2);
    });
  }
}

test("all that no person answered is sent, whenever it was said, and nothing older", async () => {
  const w = await evening();
  await w.chats.append(chat, [said("Old news")]);
  await w.say("Hello");
  const [first] = await w.chats.append(chat, [said("Good night")]);
  assert.ok(first);
  await w.chats.compact(chat, first.seq, "They said hello.");
  w.clock.set("2026-03-02T09:00:00.000Z");
  await w.chats.append(chat, [reminder]);
  await w.say("Move it to 10");
  await w.say("Thanks");
  const opening = "user: <Good night\n\nReminder: dentist at 9>\n\nMove it to 10";
  assert.deepEqual(w.asked(1), [opening]);
  assert.deepEqual(w.asked(2), [opening, "assistant: 2", "user: Thanks"]);
  const { head } = await w.chats.existing(chat);
  assert.equal(head.session?.start_seq, first.seq - 1);
});

test("a period that ends twice before the person comes back keeps what was said in between", async () => {
  const w = await evening();
  await w.say("Hello");
  await w.chats.append(chat, [said("Good night")]);
  w.clock.set("2026-03-02T09:00:00.000Z");
  assert.equal((await w.sessions.resolve(chat)).reason, "daily_reset");
  await w.chats.append(chat, [reminder]);
  w.clock.set("2026-03-03T09:00:00.000Z");
  await w.say("Move it to 10");
  assert.deepEqual(w.asked(1), ["user: <Good night\n\nReminder: dentist at 9>\n\nMove it to 10"]);
  assert.equal((await w.sessions.active(chat))?.generation, 3);
});

for (const [who, reset] of [
  ["reset the session", (w: World) => w.sessions.reset(chat)],
  ["reset its provider", (w: World) => w.sessions.resetProvider(chat, "scripted")],
  ["cleared the chat", (w: World) => w.chats.clear(chat)],
] as const) {
  test(`what was said before a person ${who} stays behind when that period ends`, async () => {
    const w = await evening();
    await w.say("Hello");
    await w.chats.append(chat, [said("Old news")]);
    await reset(w);
    await w.chats.append(chat, [reminder]);
    w.clock.set("2026-03-02T09:05:00.000Z");
    await w.say("Move it to 10");
    assert.deepEqual(w.asked(1), [opened]);
  });
}

for (const [what, fields] of [
  ["a message that names no turn", {}],
  ["a command", { hidden: true }],
] as const) {
  test(`the answer to ${what} stays with it`, async () => {
    const w = await evening();
    await w.sessions.resolve(chat);
    await w.chats.append(chat, [
      said("Old news"),
      { role: "user", content: "/help", ...fields },
      { ...said("I can remind you."), ...fields },
    ]);
    w.clock.set("2026-03-02T09:00:00.000Z");
    await w.chats.append(chat, [reminder]);
    await w.say("Move it to 10");
    assert.deepEqual(w.asked(0), [opened]);
  });
}

for (const count of [1, 60]) {
  test(`a second attempt is sent ${count} of them too, and its person told of the new period`, async () => {
    const w = await evening({ script: [["1"], [down], ["2"]] });
    await w.say("Hello");
    for (let n = 1; n < count; n++) await w.chats.append(chat, [said("Drink some water")]);
    await w.chats.append(chat, [reminder]);
    w.clock.set("2026-03-02T09:05:00.000Z");
    await w.say("Move it to 10");
    const { notices } = await (await w.turns.answer(chat)).done;
    assert.deepEqual(w.asked(2), w.asked(1));
    assert.match(String(w.asked(2)), /Reminder: dentist at 9>\n\nMove it to 10$/);
    assert.match(String(notices), /^A new session began/);
  });
}

test("a message that waited goes on in its period, with what was said since", async () => {
  const gate = Promise.withResolvers<void>();
  const w = await evening({ script: [[{ type: "wait", until: gate.promise }, "1"], ["2"]] });
  const first = w.turns.submit(chat, { content: "Hello" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  const second = w.turns.submit(chat, { content: "Are you there?" });
  while ((await w.chats.existing(chat)).head.pending === undefined) await setImmediate();
  w.clock.set("2026-03-02T09:00:00.000Z");
  await w.chats.append(chat, [reminder]);
  gate.resolve();
  await Promise.all([first.done, second.done]);
  const answer = "assistant: Reminder: dentist at 9\n\n1";
  assert.deepEqual(w.asked(1), ["user: Hello", answer, "user: Are you there?"]);
  assert.equal((await w.sessions.active(chat))?.generation, 1);
});

type World = Awaited<ReturnType<typeof evening>>;
