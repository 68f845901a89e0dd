// Processes of one companion that die or sleep in a turn, by a clock that the test holds.
import assert from "node:assert/strict";
import { env } from "node:process";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Responder } from "../src/core/models/responder.ts";
import { seededRandom } from "../src/testing/random.ts";
import { heldPlace, heldTwo, mortal, pass, process, until } from "./support/cluster-world.ts";
import { type ScriptedStep, scriptedResponder } from "./support/scripted-responder.ts";
import { eventsOf } from "./support/server-fixture.ts";

const chat = "chat-1";
const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0 };
const hang: ScriptedStep = { type: "hang" };

async function transcript({ chats }: Awaited<ReturnType<typeof process>>) {
  const { messages } = await chats.messages(chat);
  return messages.map(({ role, content }) => `${role}: ${content}`);
}

/** Two processes; the first is in a turn of which a word came. */
async function cutOff() {
  const w = await heldTwo(
    { model: scriptedResponder([["Once ", hang]]) },
    { model: scriptedResponder([["Twice"], ["Again"]]) },
  );
  const turn = w.a.turns.submit(chat, { id: "m1", content: "Tell me" });
  for await (const { type } of turn.progress()) if (type === "text") break;
  return { ...w, turn };
}

test("a turn whose process died is open, is no longer running when its lease lapsed, and is taken up by answer", async () => {
  const w = await cutOff();
  w.kill();
  assert.equal(await w.b.turns.isRunning(chat), true);
  await pass(w.clock, 10_500, w.timers.b);
  assert.equal(await w.b.turns.isRunning(chat), false);
  const turn = await w.b.turns.answer(chat);
  assert.equal((await turn.done).assistant?.content, "Twice");
  assert.deepEqual(await transcript(w.b), ["user: Tell me", "assistant: Twice"]);
  assert.equal((await w.b.chats.existing(chat)).head.open_turn, undefined);
});

test("a chat in which nobody runs a turn is elsewhere for nobody, however many ask at once", async () => {
  const w = await cutOff();
  const c = await process(w.open().storage, { clock: w.clock });
  w.kill();
  await pass(w.clock, 10_500, w.timers.b);
  const asked = Array.from({ length: 8 }, (_, n) => [w.b, c][n % 2]!.turns.isRunning(chat));
  assert.deepEqual(new Set(await Promise.all(asked)), new Set([false]));
  // Nor while this process has it, for something that is no turn.
  await w.b.chats.alone(chat, async () => {
    assert.equal(await w.b.turns.isRunning(chat), false);
    assert.equal(await c.turns.isRunning(chat), true);
  });
  assert.equal(await c.turns.isRunning(chat), false);
});

test("a process that knows that it lost its lease stops its model and stores nothing more", async () => {
  const w = await cutOff();
  // The other one takes the chat while this one sleeps; then it wakes.
  await pass(w.clock, 10_500, w.timers.b);
  const other = w.b.turns.submit(chat, { id: "m1", content: "Tell me" });
  assert.equal((await other.done).assistant?.content, "Twice");
  await w.timers.a.pass(0);
  await assert.rejects(w.turn.done, { code: "THROUGHLINE_FENCED" });
  assert.deepEqual(await transcript(w.b), ["user: Tell me", "assistant: Twice"]);
  // It can go on here as everywhere: what was answered meanwhile is told.
  const again = w.a.turns.submit(chat, { id: "m1", content: "Tell me" });
  await until(async () => {
    await w.timers.a.pass(0);
    return w.a.turns.size === 0;
  });
  assert.equal((await again.done).assistant?.content, "Twice");
});

test("C6: a process that wakes with its model's answer, before any timer of it, is refused and stores nothing", async () => {
  const gate = Promise.withResolvers<void>();
  const late = scriptedResponder([["Too late", { type: "wait", until: gate.promise }]]);
  const { a, b, clock, timers } = await heldTwo(
    { model: late },
    { model: scriptedResponder([["In time"]]) },
  );
  const turn = a.turns.submit(chat, { id: "m1", content: "Tell me" });
  await until(() => late.requests.length === 1);
  await pass(clock, 10_500, timers.b);
  const other = b.turns.submit(chat, { id: "m1", content: "Tell me" });
  assert.equal((await other.done).assistant?.content, "In time");
  gate.resolve(); // no timer of the first process has run since
  await assert.rejects(turn.done, { code: "THROUGHLINE_FENCED" });
  const { records } = (await b.chats.logs.tail(chat, 1_000))!;
  assert.equal(records.filter(({ id }) => id === "m1:answer").length, 1);
  assert.deepEqual(await transcript(b), ["user: Tell me", "assistant: In time"]);
});

test("a lease that is lost before anybody has it: the turn is cut off, open, and stores nothing more", async () => {
  const w = await cutOff();
  w.clock.pass(9_500); // it slept, nobody came, and by its own clock it may not trust the lease
  await w.timers.a.pass(0);
  await assert.rejects(w.turn.done, { code: "THROUGHLINE_FENCED" });
  assert.deepEqual(await transcript(w.b), ["user: Tell me"]);
  assert.equal((await w.b.chats.existing(chat)).head.open_turn?.id, "m1");
});

test("a turn goes on for as long as its process keeps the lease, and nobody else begins there", async () => {
  const w = await cutOff();
  const next = w.b.turns.submit(chat, { id: "m2", content: "And then?" });
  await pass(w.clock, 60_000, w.timers.a, w.timers.b);
  assert.equal(w.turn.signal.aborted, false);
  assert.equal(w.b.turns.size, 1);
  w.a.turns.stop(chat);
  assert.equal((await w.turn.done).assistant?.content, "Once ");
  assert.equal((await next.done).assistant?.content, "Twice");
});

test("a process that ends waits for nobody's turn: what waits there stays stored, and is answered elsewhere", async () => {
  const w = await cutOff();
  const next = w.b.turns.submit(chat, { id: "m2", content: "And then?" });
  await until(async () => (await w.a.chats.existing(chat)).head.pending !== undefined);
  await w.b.turns.close(0);
  await assert.rejects(next.done, { code: "THROUGHLINE_CLOSED" });
  w.a.turns.stop(chat);
  await w.turn.done;
  await setImmediate();
  assert.deepEqual((await w.a.chats.existing(chat)).head.pending, ["m2"]);
});

test("what waits for a chat that is forgotten meanwhile is not begun", async () => {
  const w = await cutOff();
  const next = w.b.turns.submit(chat, { id: "m2", content: "And then?" });
  await until(async () => (await w.a.chats.existing(chat)).head.pending !== undefined);
  // By the library, whose caller ends no turns: it joins the lease of the turn that runs there.
  await w.a.chats.forget(chat);
  w.turn.stop();
  for (const turn of [w.turn, next]) {
    await assert.rejects(turn.done, { code: "THROUGHLINE_NOT_FOUND" });
  }
  assert.deepEqual((await w.a.chats.list()).chats, [], "no answer brings the chat back");
});

test("a chat whose process died can be dismissed once its lease lapsed, and not before", async () => {
  const w = await cutOff();
  w.kill();
  assert.equal(await w.b.turns.dismiss(chat), 0);
  await pass(w.clock, 10_500, w.timers.b);
  assert.equal(await w.b.turns.dismiss(chat), 1);
});

test("who may have missed something: its watchers are to read again, and it remembers no chat", async () => {
  const { clock, open } = heldPlace();
  const storage = mortal(open().storage);
  const a = await process(storage, { clock, model: scriptedResponder([["Hi"]]) });
  const { body } = await a.ask("/api/events");
  const heard = Array.fromAsync(eventsOf(body));
  await a.turns.submit(chat, { content: "Hello" }).done;
  assert.equal(a.workingMemory.stats().length, 1);
  await setImmediate();
  storage.gap();
  const names = (await heard).map(({ name }) => name).filter((name) => name !== ":");
  assert.deepEqual(names, ["turn", "message", "message", "turn"]);
  assert.deepEqual(a.workingMemory.stats(), []);
  assert.equal((await a.chats.messages(chat)).messages.length, 2);
});

for (const seed of env["THROUGHLINE_FULL"] === "1" ? [1, 2, 3, 4] : [1, 2]) {
  test(`4 processes of which some are killed in turns: every message is there once, answered once, seed ${seed}`, async () => {
    const place = heldPlace();
    const { clock } = place;
    const random = seededRandom(seed);
    const speaking = new Map<string, object>();
    const dead = new Set<object>();
    const overlaps: string[] = [];
    const begin = async () => {
      const { storage, timers } = place.open();
      const own = mortal(storage);
      const model: Responder = {
        ...{ provider: "watched", model: "watched-1", window: undefined },
        async *respond(request) {
          const words = String(request.messages.at(-1)?.content);
          const chatId = words.split(" ")[0] ?? "";
          const before = speaking.get(chatId);
          if (before !== undefined && !dead.has(before)) overlaps.push(words);
          speaking.set(chatId, own);
          for (let steps = random(6); steps > 0; steps--) await setImmediate();
          yield { type: "text", text: `heard ${words}` };
          if (speaking.get(chatId) === own) speaking.delete(chatId);
          yield { type: "end", finish: "stop", usage };
        },
      };
      return { ...(await process(own, { clock, model })), own, timers };
    };
    const live = [await begin(), await begin(), await begin(), await begin()];
    const messages = Array.from({ length: 24 }, (_, i) => {
      const chatId = `chat-${random(3)}`;
      return { chatId, input: { id: `m${i}`, content: `${chatId} says ${i}` } };
    });
    for (const { chatId, input } of messages) {
      live[random(live.length)]!.turns.submit(chatId, input);
      for (let steps = random(8); steps > 0; steps--) await setImmediate();
      if (random(6) > 0) continue;
      const [victim] = live.splice(random(live.length), 1);
      dead.add(victim!.own);
      victim!.own.kill();
      live.push(await begin());
    }
    // Whoever got no answer asks again, elsewhere: the same id is the same message.
    const again = messages.map(({ chatId, input }) => live[0]!.turns.submit(chatId, input));
    const done = Promise.all(again.map((turn) => turn.done));
    const timers = live.map((each) => each.timers);
    let isDone = false;
    void done.then(() => {
      isDone = true;
    });
    while (!isDone) await pass(clock, 500, ...timers);
    await done;
    assert.deepEqual(overlaps, []);
    for (const chatId of new Set(messages.map((each) => each.chatId))) {
      const own = messages.flatMap((each) => (each.chatId === chatId ? [each.input.id] : []));
      const stored = (await live[0]!.chats.messages(chatId, { limit: 200 })).messages;
      const turnsOf = (role: string) =>
        stored.flatMap((message) => (message.role === role ? [message.turn] : [])).sort();
      assert.deepEqual(turnsOf("user"), own.toSorted());
      assert.deepEqual(turnsOf("assistant"), own.toSorted());
    }
  });
}

const called: ScriptedStep = {
  type: "tool-call",
  call: { id: "c1", type: "function", function: { name: "look", arguments: "{}" } },
};
const found: ScriptedStep = {
  ...{ type: "tool-result", toolCallId: "c1", toolName: "look" },
  ...{ content: "rain", isError: false },
};

/** Two processes; the first is in a turn that has called a tool, and does the rest later. */
async function cutOffInTool(...rest: readonly ScriptedStep[]) {
  const model = scriptedResponder([["It rains"]]);
  const w = await heldTwo({ model: scriptedResponder([[called, ...rest]]) }, { model });
  const turn = w.a.turns.submit(chat, { id: "m1", content: "Weather?" });
  const steps = rest[0] === found ? 2 : 1;
  let stored = 0;
  for await (const { type } of turn.progress()) {
    if (type === "message") stored++;
    if (stored === steps) break;
  }
  return { ...w, turn, model };
}

test("a turn of a process that died after a tool returned continues elsewhere after the result", async () => {
  const w = await cutOffInTool(found, hang);
  w.kill();
  await pass(w.clock, 10_500, w.timers.b);
  await (await w.b.turns.answer(chat)).done;
  const said = ["user: Weather?", "assistant: ", "tool: rain"];
  const asked = w.model.requests[0]?.messages.map(({ role, content }) => `${role}: ${content}`);
  assert.deepEqual(asked, said);
  assert.deepEqual(await transcript(w.b), [...said, "assistant: It rains"]);
});

test("what a tool returns to a process that has lost its lease is not stored", async () => {
  const returned = Promise.withResolvers<void>();
  const w = await cutOffInTool({ type: "wait", until: returned.promise }, found, "Too late");
  await pass(w.clock, 10_500, w.timers.b);
  await (await w.b.turns.answer(chat)).done;
  const now = ["user: Weather?", "assistant: ", "assistant: It rains"];
  assert.deepEqual(await transcript(w.b), now);
  returned.resolve();
  await assert.rejects(w.turn.done, { code: "THROUGHLINE_FENCED" });
  assert.deepEqual(await transcript(w.b), now);
});
