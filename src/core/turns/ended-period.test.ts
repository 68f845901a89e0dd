// A message whose period, or its provider's part, ended before its answer came is what is asked.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chat,
  down,
  type Script,
  scriptedCompanion,
} from "../../../test/support/scripted-companion.ts";
import type { ScriptedStep } from "../../../test/support/scripted-responder.ts";
import type { FreshnessOptions } from "../chat/freshness.ts";
import type { Turn } from "./turn.ts";

const hello = { id: "t1", content: "Hello" };

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

test("a retry past the limit of messages asks for the message whose answer is regenerated", async () => {
  const c = await companion([["one"], ["two"]], { maxSessionMessages: 1 });
  await c.turns.submit(chat, hello).done;
  const { assistant } = await (await c.turns.retry(chat)).done;
  assert.deepEqual([assistant?.content, c.asked()], ["two", ["user: Hello"]]);
});

test("a message that a provider past its limit of messages answers is what is asked, alone", async () => {
  const c = await companion([["one"], [down], ["two"]], { maxSessionMessages: 1 });
  const other = { provider: "other", model: "m" };
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
