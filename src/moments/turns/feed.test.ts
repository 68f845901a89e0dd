import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { process, until } from "../../../test/support/cluster-world.ts";
import { column, columns } from "../../../test/support/columns.ts";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { MemoryPlace, openMemoryProcess } from "../../../test/support/memory-place.ts";
import { everything, MomentsWorld } from "../../../test/support/moments-world.ts";
import { scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { invalid } from "../../core/errors.ts";
import { openThroughline } from "../../core/throughline.ts";
import { autoRecord } from "../record/auto-record.ts";
import type { ConsentInput } from "../record/consent.ts";
import { checkLabel, type MomentInput } from "../record/label.ts";
import { Receipt } from "../record/receipt.ts";
import { feedTurn } from "./feed.ts";
import { recallWords } from "./recall.ts";
import { reactionsPrompt, rememberSkills } from "./skills.ts";

test("a chat that is forgotten while it is answered leaves no word in the buffers", async () => {
  const gate = Promise.withResolvers<void>();
  const model = scriptedResponder([
    ["Once ", { type: "wait", until: gate.promise }, "upon a time"],
  ]);
  const storage = openMemoryProcess({ place: new MemoryPlace() });
  const { turns, chats } = await process(storage, { model });
  const { recorder } = await MomentsWorld.open();
  turns.onTurn((turn) => void feedTurn(turn, recorder));
  const turn = turns.submit("chat-1", { content: "Tell me" });
  const heard = () => recorder.lastAnswer("chat-1")?.text;
  await until(() => heard() === "Once ");
  await chats.forget("chat-1"); // by the library: it ends no turns
  await recorder.forgetChat("chat-1");
  assert.equal(recorder.stats.messages, 0);
  gate.resolve();
  await assert.rejects(turn.done, { code: "THROUGHLINE_NOT_FOUND" });
  await setImmediate();
  assert.equal(recorder.stats.messages, 0);
});

test("a message that is erased while it waits leaves the words of its chat, one that cannot be answered no live answer", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [once, then] = gates.map(({ promise: until }) => ({ type: "wait", until }) as const);
  const model = scriptedResponder([
    ["Once ", once!, "upon a time"],
    ["Then ", then!],
  ]);
  const storage = openMemoryProcess({ place: new MemoryPlace() });
  const { turns, chats } = await process(storage, { model });
  const { recorder } = await MomentsWorld.open();
  turns.onTurn((turn) => void feedTurn(turn, recorder));
  const first = turns.submit("chat-1", { content: "Tell me" });
  const heard = () => recorder.lastAnswer("chat-1")?.text;
  await until(() => heard() === "Once ");
  const second = turns.submit("chat-1", { id: "t2", content: "No" });
  while (!(await chats.state("chat-1")).head?.pending?.includes("t2")) await setImmediate();
  await chats.erase("chat-1", "t2");
  gates[0]?.resolve();
  await first.done;
  await assert.rejects(second.done, { code: "THROUGHLINE_NOT_FOUND" });
  await setImmediate();
  assert.equal(heard(), "Once upon a time");
  const third = turns.submit("chat-1", { content: "And then?" });
  await until(() => heard() === "Then ");
  third.fence(new Error("another process has the chat"));
  gates[1]?.resolve();
  await assert.rejects(third.done, /another process/);
  await setImmediate();
  assert.equal(heard(), "Once upon a time");
  const { state } = await turns.open("chat-1", { id: first.id }, { provider: "p", model: "m" });
  assert.equal(state, "open");
  turns.running("chat-1")?.fence(new Error("another process has the chat"));
  await turns.running("chat-1")?.done.catch(() => undefined);
  await setImmediate();
  assert.equal(heard(), "Once upon a time", "a stored answer stays");
});

const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } } as const;
const result = { toolCallId: "c1", toolName: "look", content: "seen", isError: false } as const;

for (const [then, expected] of [
  ["nothing else", "Once upon a time"],
  ["an erasure", undefined],
  ["a forgetting", undefined],
  ["a retry before it", "Another end"],
] as const) {
  test(`a retry that another process takes over after its first words, and ${then}, leaves the answer that is stored`, async () => {
    const gate = Promise.withResolvers<void>();
    const step = [
      { type: "tool-call", call } as const,
      { type: "tool-result", ...result } as const,
    ];
    const isSecond = then === "a retry before it";
    const model = scriptedResponder([
      ["Once upon a time"],
      ...(isSecond ? [["Another end"]] : []),
      ["Well, ", ...step, "then ", { type: "wait", until: gate.promise }],
    ]);
    const storage = openMemoryProcess({ place: new MemoryPlace() });
    const { turns } = await process(storage, { model });
    const { recorder } = await MomentsWorld.open();
    turns.onTurn((turn) => void feedTurn(turn, recorder));
    const first = await turns.submit("chat-1", { content: "Tell me" }).done;
    const heard = (chatId?: string) => recorder.lastAnswer(chatId)?.text;
    await until(() => heard("chat-1") === "Once upon a time");
    if (isSecond) await (await turns.retry("chat-1")).done;
    const again = await turns.retry("chat-1");
    await until(() => heard("chat-1") === "then ");
    recorder.message({ role: "assistant", text: "Later", id: "x", chatId: "chat-2" });
    if (then === "an erasure") recorder.removeWords("chat-1", first.assistant?.id);
    if (then === "a forgetting") await recorder.forgetChat("chat-1");
    again.fence(new Error("another process has the chat"));
    gate.resolve();
    await assert.rejects(again.done, /another process/);
    await setImmediate();
    assert.deepEqual([heard("chat-1"), heard()], [expected, "Later"]);
    assert.equal(
      recorder.stats.messages,
      then === "an erasure" ? 2 : then === "a forgetting" ? 1 : 3,
    );
  });
}

for (const [how, last] of [
  ["clear", "a time"],
  ["reset", "a time"],
  ["clear", ""],
] as const) {
  test(`an answer that comes after a ${how} of its chat, and ends with "${last}", is in no buffer`, async () => {
    const gate = Promise.withResolvers<void>();
    const wait = { type: "wait", until: gate.promise } as const;
    const rest = Promise.withResolvers<void>();
    const model = scriptedResponder([
      [
        "Once ",
        wait,
        "upon ",
        { type: "wait", until: rest.promise },
        { type: "tool-call", call },
        { type: "tool-result", ...result },
        last,
      ],
    ]);
    const storage = openMemoryProcess({ place: new MemoryPlace() });
    const { turns, chats, sessions } = await process(storage, { model });
    const { recorder } = await MomentsWorld.open();
    turns.onTurn((turn) => void feedTurn(turn, recorder));
    const turn = turns.submit("chat-1", { content: "Tell me" });
    const heard = () => recorder.lastAnswer("chat-1")?.text;
    await until(() => heard() === "Once ");
    await (how === "clear" ? chats.clear("chat-1") : sessions.reset("chat-1"));
    if (how === "clear") recorder.removeWords("chat-1"); // as `startMoments` does
    gate.resolve();
    for await (const { type, ...told } of turn.progress()) {
      if (type === "text" && "text" in told && told.text === "upon ") break;
    }
    await setImmediate();
    if (how === "clear") assert.equal(heard(), undefined);
    rest.resolve();
    await turn.done;
    await setImmediate();
    assert.equal(heard(), undefined);
  });
}

test("what is said before a call of a tool has the id in a package that it has in the chat", async () => {
  const model = scriptedResponder([
    ["I look. ", { type: "tool-call", call }, { type: "tool-result", ...result }, "Glad."],
  ]);
  const storage = openMemoryProcess({ place: new MemoryPlace() });
  const { turns, chats } = await process(storage, { model });
  const world = await MomentsWorld.open();
  const { recorder } = world;
  turns.onTurn((turn) => void feedTurn(turn, recorder));
  await turns.submit("chat-1", { content: "What is it?", name: "Ann" }).done;
  await setImmediate();
  const { messages: stored } = await chats.messages("chat-1");
  const said = stored.filter(({ role }) => role !== "tool");
  const { messages: kept } = await world.packages.read(await world.react());
  assert.deepEqual(
    columns(kept, "id", "text", "name"),
    said.map(({ id, content, name }) => [id, content, name]),
  );
});

/** A recorder, and chats that an earlier run left, on one clock. */
async function world() {
  const moments = await MomentsWorld.open();
  const { chats } = await openThroughline({ storage: "memory", clock: moments.clock });
  const turn = async (chatId: string, question: string, answer: string) => {
    const [asked] = await chats.append(chatId, [{ role: "user", content: question }]);
    moments.clock.pass(1_000);
    const to = asked?.id ?? "";
    await chats.append(chatId, [{ role: "assistant", content: answer, turn: to }]);
    return to;
  };
  const recall = () => recallWords(chats, moments.recorder, moments.clock);
  const judged = async (chatId?: string) => {
    const name = await moments.react(chatId === undefined ? {} : { chatId });
    const { manifest, messages } = await moments.packages.read(name);
    const { target } = manifest;
    const text = target?.index === undefined ? undefined : messages[target.index]?.text;
    return { how: target?.how, reason: manifest.target_reason, text, messages };
  };
  const { clock, recorder } = moments;
  return { clock, recorder, chats, turn, recall, judged };
}

test("a reaction right after a start is about the answer before it, with its conversation", async () => {
  const w = await world();
  await w.turn("a", "Tell me a joke", "Knock, knock");
  w.clock.pass(60_000);
  assert.equal(await w.recall(), 2);
  w.clock.pass(5_000);
  const { how, text, messages } = await w.judged();
  assert.deepEqual([how, text], ["last-assistant", "Knock, knock"]);
  const said = columns(messages, "role", "t_ms", "timestamp");
  const end = w.clock.now() / 1_000;
  assert.deepEqual(said, [
    ["USER", -66_000, end - 66],
    ["ASSISTANT", -65_000, end - 65],
  ]);
});

test("a chat that cannot be read keeps the others in no way from being recalled", async (t) => {
  const home = temporaryDirectory(t);
  const moments = await MomentsWorld.open();
  await using throughline = await openThroughline({ home, clock: moments.clock });
  const { chats } = throughline;
  for (const chatId of ["a", "b"]) {
    await chats.append(chatId, [{ role: "assistant", content: `Knock from ${chatId}` }]);
  }
  const path = join(home, "chats", "b.jsonl");
  await throughline.storage.close();
  rmSync(path);
  mkdirSync(path);
  await using again = await openThroughline({ home, clock: moments.clock });
  const recalled = recallWords(again.chats, moments.recorder, moments.clock);
  await assert.rejects(recalled, { code: "THROUGHLINE_UNAVAILABLE" });
  const { messages } = await moments.packages.read(await moments.react({}));
  assert.deepEqual(column(messages, "text"), ["Knock from a"]);
});

for (const [passedMs, recalled, reason] of [
  [119_000, 2, null],
  [120_000, 2, "too_old"],
  [121_000, 0, "no_assistant_turn"],
  [-60_000, 0, "no_assistant_turn"],
] as const) {
  test(`of an answer ${passedMs} ms ago by the clock ${recalled} messages are recalled; a second later it is ${reason ?? "judged"}`, async () => {
    const w = await world();
    await w.turn("a", "Tell me a joke", "Knock, knock");
    w.clock.pass(passedMs);
    assert.equal(await w.recall(), recalled);
    w.clock.pass(1_000);
    assert.equal((await w.judged()).reason, reason);
  });
}

test("a chat in which nobody acted for hours is not read at a start", async (t) => {
  const w = await world();
  await w.turn("old", "Tell me a joke", "Knock, knock");
  w.clock.pass(3_600_000);
  await w.turn("new", "How are you?", "Fine");
  const read = t.mock.method(w.chats, "messages");
  assert.equal(await w.recall(), 2);
  const asked = read.mock.calls.map(({ arguments: [chatId] }) => chatId);
  assert.deepEqual(asked, ["new"]);
});

test("of several chats each keeps its own words, in the order in which they were said", async () => {
  const w = await world();
  await w.turn("a", "Tell me a joke", "Knock, knock");
  await w.turn("b", "How are you?", "Fine");
  await w.turn("a", "Who is there?", "A whale");
  assert.equal(await w.recall(), 6);
  assert.equal((await w.judged()).text, "A whale");
  assert.equal((await w.judged("b")).text, "Fine");
});

test("what was erased or cleared is not recalled, and nothing without consent", async () => {
  const w = await world();
  const joke = await w.turn("a", "Tell me a joke", "Knock, knock");
  await w.chats.erase("a", joke);
  await w.turn("b", "How are you?", "Fine");
  await w.chats.clear("b");
  w.recorder.agree({ ...everything, messages: false } as ConsentInput);
  assert.equal(await w.recall(), 0);
  w.recorder.agree(everything as ConsentInput);
  assert.equal(await w.recall(), 1);
  const { messages } = await w.judged();
  assert.deepEqual(column(messages, "text"), ["Knock, knock"]);
});

const state = { id: "0", name: "n", accepted: true, durable: false, uploaded: false };

function skills(receipt: Receipt) {
  const timers = new HeldTimers(new HeldClock());
  const inputs: MomentInput[] = [];
  const record = (input: MomentInput) => {
    inputs.push(input);
    checkLabel(input);
    return receipt;
  };
  const [positively, negatively] = rememberSkills(record, timers);
  return { timers, inputs, positively: positively!, negatively: negatively! };
}

test("the prompt of the skills is the seed's", () => {
  const when = "When someone scratches your head, remember positively what you just did.";
  const corrected = "When corrected or told to stop, remember negatively.";
  assert.equal(reactionsPrompt, `You learn from reactions. ${when} ${corrected}`);
});

for (const [sentiment, was, example] of [
  ["positive", "liked", "head scratch"],
  ["negative", "disliked", "verbal correction"],
] as const) {
  test(`a model is offered remember_${sentiment}ly as the seed describes it`, () => {
    const { positively, negatively } = skills(new Receipt(state));
    const skill = sentiment === "positive" ? positively : negatively;
    assert.equal(skill.name, `remember_${sentiment}ly`);
    assert.equal(skill.description, `Record what you did that earned a ${sentiment} reaction.`);
    assert.partialDeepStrictEqual(skill.parameters, {
      properties: {
        what: { type: "string", description: `What you did that was ${was}` },
        trigger: {
          type: "string",
          description: `What triggered the feedback (e.g. "${example}")`,
        },
      },
      required: ["what"],
    });
  });
}

test("a skill says Remembered. when the moment is durable within 1 s, and no longer waits", async () => {
  const receipt = new Receipt(state);
  const at = skills(receipt);
  const told = at.positively.handle({ what: "a joke" });
  receipt.update({ durable: true });
  assert.equal(await told, "Remembered.");
  assert.equal(at.timers.count, 0);
});

test("a skill says Noted, still saving. when nothing is known after 1 s", async () => {
  const at = skills(new Receipt(state));
  const told = at.positively.handle({ what: "a joke" });
  await at.timers.pass(1_000);
  assert.equal(await told, "Noted, still saving.");
});

test("a skill says why a moment is not recorded: a full disk, a refusal, wrong arguments", async () => {
  // F3
  const receipt = new Receipt(state);
  const full = skills(receipt);
  const told = full.positively.handle({ what: "a joke" });
  receipt.update({ reason: "disk_full" });
  assert.equal(await told, "Not recorded: disk_full.");
  const busy = skills(new Receipt({ ...state, accepted: false, reason: "busy" }));
  assert.equal(await busy.positively.handle({ what: "a joke" }), "Not recorded: busy.");
  for (const args of [{}, null, "x", { what: 3 }, { what: "" }]) {
    assert.match(await busy.positively.handle(args), /^Not recorded: what must /);
  }
});

test("recorded by rule: a pat is positive, words are negative, one of either in 30 s", () => {
  const clock = new HeldClock();
  const inputs: MomentInput[] = [];
  const react = autoRecord((input) => {
    checkLabel(input);
    inputs.push(input);
    return new Receipt(state);
  }, clock);
  assert.equal(react({ kind: "pat" }, " "), undefined);
  react({ kind: "pat" }, "a joke", "chat");
  clock.pass(29_999);
  assert.equal(react({ kind: "words", matched: ["stupid"] }, "a joke"), undefined);
  clock.pass(1);
  react({ kind: "words", matched: ["stupid"] }, "x".repeat(3_000));
  assert.deepEqual(column(inputs, "sentiment"), ["positive", "negative"]);
  assert.equal(inputs[1]?.what.length, 2_000);
});

test("a failure that is nobody's input is not told to the model as one", async () => {
  const timers = new HeldTimers(new HeldClock());
  const broken = rememberSkills(() => assert.fail("a bug"), timers)[0]!;
  await assert.rejects(broken.handle({ what: "x" }), { message: "a bug" });
  const refusing = rememberSkills(() => {
    throw invalid("no");
  }, timers)[0]!;
  assert.equal(await refusing.handle({ what: "x" }), "Not recorded: no.");
});
