// What is done in a chat while a turn runs there, or while a message waits for its turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { changed } from "../../../test/support/changed.ts";
import { heldPlace, process } from "../../../test/support/cluster-world.ts";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import {
  chat,
  type Script,
  type ScriptedCompanionOptions,
  scriptedCompanion,
} from "../../../test/support/scripted-companion.ts";
import { type ScriptedStep, scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { ThroughlineError } from "../errors.ts";
import { openFileStorage } from "../storage/files/open-file-storage.ts";
import type { Turn } from "./turn.ts";

const minute = 60_000;

/** @param script the first turn says nothing until `gate` is resolved. */
async function companion(script: Script, options: ScriptedCompanionOptions = {}) {
  const gate = Promise.withResolvers<void>();
  const [first = [], ...rest] = script;
  const gated: Script = [[{ type: "wait", until: gate.promise }, ...first], ...rest];
  const c = await scriptedCompanion(gated, {
    at: "2026-03-01T12:00:00.000Z",
    ...options,
    turns(model) {
      const standard = { provider: model.provider, model: model.model };
      const get = async (provider: string) => {
        if (provider === model.provider) return model;
        throw new ThroughlineError(`no ${provider}`, { code: "THROUGHLINE_CONFIGURATION" });
      };
      return { model: { standard, get } };
    },
  });
  /** Says it, and waits until the model is asked. */
  const begin = async (content: string) => {
    const turn = c.turns.submit(chat, { id: "a", content });
    for await (const { type } of turn.progress()) if (type === "accepted") break;
    return turn;
  };
  return { ...c, gate, begin };
}

type World = Awaited<ReturnType<typeof companion>>;

/** Sends a message that waits, and resolves once it is kept. */
async function queue({ turns, waits }: World, content: string, id = "b"): Promise<Turn> {
  const turn = turns.submit(chat, { id, content });
  turn.done.catch(() => undefined);
  await waits(id);
  return turn;
}

const losses: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  reset: ({ sessions }) => sessions.reset(chat),
  clear: ({ chats }) => chats.clear(chat),
  erase: ({ chats }) => chats.erase(chat, "a"),
  "take back": ({ chats }) => chats.takeBack(chat, ["a"]),
};

for (const [name, lose] of Object.entries(losses)) {
  test(`what was said before a ${name} is told to no model by a turn that ends after it`, async () => {
    // So small a window has no place for what was said: the working memory tells it.
    const w = await companion([["I keep it"], ["Hello"]], { window: 4_096 });
    const turn = await w.begin("My PIN is 4711");
    await lose(w);
    w.gate.resolve();
    await turn.done;
    assert.equal(w.workingMemory.peek(chat)?.summary() ?? "", "");
    await w.turns.submit(chat, { content: "Hi" }).done;
    assert.doesNotMatch(JSON.stringify(w.model.requests.slice(1)), /4711/);
    assert.equal(w.model.requests.length, 2);
  });
}

for (const [says, freshness, at, saidAfter, runsFor] of [
  ["idleness", { idleTimeoutMinutes: 30 }, "2026-03-01T12:00:00.000Z", 5, 40],
  [
    "the daily reset",
    { dailyReset: true, dailyResetHour: 4, timeZone: "UTC" },
    "2026-03-01T03:50:00.000Z",
    5,
    20,
  ],
] as const) {
  test(`${says} does not end a period between a message and its turn, nor while a turn runs`, async () => {
    const w = await companion([["One"], ["Two"]], { freshness, at });
    const first = await w.begin("1");
    w.clock.pass(saidAfter * minute);
    const second = await queue(w, "2");
    w.clock.pass((runsFor - saidAfter) * minute);
    assert.equal((await w.sessions.resolve(chat)).ended, "nothing");
    w.gate.resolve();
    assert.equal((await first.done).assistant?.hidden, undefined);
    const { period, notices } = await second.done;
    assert.deepEqual([period.generation, notices], [1, []]);
    const asked = w.model.requests.at(-1)?.messages.map(({ content }) => content);
    assert.deepEqual(asked, ["1", "One", "2"]);
    w.clock.pass(24 * 60 * minute);
    assert.equal((await w.sessions.resolve(chat)).ended, "period", "no turn runs any more");
  });
}

for (const [after, away] of [
  [5, undefined],
  [35, 35 * minute],
] as const) {
  test(`a person who says more after ${after} min was away for that long, however long it waits`, async () => {
    const w = await companion([["One"], ["Two"]]);
    const first = await w.begin("1");
    w.clock.pass(after * minute);
    const second = await queue(w, "2");
    w.clock.pass(60 * minute);
    w.gate.resolve();
    await Promise.all([first.done, second.done]);
    const records = await Array.fromAsync(w.chats.logs.read(chat));
    const told = records.find(({ event }) => event === "time_away");
    assert.equal(told?.["away_ms"], away);
  });
}

test("a regenerated answer hides nothing when its period ended beforeItBegins", async () => {
  const w = await companion([["That one"]]);
  await w.chats.append(chat, [
    { id: "q", role: "user", content: "Which?" },
    { id: "q:answer", role: "assistant", content: "This one", turn: "q" },
  ]);
  const turn = await w.turns.retry(chat);
  for await (const { type } of turn.progress()) if (type === "accepted") break;
  await w.sessions.reset(chat);
  w.gate.resolve();
  await turn.done;
  assert.deepEqual(await w.shown(), ["user: Which?", "assistant: This one"]);
});

test("a message that waits is refused at once when nothing here can answer it, and is not kept", async () => {
  const w = await companion([["One"], ["Two"]]);
  const first = await w.begin("1");
  const lost = w.turns.submit(chat, { content: "2", provider: "ghost", model: "g" });
  await assert.rejects(lost.done, { code: "THROUGHLINE_CONFIGURATION" });
  assert.equal((await w.chats.existing(chat)).head.pending, undefined);
  w.gate.resolve();
  await first.done;
  assert.deepEqual(await w.shown(), ["user: 1", "assistant: One"]);
});

/** A chat as a crash leaves it: one message waits, for a model that is not to be had any more. */
async function stranded(script: readonly (readonly ScriptedStep[])[]): Promise<World> {
  const w = await companion(script);
  w.gate.resolve();
  await w.chats.append(chat, [{ id: "a", role: "user", content: "1" }]);
  await w.chats.change(chat, (transaction) => {
    const ghost = { provider: "ghost", model: "g" };
    transaction.control("pending_input", { content: "2", ...ghost }, "pending:b");
    transaction.set({ pending: ["b"] });
  });
  return w;
}

for (const named of [{}, { provider: "scripted", model: "script-1" }]) {
  test(`what waits for a model that is not configured is answered, with ${JSON.stringify(named)} named`, async () => {
    const w = await stranded([["Two"]]);
    const turn = await w.turns.answer(chat, named);
    assert.equal((await turn.done).assistant?.content, "Two");
  });
}

test("what waited and is dismissed stays what was said, at its time, and is never answered", async () => {
  const w = await stranded([]);
  const saidAt = new Date(w.clock.now()).toISOString();
  w.clock.pass(minute);
  assert.equal(await w.turns.dismiss(chat), 1);
  assert.deepEqual(await w.shown(), ["user: 1", "user: 2"]);
  assert.equal((await w.chats.find(chat, "b"))?.timestamp, saidAt);
  await assert.rejects(w.turns.answer(chat), { code: "THROUGHLINE_NOT_FOUND" });
});

test("a message that was erased while it waited, and still counts as waiting, can be dismissed", async () => {
  const w = await stranded([]);
  await w.chats.erase(chat, "b");
  await w.chats.change(chat, (transaction) => {
    transaction.control("turn", { event: "attempt", turn: "a", attempt: 1 });
    transaction.set({ pending: ["b"] });
  });
  assert.equal(await w.turns.dismiss(chat), 1);
  assert.deepEqual(await w.shown(), ["user: 1"]);
  assert.equal((await w.chats.row(chat)).unanswered, false);
});

test("only what a person says renews a period: not what the application tells the model", async () => {
  const w = await companion([["One"], ...Array.from({ length: 3 }, () => ["Fine"])], {
    freshness: { idleTimeoutMinutes: 60 },
  });
  w.gate.resolve();
  await (await w.begin("1")).done;
  const generations: number[] = [];
  for (let i = 0; i < 3; i++) {
    w.clock.pass(30 * minute);
    const told = w.turns.submit(chat, { content: "All is well", synthetic: "heartbeat" });
    generations.push((await told.done).period.generation);
  }
  assert.deepEqual(generations, [1, 2, 2]);
});

for (const how of ["erase", "take back"] as const) {
  test(`an unanswered message that is gone by ${how} stands in the way of none that waits behind it`, async () => {
    const w = await stranded([["Two"]]);
    await w.chats.change(chat, (transaction) => {
      transaction.control("turn", { event: "attempt", turn: "a", attempt: 1 });
      transaction.set({ open_turn: { id: "a", seq: 1, attempts: 1 } });
    });
    await losses[how]?.(w);
    assert.deepEqual((await w.chats.existing(chat)).head.open_turn, undefined);
    const turn = await w.turns.answer(chat, { provider: "scripted", model: "script-1" });
    assert.equal((await turn.done).user.id, "b");
    assert.equal((await w.chats.row(chat)).unanswered, false);
  });
}

for (const how of ["erase", "take back"] as const) {
  test(`a message that is gone by ${how} while it waits is not answered, shown or counted, and nothing waits any more`, async () => {
    const w = await companion([["One"], ["Three"]]);
    const remove = async () => {
      if (how === "erase") return (await w.chats.erase(chat, "b")).erased;
      return await w.chats.takeBack(chat, ["b"]);
    };
    const first = await w.begin("1");
    const second = await queue(w, "a secret");
    const third = await queue(w, "3", "c");
    const removed = [await remove(), await remove()];
    if (how === "erase") assert.deepEqual(removed, [true, false]);
    w.gate.resolve();
    await Promise.all([first.done, third.done]);
    await assert.rejects(second.done, { code: "THROUGHLINE_NOT_FOUND" });
    const { unanswered, message_count } = await w.chats.row(chat);
    assert.deepEqual([unanswered, message_count], [false, 4]);
    assert.doesNotMatch(JSON.stringify(w.model.requests), /a secret/);
    // No mark is left: it never was a message.
    const { messages } = await w.chats.messages(chat);
    assert.deepEqual([messages.length, messages.some(({ redacted }) => redacted)], [4, false]);
    assert.deepEqual(await w.shown(), ["user: 1", "assistant: One", "user: 3", "assistant: Three"]);
    assert.deepEqual(await w.chats.search("secret", { limit: 5 }), []);
    const again = w.turns.submit(chat, { id: "b", content: "a secret" });
    await assert.rejects(again.done, { code: "THROUGHLINE_CONFLICT" });
  });
}

test("what a provider is made to forget between a message and its prompt is not sent to it", async () => {
  let isArmed = false;
  const persona = async () => {
    if (isArmed) await c.sessions.resetProvider(chat, c.model.provider);
    return "kind";
  };
  const c = await scriptedCompanion([["noted"], ["hi"]], { turns: { persona } });
  await c.say("My number is 4711", "a");
  isArmed = true;
  await c.say("Hello", "b");
  const [, second] = c.model.requests;
  assert.ok(second !== undefined && !JSON.stringify(second.messages).includes("4711"));
});

for (const kind of ["memory", "files"]) {
  test(`a message that another one stored as its turn began is answered, and there once: ${kind}`, async (t) => {
    const path = temporaryDirectory(t);
    const storage = kind === "files" ? await openFileStorage({ home: path }) : "memory";
    let beforeItBegins: (() => Promise<unknown>) | undefined;
    const c = await scriptedCompanion([["One"], ["Two"]], {
      storage,
      turns(model) {
        const standard = { provider: model.provider, model: model.model };
        const get = async () => {
          await beforeItBegins?.();
          return model;
        };
        return { model: { standard, get } };
      },
    });
    await c.say("Hello");
    beforeItBegins = () => c.chats.append(chat, [{ id: "a", role: "user", content: "And now?" }]);
    const { outcome, user } = await c.say("And now?", "a");
    assert.deepEqual([outcome, user.id], ["answered", "a"]);
    const shown = ["user: Hello", "assistant: One", "user: And now?", "assistant: Two"];
    assert.deepEqual(await c.shown(), shown);
    await c.throughline.close();
  });
}

test("a message that could not be kept while another one is answered fails alone, in its turn", async () => {
  const { storage } = heldPlace().open();
  let isAway = false;
  const away = () =>
    Promise.reject(new ThroughlineError("away", { code: "THROUGHLINE_UNAVAILABLE" }));
  const failing = changed(storage, {
    logs: (...args) =>
      changed(storage.logs(...args), (name) => (isAway && name === "append" ? away : undefined)),
  });
  const gate = Promise.withResolvers<void>();
  const model = scriptedResponder([[{ type: "wait", until: gate.promise }, "One"], ["Two"]]);
  const { turns } = await process(failing, { model });
  const first = turns.submit(chat, { content: "1" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  isAway = true;
  const second = turns.submit(chat, { content: "2" });
  // Long enough for its failure to be unhandled, which would end this process.
  for (let i = 0; i < 20; i++) await setImmediate();
  isAway = false;
  gate.resolve();
  assert.equal((await first.done).assistant?.content, "One");
  await assert.rejects(second.done, { code: "THROUGHLINE_UNAVAILABLE" });
});

test("a message that another process answered while it waited is not answered again", async () => {
  const { open } = heldPlace();
  const model = scriptedResponder([["One"], ["again"]]);
  const a = await process(open().storage, { model });
  const b = await process(open().storage, { model });
  await a.turns.submit(chat, { content: "1" }).done;
  const lease = await b.chats.lease(chat);
  const turn = a.turns.submit(chat, { content: "2" });
  for await (const { type } of turn.progress()) if (type === "queued") break;
  while (!(await b.chats.state(chat)).head?.pending?.includes(turn.id)) await setImmediate();
  await b.chats.append(chat, [
    { id: turn.id, role: "user", content: "2", turn: turn.id },
    { id: `${turn.id}:answer`, role: "assistant", content: "Two", turn: turn.id },
  ]);
  await lease.release();
  assert.equal((await turn.done).assistant?.content, "Two");
  assert.equal(model.requests.length, 1);
});
