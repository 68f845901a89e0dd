import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, type Script, scriptedCompanion } from "../../../test/support/scripted-companion.ts";

const reminder = { role: "assistant", content: "Reminder: dentist at 9" } as const;

const threeAnswers = [["1"], ["2"], ["3"]];

const world = (window?: number, script: Script = threeAnswers) =>
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
