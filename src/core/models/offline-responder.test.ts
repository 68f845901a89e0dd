import assert from "node:assert/strict";
import { test } from "node:test";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import { offlineResponder } from "./offline-responder.ts";

const history = [
  { role: "user" as const, content: "I like tea" },
  { role: "assistant" as const, content: "Noted." },
  { role: "user" as const, content: "what did I say?" },
];

test("it streams a word at a time, costs nothing, and names itself", async () => {
  const responder = offlineResponder();
  assert.deepEqual(
    [responder.provider, responder.model, responder.window],
    ["offline", "offline", undefined],
  );
  const { events, error, text } = await collectAnswer(responder, "hello");
  assert.equal(error, undefined);
  const words = events.flatMap((event) => (event.type === "text" ? [event.text] : []));
  assert.ok(words.length > 20 && words.every((word) => /^\S+\s*$/.test(word)), text);
  assert.deepEqual(events.at(-1), {
    type: "end",
    finish: "stop",
    usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, costUsd: 0 },
    model: "offline",
  });
});

test("context of the application is not taken for the person's words", async () => {
  const context = "The person was away for 2 hours.";
  const request = { instructions: "", messages: history, context };
  const withContext = await collectAnswer(offlineResponder(), request);
  const without = await collectAnswer(offlineResponder(), { instructions: "", messages: history });
  assert.equal(withContext.text, without.text);
});

test("an abort stops it with the signal's reason", async () => {
  const { error } = await collectAnswer(offlineResponder(), "hello", AbortSignal.abort("stop"));
  assert.equal(error, "stop");
});
