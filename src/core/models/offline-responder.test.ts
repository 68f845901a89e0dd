import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import type { ModelInput } from "../chat/message.ts";
import { offlineResponder } from "./offline-responder.ts";

const user = (content: string) => ({ role: "user" as const, content });
const model = (content: string) => ({ role: "assistant" as const, content });

async function answerTo(messages: readonly ModelInput[], isKept = true): Promise<string> {
  return (await collectAnswer(offlineResponder({ isKept }), { instructions: "", messages })).text;
}

test("the first answer says what it is and how to get a model, and a later one does not", async () => {
  const answer = await answerTo([user("hello")]);
  for (const says of ["not a language model", "--model ollama/qwen3", "OPENAI_API_KEY"]) {
    assert.ok(answer.includes(says), says);
  }
  const later = await answerTo([user("hello"), model("Hello!"), user("I like tea")]);
  assert.equal(later, 'You said: "I like tea". It is kept.');
});

test("where nothing is kept, no answer says that something is", async () => {
  for (const heard of [[], [user("I like tea"), model("ok")]]) {
    const answer = await answerTo([...heard, user("   ")], false);
    assert.doesNotMatch(answer, /kept either way|it is kept/i, answer);
    assert.match(answer, /^You sent no words\. It is not kept\./);
  }
  assert.match(await answerTo([user("I like tea")], false), /Nothing that you say here is kept/);
});

test("it repeats at most 200 characters, on one line, whatever was said", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary", maxLength: 3_000 }), async (text) => {
      const answer = await answerTo([model("ok"), user(text)]);
      assert.ok(answer.length < 1_000);
      assert.doesNotMatch(answer, /\p{Cc}/u);
    }),
  );
});

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
  const request = { instructions: "", messages: [model("ok"), user("I like tea")], context };
  const { text } = await collectAnswer(offlineResponder(), request);
  assert.equal(text, 'You said: "I like tea". It is kept.');
});

test("an abort stops it with the signal's reason", async () => {
  const { error } = await collectAnswer(offlineResponder(), "hello", AbortSignal.abort("stop"));
  assert.equal(error, "stop");
});
