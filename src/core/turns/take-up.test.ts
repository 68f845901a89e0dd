// A message that nobody answered is sent again, or taken up, when others were said since.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, down, scriptedCompanion } from "../../../test/support/scripted-companion.ts";

const first = { id: "t1", content: "What is the time?" };
const second = { id: "t2", content: "And the weather?" };

for (const [model, window, view] of [
  [
    "a model",
    undefined,
    [
      "user: What is the time?\n\nAnd the weather?",
      "assistant: It rains",
      "user: What is the time?",
    ],
  ],
  ["a model with a window of 4,096 tokens", 4_096, ["user: What is the time?"]],
] as const) {
  test(`a message that is sent again after another was answered is the last that ${model} reads`, async () => {
    const c = await scriptedCompanion([[down], ["It rains"], ["It is noon"]], { window });
    assert.equal((await c.turns.submit(chat, first).done).outcome, "failed");
    await c.turns.submit(chat, second).done;
    const { assistant } = await c.turns.submit(chat, first).done;
    assert.equal(assistant?.content, "It is noon");
    assert.deepEqual(c.asked(), view);
  });
}

test("a message that is sent again while a later one has no answer either is the last that a model reads", async () => {
  const c = await scriptedCompanion([[down], [down], ["It is noon"], ["It rains"]]);
  await c.turns.submit(chat, first).done;
  await c.turns.submit(chat, second).done;
  await c.turns.submit(chat, first).done;
  assert.deepEqual(c.asked(), ["user: What is the time?\n\nAnd the weather?\n\nWhat is the time?"]);
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
