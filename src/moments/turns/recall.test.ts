import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { everything, liked, MomentsWorld } from "../../../test/support/moments-world.ts";
import { openThroughline } from "../../core/throughline.ts";
import type { ConsentInput } from "../record/consent.ts";
import { recallWords } from "./recall.ts";

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
  return {
    ...moments,
    clock: moments.clock,
    recorder: moments.recorder,
    chats,
    turn,
    recall,
    judged,
  };
}

test("a reaction right after a start is about the answer before it, with its conversation", async () => {
  const w = await world();
  await w.turn("a", "Tell me a joke", "Knock, knock");
  w.clock.pass(60_000);
  assert.equal(await w.recall(), 2);
  w.clock.pass(5_000);
  const { how, text, messages } = await w.judged();
  assert.deepEqual([how, text], ["last-assistant", "Knock, knock"]);
  const said = messages.map(({ role, t_ms, timestamp }) => [role, t_ms, timestamp]);
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
  assert.deepEqual(
    messages.map(({ text }) => text),
    ["Knock from a"],
  );
});

test("an answer is recalled for two minutes, and is too old to be judged from then on", async () => {
  const w = await world();
  await w.turn("a", "Tell me a joke", "Knock, knock");
  w.clock.pass(119_000);
  assert.equal(await w.recall(), 2);
  assert.equal((await w.judged()).how, "last-assistant");
  w.clock.pass(2_000);
  assert.equal((await w.judged()).reason, "too_old");
});

test("what was said longer ago, or later than now by the clock, is not recalled", async () => {
  const old = await world();
  await old.turn("a", "Tell me a joke", "Knock, knock");
  old.clock.pass(121_000);
  assert.equal(await old.recall(), 0);
  const later = await world();
  await later.turn("a", "Tell me a joke", "Knock, knock");
  later.clock.pass(-60_000);
  assert.equal(await later.recall(), 0);
});

test("a chat in which nobody acted for hours is not read at a start", async (t) => {
  const w = await world();
  await w.turn("old", "Tell me a joke", "Knock, knock");
  w.clock.pass(3_600_000);
  await w.turn("new", "How are you?", "Fine");
  const read = t.mock.method(w.chats, "messages");
  assert.equal(await w.recall(), 2);
  assert.deepEqual(
    read.mock.calls.map(({ arguments: [chatId] }) => chatId),
    ["new"],
  );
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
  assert.deepEqual(
    messages.map(({ text }) => text),
    ["Knock, knock"],
  );
});

for (const agoMs of [-1, Number.NaN, Number.POSITIVE_INFINITY, "5"]) {
  test(`a message said ${agoMs} ms ago is refused`, async () => {
    const { recorder } = await world();
    const message = { role: "user", text: "Hello", agoMs: agoMs as number } as const;
    assert.throws(() => recorder.message(message), { code: "THROUGHLINE_INVALID" });
    assert.equal(recorder.record(liked).accepted, true);
  });
}
