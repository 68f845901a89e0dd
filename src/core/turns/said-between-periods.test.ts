// What the companion says on its own after the last turn of a period, when the next turn ends that period.
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

const said = (content: string) => ({ role: "assistant", content }) as const;
const reminder = said("Reminder: dentist at 9");
const opened = "user: <Reminder: dentist at 9>\n\nMove it to 10";

const daily: FreshnessOptions = { dailyReset: true, timeZone: "UTC" };
const idle: FreshnessOptions = { idleTimeoutMinutes: 60 };

/** At ten in the evening. */
function world({
  script = [["1"], ["2"], ["3"]],
  ...options
}: ScriptedCompanionOptions & { readonly script?: Script } = {}) {
  const at = "2026-03-01T22:00:00.000Z";
  return scriptedCompanion(script, { at, freshness: daily, ...options });
}

for (const [rule, freshness] of Object.entries({ "daily reset": daily, "idle rule": idle })) {
  for (const window of [undefined, 4_096]) {
    const of = window === undefined ? "" : " of a model with a small window";
    test(`a reminder before the turn that the ${rule} ends the period at is in the request${of}`, async () => {
      const w = await world({ freshness, ...(window === undefined ? {} : { window }) });
      await w.say("My PIN is 4711");
      w.clock.set("2026-03-02T09:00:00.000Z");
      await w.chats.append(chat, [reminder]);
      w.clock.set("2026-03-02T09:05:00.000Z");
      const { notices } = await w.say("Move it to 10");
      assert.deepEqual(w.asked(1), [opened]);
      assert.match(String(notices), /^A new session began/);
      assert.doesNotMatch(JSON.stringify(w.model.requests[1]), /4711/);
      assert.equal((await w.sessions.active(chat))?.generation, 2);
    });
  }
}

test("all that no person answered is sent, whenever it was said, and nothing older", async () => {
  const w = await world();
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

test("it is sent too where the provider's part ends at its limit of messages", async () => {
  const w = await world({ freshness: { maxSessionMessages: 1 } });
  await w.say("Hello");
  await w.chats.append(chat, [reminder]);
  await w.say("Move it to 10");
  assert.deepEqual(w.asked(1), [opened]);
});

test("a period that ends twice before the person comes back keeps what was said in between", async () => {
  const w = await world();
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
    const w = await world();
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
    const w = await world();
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
    const w = await world({ script: [["1"], [down], ["2"]] });
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
  const w = await world({ script: [[{ type: "wait", until: gate.promise }, "1"], ["2"]] });
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

type World = Awaited<ReturnType<typeof world>>;
