// Turns whose model is called elsewhere: what is stored when, who waits, and how they end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { chat, scriptedCompanion } from "../../../test/support/scripted-companion.ts";
import { type ScriptedStep, scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { exactOf, keepExact, partsOf } from "../chat/exact.ts";
import type { StoredMessage } from "../chat/message.ts";
import type { MessageInput } from "../chat/message-input.ts";
import { noPart } from "../extension.ts";
import type { Opened, OpenTurn, TurnEnd } from "./open-turn.ts";

const target = { provider: "elsewhere", model: "e-1" };
const usage = { inputTokens: 100, outputTokens: 20, costUsd: 0.01 };

function answered(content: string, id?: string): TurnEnd {
  return { messages: [{ id, role: "assistant", content }], usage, outcome: "answered" };
}

const call: MessageInput = {
  id: "c1",
  role: "assistant",
  content: "Let me see.",
  tool_calls: [{ id: "call-1", type: "function", function: { name: "lamp", arguments: "{}" } }],
};
const result: MessageInput = { id: "r1", role: "tool", content: "on", tool_call_id: "call-1" };

/** A companion in memory whose own turns have no model. */
async function companion(options: { readonly maxQueued?: number } = {}) {
  const clock = new HeldClock();
  const timers = new HeldTimers(clock);
  const c = await scriptedCompanion([], { clock, timers });
  const turns = await c.throughline.turns(options);
  const { chats } = c;
  const head = async () => (await chats.existing(chat)).head;
  const transcript = async () => {
    const { messages } = await chats.messages(chat);
    return messages.map(({ role, content, partial_reason: cut }) =>
      cut === undefined ? `${role}: ${content}` : `${role}: ${content} (${cut})`,
    );
  };
  const unanswered = async () => (await chats.list({ unanswered: true })).chats.length;
  return { ...c, turns, clock, timers, head, transcript, unanswered };
}

const idsOf = (messages: readonly StoredMessage[]) => messages.map(({ id }) => id);

function opened(result: Opened): OpenTurn {
  assert.equal(result.state, "open");
  return (result as Extract<Opened, { readonly state: "open" }>).turn;
}

test("an open turn stores the message first, then what is kept, and the rest in one append", async () => {
  const c = await companion();
  const turn = opened(await c.turns.open(chat, { id: "m1", content: "Lamp?" }, target));
  assert.deepEqual(await c.transcript(), ["user: Lamp?"]);
  assert.deepEqual((await c.head()).open_turn, { id: "m1", seq: turn.user.seq, attempts: 1 });
  await turn.keep([call, result]);
  const before = (await c.chats.state(chat)).seq;
  c.clock.pass(1_500);
  const { assistant, outcome, period } = await turn.close({
    ...answered("It is on."),
    model: "e-1-2026",
    providerSessionId: "s-1",
  });
  assert.equal(outcome, "answered");
  const stats = { latency_ms: 1_500, input_tokens: 100 };
  const expected = { content: "It is on.", model: "e-1-2026", turn: "m1", stats };
  assert.partialDeepStrictEqual(assistant, expected);
  const counted = { message_count: 1, total_cost_usd: 0.01, total_tokens: 120 };
  const session = { provider: "elsewhere", session_id: "s-1", ...counted };
  assert.partialDeepStrictEqual(period, session);
  // The answer and the usage, and nothing of what was kept.
  assert.equal((await c.chats.state(chat)).seq, before + 2);
  assert.equal((await c.head()).open_turn, undefined);
  assert.equal(await c.unanswered(), 0);
  const said = { utterance: "Lamp?", response: "It is on.", outcome: "answered" };
  assert.partialDeepStrictEqual(c.workingMemory.peek(chat)?.all(), [said]);
  assert.equal(c.turns.size, 0);
});

test("what is kept or closed twice under its ids is stored once", async () => {
  const c = await companion();
  const turn = opened(await c.turns.open(chat, { id: "m1", content: "Lamp?" }, target));
  const published: string[] = [];
  const running = c.turns.running(chat);
  await Promise.all([turn.keep([call]), turn.keep([call, result])]);
  await turn.keep([call, { ...result, role: "TOOL" }]);
  const final: MessageInput = { id: "a1", role: "assistant", content: "It is on." };
  // In the forms that `chats.append` takes too.
  const anyCase = { ...final, role: "ASSISTANT", timestamp: 1_772_615_700.5 } as const;
  const { assistant } = await turn.close({
    messages: [{ ...call, role: "ASSISTANT" }, result, anyCase],
    usage,
    outcome: "answered",
  });
  assert.equal(assistant?.timestamp, "2026-03-04T09:15:00.500Z");
  for await (const item of running?.progress() ?? []) {
    if (item.type === "message") published.push(item.message.id);
  }
  const shown = ["user: Lamp?", "assistant: Let me see.", "tool: on", "assistant: It is on."];
  assert.deepEqual(await c.transcript(), shown);
  assert.deepEqual(published, ["c1", "r1"]);
  await assert.rejects(turn.keep([result]), { code: "THROUGHLINE_CONFLICT" });
  await assert.rejects(turn.close(answered("Again")), { code: "THROUGHLINE_CONFLICT" });
});

test("a second message waits for its turn, stored, whichever Turns takes it; past the limit nothing is stored", async () => {
  const c = await companion({ maxQueued: 2 });
  const model = scriptedResponder([["From here"]]);
  const others = await c.throughline.turns({ model, maxQueued: 2 });
  const first = opened(await c.turns.open(chat, { id: "m1", content: "1" }, target));
  const second = others.submit(chat, { id: "m2", content: "2" });
  await c.waits("m2");
  const third = c.turns.open(chat, { id: "m3", content: "3", extra: { parts: [3] } }, target);
  await c.waits("m3");
  const fourth = c.turns.open(chat, { id: "m4", content: "4" }, target);
  await assert.rejects(fourth, { code: "THROUGHLINE_BUSY" });
  assert.throws(() => others.submit(chat, { content: "4" }), { code: "THROUGHLINE_BUSY" });
  assert.equal(others.running(chat)?.id, "m1");
  assert.equal(model.requests.length, 0);
  assert.equal(await c.chats.logs.find(chat, "pending:m4"), undefined);
  await first.close(answered("one"));
  await second.done;
  const last = opened(await third);
  assert.deepEqual(last.user.extra, { parts: [3] });
  await last.close(answered("three"));
  const shown = ["user: 1", "assistant: one", "user: 2", "assistant: From here", "user: 3"];
  assert.deepEqual(await c.transcript(), [...shown, "assistant: three"]);
});

test("a message that an open turn answered is not answered again by a model of these turns", async () => {
  const c = await companion();
  const model = scriptedResponder([["Twice"]]);
  const own = await c.throughline.turns({ model });
  const input = { id: "m1", content: "Hello" };
  const turn = opened(await c.turns.open(chat, input, target));
  await turn.close(answered("Hi", "a1"));
  assert.equal((await own.submit(chat, input).done).assistant?.id, "a1");
  assert.equal(model.requests.length, 0);
});

test("what is kept is in the prompt of the model that answers in place of the caller", async () => {
  const c = await companion();
  const turn = opened(await c.turns.open(chat, { id: "m1", content: "Lamp?" }, target));
  await turn.keep([call, result]);
  await turn.fail();
  const model = scriptedResponder([["It is on."]]);
  const own = await c.throughline.turns({ model });
  await (await own.answer(chat)).done;
  const roles = model.requests[0]?.messages.map(({ role }) => role);
  assert.deepEqual(roles, ["user", "assistant", "tool"]);
  assert.equal(await c.unanswered(), 0);
});

test("without content a stored message is opened again though it has an answer; a person acted then", async () => {
  const c = await companion();
  const first = opened(await c.turns.open(chat, { id: "m1", content: "Hi" }, target));
  await first.close(answered("Hello", "m1:answer"));
  c.clock.pass(60_000);
  const again = opened(await c.turns.open(chat, { id: "m1" }, target));
  assert.deepEqual(idsOf(again.kept), ["m1:answer"]);
  assert.equal(again.user.content, "Hi");
  const actedAt = new Date(c.clock.now()).toISOString();
  assert.equal((await c.head()).session?.human_at, actedAt);
  assert.equal(await c.unanswered(), 1);
  await again.fail();
  // A second attempt at it is no act of a person, and the old answer is not given for it.
  c.clock.pass(60_000);
  await opened(await c.turns.open(chat, { id: "m1" }, target)).fail();
  const model = scriptedResponder([["Hello again"]]);
  const own = await c.throughline.turns({ model });
  const { assistant } = await (await own.answer(chat)).done;
  assert.equal(assistant?.content, "Hello again");
  assert.equal((await c.head()).session?.human_at, actedAt);
  assert.equal(await c.unanswered(), 0);
  await assert.rejects(c.turns.open(chat, { id: "m9" }, target), { code: "THROUGHLINE_NOT_FOUND" });
  await c.chats.erase(chat, "m1");
  await assert.rejects(c.turns.open(chat, { id: "m1" }, target), { code: "THROUGHLINE_CONFLICT" });
});

test("a stored message as long as one may be is opened, though it could not be taken as new", async () => {
  const c = await companion();
  const content = "x".repeat(2 ** 20 - 120);
  await c.chats.append(chat, [{ id: "m1", role: "user", content }]);
  const long = c.turns.open(chat, { id: "m2", content }, target);
  await assert.rejects(long, { code: "THROUGHLINE_TOO_LARGE" });
  await opened(await c.turns.open(chat, { id: "m1" }, target)).close(answered("Long", "m1:answer"));
});

test("without content and id the oldest unanswered message is opened, with its extra fields", async () => {
  const c = await companion();
  const none = { code: "THROUGHLINE_NOT_FOUND" };
  await assert.rejects(c.turns.open(chat, {}, target), none);
  const input = { id: "m1", content: "", extra: { parts: ["a picture"] } };
  await opened(await c.turns.open(chat, input, target)).fail();
  const turn = opened(await c.turns.open(chat, {}, target));
  assert.deepEqual([turn.user.id, turn.user.extra], ["m1", { parts: ["a picture"] }]);
  await turn.close(answered("Nice"));
  await assert.rejects(c.turns.open(chat, {}, target), none);
  await assert.rejects(c.turns.open(chat, { content: "" }, target), {
    code: "THROUGHLINE_INVALID",
  });
});

test("an answer is made again: the old one is taken back within the open turn, and a repeat gets the new one", async () => {
  const c = await companion();
  const input = { id: "m1", content: "Hi" };
  for (const first of ["m1:answer", "a1"]) {
    const { id } = input;
    await opened(await c.turns.open(first, input, target)).close(answered("Hello", first));
    const turn = opened(await c.turns.open(first, { id }, target));
    await c.chats.takeBack(first, idsOf(turn.kept));
    assert.equal((await c.chats.row(first)).unanswered, true);
    await turn.close(answered("Hello again", "a2"));
    const again = await c.turns.open(first, input, target);
    assert.equal(again.state, "answered");
    assert.deepEqual(idsOf(again.messages), ["a2"]);
    assert.equal((await c.chats.messages(first)).messages.length, 2);
  }
});

test("a message whose second answer was cut off is opened again, also when others were answered since", async () => {
  const c = await companion();
  const input = { id: "m1", content: "Hi" };
  await opened(await c.turns.open(chat, input, target)).close(answered("Hello"));
  opened(await c.turns.open(chat, { id: "m1" }, target));
  c.turns.stop(chat);
  await c.timers.pass(5_000);
  const other = opened(await c.turns.open(chat, { id: "m2", content: "Yes?" }, target));
  await other.close(answered("Yes"));
  const again = opened(await c.turns.open(chat, input, target));
  await again.close(answered("Hello again"));
  assert.equal((await c.turns.open(chat, input, target)).state, "answered");
});

test("a message that is erased while it waits to be answered again is not answered", async () => {
  const c = await companion();
  const first = opened(await c.turns.open(chat, { id: "m1", content: "Hi" }, target));
  await first.close(answered("Hello"));
  const other = opened(await c.turns.open(chat, { id: "m2", content: "Yes?" }, target));
  const again = c.turns.open(chat, { id: "m1" }, target);
  again.catch(() => undefined);
  while (c.turns.size < 2) await setImmediate();
  await c.chats.erase(chat, "m1");
  await other.close(answered("Yes"));
  await assert.rejects(again, { code: "THROUGHLINE_CONFLICT" });
  assert.equal(await c.unanswered(), 0);
});

test("what waited when the turns closed has its own fields when it is opened, or dismissed", async () => {
  for (const isDismissed of [false, true]) {
    const c = await companion();
    const own = { extra: { parts: ["a picture"] }, exact: { value: ["a picture"] } };
    await opened(await c.turns.open(chat, { id: "m1", content: "Hi" }, target)).fail();
    const first = opened(await c.turns.open(chat, {}, target));
    const waiting = c.turns.open(chat, { id: "m2", content: "", ...own }, target);
    waiting.catch(() => undefined);
    await c.waits("m2");
    first.signal.addEventListener("abort", () => void first.close(answered("Hello")));
    await c.turns.close(0);
    await assert.rejects(waiting, { code: "THROUGHLINE_CLOSED" });
    const others = await c.throughline.turns();
    if (isDismissed) {
      assert.equal(await others.dismiss(chat), 1);
      const stored = await c.chats.find(chat, "m2");
      assert.deepEqual([stored?.extra, stored?.exact], [own.extra, own.exact]);
    } else {
      const turn = opened(await others.open(chat, {}, target));
      assert.deepEqual([turn.user.extra, turn.user.exact], [own.extra, own.exact]);
      await turn.fail();
    }
  }
});

test("a model that was stopped, or failed after its first words, is not asked again, one without words is", async () => {
  const c = await companion();
  for (const [id, outcome] of [
    ["m0", "interrupted"],
    ["m1", "failed"],
  ] as const) {
    const turn = opened(await c.turns.open(chat, { id, content: "Hi" }, target));
    await turn.close({ ...answered("Hel"), outcome });
    assert.equal(await c.unanswered(), 0);
    assert.equal((await c.turns.open(chat, { id, content: "Hi" }, target)).state, "answered");
  }
  const cut = ["assistant: Hel (stopped)", "assistant: Hel (error)"];
  assert.deepEqual(
    await c.transcript(),
    cut.flatMap((line) => ["user: Hi", line]),
  );
  const silent = { messages: [], usage, outcome: "failed" } as const;
  await opened(await c.turns.open(chat, { id: "m2", content: "Yes?" }, target)).close(silent);
  assert.equal(await c.unanswered(), 1);
  assert.equal((await c.sessions.active(chat))?.total_cost_usd, 0.03, "what it cost is counted");
});

test("a turn that was stopped and is not closed within 5 s has failed, and stores nothing more", async () => {
  const c = await companion();
  const turn = opened(await c.turns.open(chat, { id: "m1", content: "Hi" }, target));
  const next = c.turns.open(chat, { id: "m2", content: "Next" }, target);
  c.turns.stop(chat);
  await c.timers.pass(4_999);
  assert.equal(c.turns.running(chat)?.id, "m1");
  await c.timers.pass(1);
  const second = opened(await next);
  assert.equal(c.turns.running(chat)?.id, "m2");
  await assert.rejects(turn.close(answered("Late")), { code: "THROUGHLINE_CONFLICT" });
  await assert.rejects(turn.keep([call]), { code: "THROUGHLINE_CONFLICT" });
  await second.close(answered("two"));
  assert.deepEqual(await c.transcript(), ["user: Hi", "user: Next", "assistant: two"]);
});

test("what was to be kept when its turn ended is not stored any more", async () => {
  const c = await companion();
  const turn = opened(await c.turns.open(chat, { id: "m1", content: "Hi" }, target));
  const gate = Promise.withResolvers<void>();
  const busy = c.chats.between(chat, () => gate.promise);
  const keeping = turn.keep([call]);
  keeping.catch(() => undefined);
  c.turns.stop(chat);
  await c.timers.pass(5_000);
  gate.resolve();
  await busy;
  await assert.rejects(keeping, { code: "THROUGHLINE_CONFLICT" });
  assert.deepEqual(await c.transcript(), ["user: Hi"]);
});

test("closing the turns aborts the signal and does not wait for a caller that never closes", async () => {
  const c = await companion();
  const model = scriptedResponder([["Other"]]);
  const others = await c.throughline.turns({ model });
  const turn = opened(await c.turns.open(chat, { id: "m1", content: "Hi" }, target));
  const theirs = opened(await others.open("other", { content: "Hi" }, target));
  const aborted = new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
  const closing = c.turns.close(0);
  await aborted;
  await c.timers.pass(5_000);
  await closing;
  assert.equal(await c.unanswered(), 2);
  const late = c.turns.open(chat, { content: "More" }, target);
  await assert.rejects(late, { code: "THROUGHLINE_CLOSED" });
  // Those of another Turns run on.
  assert.equal(theirs.signal.aborted, false);
  await theirs.close(answered("Hello"));
});

for (const how of ["keep", "close"] as const) {
  test(`what a turn says of a forgotten chat is not in the one that has begun since: ${how}`, async () => {
    const c = await companion();
    const turn = opened(await c.turns.open(chat, { content: "My secret" }, target));
    await c.chats.forget(chat);
    await c.sessions.resolve(chat, target);
    await c.chats.append(chat, [{ role: "user", content: "New" }]);
    const said = answered("Your secret");
    const storing = how === "keep" ? turn.keep(said.messages) : turn.close(said);
    await assert.rejects(storing, { code: "THROUGHLINE_NOT_FOUND" });
    assert.deepEqual(await c.transcript(), ["user: New"]);
    await turn.fail();
    assert.equal((await c.chats.row(chat)).message_count, 1);
    assert.equal(c.turns.running(chat), undefined, "it is free again");
  });
}

test("a close that is refused stores nothing, and can be repeated", async () => {
  const c = await companion();
  const turn = opened(await c.turns.open(chat, { id: "m1", content: "Hi" }, target));
  const { seq } = await c.chats.state(chat);
  const hello = answered("Hello");
  for (const [end, code] of [
    [{ ...hello, messages: [{ role: "user", content: "Hi" }] }, "INVALID"],
    [{ ...hello, usage: { ...usage, inputTokens: Number.NaN } }, "INVALID"],
    [{ ...hello, usage: { ...usage, costUsd: 1_000_001 } }, "INVALID"],
    [{ ...hello, providerSessionId: "a\0b" }, "INVALID"],
    [answered("Hello", "m1"), "ID_CONFLICT"],
    [answered("x".repeat(2 ** 20)), "TOO_LARGE"],
  ] as const) {
    await assert.rejects(turn.close(end), { code: `THROUGHLINE_${code}` });
  }
  assert.equal((await c.chats.state(chat)).seq, seq);
  assert.equal(await c.unanswered(), 1);
  await turn.close(answered("Hello"));
  assert.deepEqual(await c.transcript(), ["user: Hi", "assistant: Hello"]);
});

test("a handle that leaves its scope fails its turn, unless it is closed or being closed", async () => {
  const c = await companion();
  const open = async () => opened(await c.turns.open(chat, { id: "m1", content: "Hi" }, target));
  {
    await using turn = await open();
    assert.equal(turn.attempt, 1);
  }
  assert.equal(c.turns.running(chat), undefined);
  assert.equal(await c.unanswered(), 1);
  let closing: ReturnType<OpenTurn["close"]>;
  {
    await using turn = await open();
    closing = turn.close(answered("Hello"));
  }
  assert.equal((await closing).assistant?.content, "Hello");
  assert.deepEqual(await c.transcript(), ["user: Hi", "assistant: Hello"]);
});

test("what is closed after its period has ended is stored hidden", async () => {
  const c = await companion();
  const turn = opened(await c.turns.open(chat, { id: "m1", content: "Hi" }, target));
  await c.sessions.reset(chat);
  await turn.keep([call, result]);
  await turn.close(answered("Late", "a1"));
  for (const id of ["c1", "r1", "a1"]) {
    const stored = await c.chats.find(chat, id);
    assert.deepEqual([stored?.hidden, stored?.["generation"]], [true, 1], id);
  }
  assert.equal((await c.sessions.active(chat))?.message_count, 0);
});

test("the caller gets what extensions tell the model, and says whether the model got it", async () => {
  const c = await companion();
  const heard: unknown[] = [];
  await c.throughline.extend("weather", async () => ({
    remove: async () => [],
    preview: async () => noPart,
    catchUp: async (read) => void (await read()),
    turn: () => ({
      begun: async ({ acknowledged }) => {
        heard.push(acknowledged);
        const notes = ["It rains."];
        return { instructions: "You like tea.", notes, context: "", acknowledged: 7 };
      },
      ended: (answer) => void heard.push(answer?.content),
    }),
    [Symbol.asyncDispose]: async () => undefined,
  }));
  for (const usedContext of [undefined, true, true]) {
    const turn = opened(await c.turns.open(chat, { content: "Hi" }, target));
    assert.equal(turn.instructions, "You like tea.");
    assert.match(turn.context ?? "", /It rains\./);
    await turn.close({ ...answered("Hello"), usedContext });
  }
  await opened(await c.turns.open(chat, { content: "Hi" }, target)).fail();
  const hello = "Hello";
  assert.deepEqual(heard, [undefined, hello, undefined, hello, 7, hello, 7, undefined]);
});

test("turns without a model refuse to ask one, and keep nothing of it", async () => {
  const c = await companion();
  const asked = c.turns.submit(chat, { content: "Hi" }).done;
  await assert.rejects(asked, { code: "THROUGHLINE_CONFIGURATION" });
  assert.deepEqual((await c.chats.list()).chats, []);
  const opening = c.turns.open(chat, { content: "Hi" }, { ...target, model: "" });
  await assert.rejects(opening, { code: "THROUGHLINE_INVALID" });
});

test("closing the storage cuts an open turn off: it stays unanswered, and its signal says why", async () => {
  const c = await companion();
  const turn = opened(await c.turns.open(chat, { id: "m1", content: "Hi" }, target));
  await c.throughline.close();
  assert.equal(turn.signal.aborted, true);
  await assert.rejects(turn.close(answered("Late")), { code: "THROUGHLINE_CLOSED" });
  await turn.fail();
});

test("a turn that is stopped while it waits is opened with its signal aborted", async () => {
  const c = await companion();
  const hang: ScriptedStep = { type: "hang" };
  const own = await c.throughline.turns({ model: scriptedResponder([[hang]]) });
  const first = own.submit(chat, { content: "1" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  const second = c.turns.open(chat, { id: "m2", content: "2" }, target);
  await c.waits("m2");
  const ending = own.end(chat);
  const turn = opened(await second);
  assert.equal(turn.signal.aborted, true);
  await turn.fail();
  await ending;
});

test("an open turn stores the exact form of its message, also of one that waited", async () => {
  const c = await companion();
  const image = { image: "x".repeat(200_000) };
  const exact = async (id: string) => (await keepExact(c.chats, chat, id, image)).exact;
  const first = opened(
    await c.turns.open(chat, { id: "m1", content: "", exact: await exact("m1") }, target),
  );
  const second = c.turns.open(chat, { id: "m2", content: "", exact: await exact("m2") }, target);
  const third = c.turns.open(chat, { id: "m3", content: "3", exact: await exact("m3") }, target);
  const gone = c.turns.open(chat, { id: "m4", content: "4", exact: await exact("m4") }, target);
  await c.waits("m4");
  const { logs } = c.chats;
  const waiting = (await logs.find(chat, "pending:m4")) as StoredMessage;
  const kinds = async () => (await partsOf(logs, chat, waiting)).map((part) => part["kind"]);
  assert.deepEqual(await kinds(), ["part", "part"]);
  await c.chats.takeBack(chat, ["m3"]);
  await c.chats.erase(chat, "m4");
  assert.deepEqual(await kinds(), ["erased", "erased"]);
  await first.close(answered("one"));
  const last = opened(await second);
  const takenBack = (await logs.find(chat, "m3")) as StoredMessage;
  for (const user of [first.user, last.user, takenBack]) {
    assert.deepEqual(await exactOf(c.chats, chat, user), image);
  }
  await last.fail();
  await Promise.allSettled([third, gone]);
  const again = opened(await c.turns.open(chat, { id: "m2" }, target));
  assert.deepEqual(again.user.exact, last.user.exact);
});
