// A turn or a retry that comes again under its id: late, at once, or once what it led to is gone.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chat,
  down,
  type Script,
  type ScriptedCompanionOptions,
  scriptedCompanion,
} from "../../../test/support/scripted-companion.ts";
import { silentSpan } from "../telemetry.ts";
import type { Turn } from "./turn.ts";

const minute = 60_000;

async function companion(script: Script, options: ScriptedCompanionOptions = {}) {
  const c = await scriptedCompanion(script, { ...options, turns: { companionName: "Nova" } });
  const heard: Turn[] = [];
  c.turns.onTurn((turn) => heard.push(turn));
  const retry = async (id: string) => (await c.turns.retry(chat, { id })).done;
  return { ...c, heard, retry };
}

const conflict = { code: "THROUGHLINE_CONFLICT" };

test("a retry that comes late answers as it did, and leaves what was said since alone", async () => {
  const c = await companion([["one"], ["one again"], ["two"]]);
  await c.say("first");
  const { turnId } = await c.retry("r1");
  await c.say("second");
  const { turnId: again, assistant } = await c.retry("r1");
  assert.deepEqual([again, assistant?.content], [turnId, "one again"]);
  assert.deepEqual(await c.shown(), [
    ...["user: first", "assistant: one again"],
    ...["user: second", "assistant: two"],
  ]);
});

test("a retry that comes late while another answer is made is answered after it", async () => {
  const gate = Promise.withResolvers<void>();
  const slow: Script[number] = [{ type: "wait", until: gate.promise }, "two"];
  const c = await companion([["one"], ["one again"], slow]);
  await c.say("first");
  await c.retry("r1");
  const second = c.say("second");
  await assert.rejects(c.turns.retry(chat), conflict, "a new one is refused");
  const late = c.turns.retry(chat, { id: "r1" });
  gate.resolve();
  await second;
  assert.equal((await (await late).done).assistant?.content, "one again");
});

test("a retry that comes late finds no queue too full for it", async () => {
  const gate = Promise.withResolvers<void>();
  const slow: Script[number] = [{ type: "wait", until: gate.promise }, "two"];
  const script = [["one"], ["one again"], slow, ["three"]];
  const c = await scriptedCompanion(script, { turns: { maxQueued: 1 } });
  await c.say("first");
  await (await c.turns.retry(chat, { id: "r1" })).done;
  const others = [c.say("second"), c.say("third")];
  assert.throws(() => c.turns.submit(chat, { content: "fourth" }), { code: "THROUGHLINE_BUSY" });
  const late = c.turns.retry(chat, { id: "r1" }).finally(() => gate.resolve());
  assert.equal((await (await late).done).assistant?.content, "one again");
  await Promise.all(others);
});

test("a retry without a word that comes again once more was said is refused", async () => {
  const c = await companion([["one"], [down], ["two"]]);
  await c.say("first");
  await c.retry("r1");
  await c.say("second");
  await assert.rejects(c.retry("r1"), conflict);
  assert.deepEqual(await c.shown(), [
    ...["user: first", "assistant: one"],
    ...["user: second", "assistant: two"],
  ]);
});

type Companion = Awaited<ReturnType<typeof companion>>;
const gone: Record<string, (c: Companion, id: string) => Promise<unknown>> = {
  erased: ({ chats }, id) => chats.erase(chat, id),
  "taken back": ({ chats }, id) => chats.takeBack(chat, [id]),
  cleared: ({ chats }) => chats.clear(chat),
};
for (const [how, remove] of Object.entries(gone)) {
  for (const whose of ["user", "assistant"] as const) {
    test(`a turn and a retry whose ${whose} message was ${how} tell nothing again`, async () => {
      const c = await companion([["one"], ["one again"]]);
      await c.say("first", "t1");
      const answer = await c.retry("r1");
      await remove(c, whose === "user" ? "t1" : String(answer.assistant?.id));
      if (whose === "assistant" && how !== "cleared") await remove(c, "t1:answer");
      const before = await c.shown();
      await assert.rejects(c.say("first", "t1"), conflict);
      await assert.rejects(c.retry("r1"), conflict);
      assert.equal(c.model.requests.length, 2, "no model is asked");
      assert.deepEqual(await c.shown(), before);
    });
  }
}

test("who hears of turns hears of what happens, not of what is told again", async () => {
  const c = await companion([["one"], ["one again"]]);
  await c.say("first", "t1");
  await c.say("first", "t1");
  await c.retry("r1");
  await c.retry("r1");
  const ids = c.heard.map(({ retryId }) => retryId);
  assert.deepEqual(ids, [undefined, "r1"]);
});

test("what a message without an answer ended, and how long its person was away, is told with the answer", async () => {
  const c = await companion([["one"], [down], [down], ["two"], ["three"]], {
    freshness: { idleTimeoutMinutes: 30 },
  });
  await c.say("first");
  c.clock.pass(40 * minute);
  assert.deepEqual((await c.say("second", "t2")).assistant, undefined);
  assert.deepEqual((await c.say("second", "t2")).assistant, undefined);
  const { notices } = await (await c.turns.answer(chat)).done;
  assert.match(notices.join(), /^A new session began \(idle/);
  const context = c.model.requests.map((request) => request.context ?? "");
  assert.match(context[3] ?? "", /40 minutes/);
  assert.match(context[3] ?? "", /A new session began/);
  assert.deepEqual((await c.say("third")).notices, []);
  assert.doesNotMatch(c.model.requests[4]?.context ?? "", /40 minutes|new session/);
});

test("an answer that is regenerated after a removal stands last", async () => {
  const c = await companion([["one"], ["two"], ["one again"]]);
  await c.say("first");
  await c.say("second", "t2");
  await c.chats.takeBack(chat, ["t2"]);
  await c.retry("r1");
  assert.deepEqual(c.asked(), ["user: first", "assistant: two", "user: first"]);
});

test("a message that fits into no record once it is dismissed or traced is refused before it waits", async () => {
  const gate = Promise.withResolvers<void>();
  const traced = { ...silentSpan, traceId: "f".repeat(32) };
  const telemetry = { begin: () => traced };
  const script = [[{ type: "wait", until: gate.promise } as const, "one"]];
  const c = await companion(script, { telemetry });
  const first = c.say("first");
  // A message names its id twice, as its own and as its turn's; what waits names it once.
  const id = (letter: string) => letter.repeat(100);
  const text = (room: number) => "x".repeat(1024 * 1024 - room);
  assert.throws(() => c.say(text(310), id("a")), { code: "THROUGHLINE_TOO_LARGE" });
  const longest = c.say(text(339), id("b"));
  await c.waits(id("b"));
  c.turns.stop(chat);
  gate.resolve();
  await first;
  await longest;
  assert.deepEqual((await c.chats.state(chat)).head?.pending, undefined);
});

test("a command to the companion by its name is remembered as a command", async () => {
  const c = await companion([["one"]]);
  await c.say("Nova, stop");
  assert.equal(c.workingMemory.of(chat).all()[0]?.intent, "COMMAND");
});

const first = { id: "t1", content: "What is the time?" };
const second = { id: "t2", content: "And the weather?" };
const both = "user: What is the time?\n\nAnd the weather?";

for (const [model, window, before] of [
  ["a model", undefined, [both, "assistant: It rains"]],
  ["a model with a window of 4,096 tokens", 4_096, []],
] as const) {
  test(`a message that is sent again after another was answered is the last that ${model} reads`, async () => {
    const c = await scriptedCompanion([[down], ["It rains"], ["It is noon"]], { window });
    assert.equal((await c.turns.submit(chat, first).done).outcome, "failed");
    await c.turns.submit(chat, second).done;
    const { assistant } = await c.turns.submit(chat, first).done;
    assert.equal(assistant?.content, "It is noon");
    assert.deepEqual(c.asked(), [...before, "user: What is the time?"]);
  });
}

test("a message that is sent again while a later one has no answer either is the last that a model reads", async () => {
  const c = await scriptedCompanion([[down], [down], ["It is noon"], ["It rains"]]);
  await c.turns.submit(chat, first).done;
  await c.turns.submit(chat, second).done;
  await c.turns.submit(chat, first).done;
  assert.deepEqual(c.asked(), [`${both}\n\nWhat is the time?`]);
  await c.turns.submit(chat, second).done;
  assert.deepEqual(c.asked(), [
    "user: What is the time?",
    "assistant: It is noon",
    "user: And the weather?",
  ]);
});

test("the newest message, sent again, is read once", async () => {
  const c = await scriptedCompanion([["It rains"], [down], ["It is noon"]]);
  await c.turns.submit(chat, second).done;
  await c.turns.submit(chat, first).done;
  await c.turns.submit(chat, first).done;
  assert.deepEqual(c.asked(), [
    "user: And the weather?",
    "assistant: It rains",
    "user: What is the time?",
  ]);
});
