import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, scriptedCompanion } from "../../../test/support/scripted-companion.ts";
import { scriptedResponder } from "../../../test/support/scripted-responder.ts";

const words = { provider: "words", model: "w-1" };
const other = { provider: "other", model: "o-1" };

async function world(window?: number) {
  const models = [words, other, { provider: "offline", model: "offline" }].map((target) =>
    scriptedResponder([["1"], ["2"], ["3"]], { ...target, ...(window ? { window } : {}) }),
  );
  const of = (provider: string) => models.find((each) => each.provider === provider);
  const get = async (provider: string) => of(provider) ?? assert.fail();
  const c = await scriptedCompanion([], { ...words, turns: { model: { standard: words, get } } });
  const { sessions, turns } = c;
  const say = (content: string, target = {}) => turns.submit(chat, { content, ...target }).done;
  const asked = (provider: string) => {
    const { messages, context } = of(provider)?.requests.at(-1) ?? assert.fail();
    return { messages: messages.map(({ content }) => content), context };
  };
  const beginAgain = async (target = {}) =>
    sessions.resetProvider(chat, (await turns.target(chat, target)).provider, { isNext: true });
  return { sessions, beginAgain, say, asked };
}

test("who begins again does so with the provider that the chat runs on; the others go on", async () => {
  const w = await world();
  await w.say("One", other);
  await w.say("Two", words);
  const period = await w.beginAgain();
  assert.deepEqual([period.generation, period.provider, period.message_count], [1, "words", 0]);
  assert.deepEqual(Object.keys(period.provider_sessions), ["other"]);
  await w.say("Three");
  assert.deepEqual(w.asked("words").messages, ["Three"]);
  await w.say("Four", other);
  assert.deepEqual(w.asked("other").messages, ["One", "1", "Two", "1", "Three", "2", "Four"]);
});

test("it is the provider that the next turn runs on, also where the period names another", async () => {
  const w = await world();
  await w.say("One", other);
  await w.beginAgain(words);
  assert.equal((await w.sessions.active(chat))?.provider, "other");
  await w.say("Two", words);
  assert.deepEqual(w.asked("words").messages, ["Two"]);
});

test("a chat that had no model begins again with the one that answers next", async () => {
  const w = await world();
  await w.say("One", { provider: "offline", model: "offline" });
  await w.beginAgain();
  await w.say("Two");
  assert.deepEqual(w.asked("words").messages, ["Two"]);
});

test("a model with a small window is not told what was said before either", async () => {
  const w = await world(4_096);
  await w.say("My PIN is 4711");
  await w.beginAgain();
  await w.say("Hi");
  assert.doesNotMatch(JSON.stringify(w.asked("words")), /4711/);
});
