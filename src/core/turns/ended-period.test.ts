// A message whose period, or its provider's part, ended before its answer came is what is asked.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chat,
  down,
  type Script,
  scriptedCompanion,
} from "../../../test/support/scripted-companion.ts";
import { type ScriptedStep, scriptedResponder } from "../../../test/support/scripted-responder.ts";
import type { FreshnessOptions } from "../chat/freshness.ts";
import type { Turn } from "./turn.ts";

const hello = { id: "t1", content: "Hello" };
const other = { provider: "other", model: "o-1" };

const companion = (script: Script, freshness: FreshnessOptions = {}, window?: number) =>
  scriptedCompanion(script, {
    ...{ freshness, window },
    turns(scripted) {
      const standard = { provider: scripted.provider, model: scripted.model };
      const get = async (provider: string, model: string) => ({ ...scripted, provider, model });
      return { model: { standard, get } };
    },
  });
type Companion = Awaited<ReturnType<typeof companion>>;

interface End {
  readonly freshness?: FreshnessOptions;
  readonly come: (c: Companion) => unknown;
}

/** Noon passes, and the hour of the daily reset. */
const hour = 60 * 60 * 1000;
const ends: Readonly<Record<string, End>> = {
  "it was idle for too long": {
    freshness: { idleTimeoutMinutes: 30 },
    come: ({ clock }) => clock.pass(hour),
  },
  "the daily reset": {
    freshness: { dailyReset: true, timeZone: "UTC" },
    come: ({ clock }) => clock.pass(24 * hour),
  },
  "its limit of messages": { freshness: { maxSessionMessages: 1 }, come: () => undefined },
  "a person reset it": { come: ({ sessions }) => sessions.reset(chat) },
  "a person reset its provider": {
    come: ({ sessions, target }) => sessions.resetProvider(chat, target.provider),
  },
};

for (const [end, { freshness, come }] of Object.entries(ends)) {
  test(`a retry after ${end} asks for the message whose answer is regenerated`, async () => {
    const c = await companion([["one"], ["two"]], freshness);
    await c.turns.submit(chat, hello).done;
    await come(c);
    const { assistant } = await (await c.turns.retry(chat)).done;
    assert.deepEqual([assistant?.content, c.asked()], ["two", ["user: Hello"]]);
  });

  test(`a message that is answered after ${end} is what is asked, alone`, async () => {
    const c = await companion([["one"], [down], ["two"]], freshness);
    await c.turns.submit(chat, { content: "before" }).done;
    await c.turns.submit(chat, hello).done;
    await come(c);
    // A reset leaves nothing to be answered, but the same message can be sent again.
    const again = (): Turn => c.turns.submit(chat, hello);
    const { assistant } = await (await c.turns.answer(chat).catch(again)).done;
    assert.deepEqual([assistant?.content, c.asked()], ["two", ["user: Hello"]]);
  });
}

test("a message that a provider past its limit of messages answers is what is asked, alone", async () => {
  const c = await companion([["one"], [down], ["two"]], { maxSessionMessages: 1 });
  await c.turns.submit(chat, { content: "before", ...other }).done;
  await c.turns.submit(chat, { ...hello, ...c.target }).done;
  const { assistant } = await (await c.turns.answer(chat, other)).done;
  assert.deepEqual([assistant?.content, c.asked()], ["two", ["user: Hello"]]);
});

const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } } as const;
const looked: readonly ScriptedStep[] = [
  { type: "tool-call", call },
  { type: "tool-result", toolCallId: "c1", toolName: "look", content: "rain", isError: false },
];
for (const [model, window] of [
  ["a model", undefined],
  ["a model with a window of 8,192 tokens", 8_192],
] as const) {
  test(`a message whose tool was called before the model broke off is asked once of ${model}`, async () => {
    const c = await companion([[...looked, down], ["It rains"]], {}, window);
    await c.turns.submit(chat, hello).done;
    await (await c.turns.answer(chat)).done;
    assert.deepEqual(c.asked(), ["user: Hello", "assistant: ", "tool: rain"]);
  });
}

const words = { provider: "words", model: "w-1" };

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
