import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { collectAnswer } from "../../../test/support/collect-answer.ts";
import { historyView } from "../chat/history.ts";
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

const rows: readonly [string, RegExp][] = [
  ["what did I say?", /^Before this you said: "I like tea"\.$/],
  ["What have I just told you", /"I like tea"/],
  ["Do you remember my name?", /"I like tea"/],
  ["Who are you?", /built-in responder, not a language model/],
  ["help", /--model/],
  ["How do I configure a model?", /--model/],
  ["history is fun", /^You said: "history is fun"/],
  ["   ", /^You sent no words\./],
];
test("it answers what it is, what was said, and how to get a model", async () => {
  for (const [words, answer] of rows) {
    const heard = [user("I like tea"), model("So I heard."), user(words)];
    assert.match(await answerTo(heard), answer, words);
  }
  assert.match(await answerTo([user("what did I say?")]), /first message of yours/);
});

test("what a history puts before a person's words is not repeated as theirs", async () => {
  const records = [model("The dentist is at 9"), user("I like tea")].map((each, n) => {
    return { id: `m${n + 1}`, seq: n + 1, timestamp: "2026-03-03T10:00:00.000Z", ...each };
  });
  const { messages } = historyView(records, { provider: "offline", model: "offline" });
  assert.match(messages.map(({ content }) => content).join(), /The dentist/);
  assert.match(await answerTo(messages), /^You said: "I like tea"\. /);
});

test("where nothing is kept, no answer says that something is", async () => {
  for (const [words] of rows) {
    for (const heard of [[user(words)], [user("I like tea"), model("ok"), user(words)]]) {
      const answer = await answerTo(heard, false);
      assert.doesNotMatch(answer, /kept either way|it is kept/i, answer);
    }
  }
  assert.match(await answerTo([user("I like tea")], false), /Nothing that you say here is kept/);
});

test("it repeats at most 200 characters, on one line, whatever was said", async () => {
  const words = fc.string({ unit: "binary", maxLength: 3_000 });
  const heardIn = fc.tuple(words, fc.boolean()).map(([text, recalled]) => {
    if (recalled) return [user(text), model("ok"), user("what did I say?")];
    return [model("ok"), user(text)];
  });
  await fc.assert(
    fc.asyncProperty(heardIn, async (heard) => {
      const answer = await answerTo(heard);
      assert.ok(answer.length < 1_000);
      assert.doesNotMatch(answer, /\p{Cc}/u);
    }),
  );
});

test("its patterns are linear: 100 KB of the worst words take less than a second", async () => {
  for (const piece of ["what did i ", "how ", "   ", "!"]) {
    const text = piece.repeat(Math.ceil(100_000 / piece.length));
    const started = performance.now();
    await answerTo([user(text)]);
    assert.ok(performance.now() - started < 1_000, piece);
  }
});

test("it streams a word at a time, costs nothing, and names itself", async () => {
  const { events, error, text } = await collectAnswer(offlineResponder(), "hello");
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

test("an abort stops it with the signal's reason", async () => {
  const { error } = await collectAnswer(offlineResponder(), "hello", AbortSignal.abort("stop"));
  assert.equal(error, "stop");
});
