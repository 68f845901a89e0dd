import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { offlineAnswer } from "./offline-answer.ts";

const user = (text: string) => ({ role: "user" as const, text });
const model = (text: string) => ({ role: "assistant" as const, text });

test("the first answer says what it is and how to get a model", () => {
  const answer = offlineAnswer([user("hello")]);
  for (const says of [
    "Hello!",
    "not a language model",
    "--model ollama/qwen3",
    "OPENAI_API_KEY",
    "--model openai/",
  ]) {
    assert.ok(answer.includes(says), says);
  }
});

test("a later answer does not repeat the introduction", () => {
  const answer = offlineAnswer([user("hello"), model("Hello!"), user("I like tea")]);
  assert.equal(
    answer,
    'You said: "I like tea". It is message 3 that I can see here, and it is kept.',
  );
});

const rows: readonly [string, RegExp][] = [
  ["Hello again", /^Hello again!$/],
  ["Guten Morgen", /^Hello again!$/],
  ["Olá!", /^Hello again!$/],
  [
    "what did I say?",
    /^Before this you said: "I like tea"\. I can see 3 messages of our conversation\.$/,
  ],
  ["What have I just told you", /"I like tea"/],
  ["Do you remember my name?", /"I like tea"/],
  ["how many messages are there?", /^I can see 3 messages/],
  ["Who are you?", /built-in responder, not a language model/],
  ["are you an AI", /built-in responder/],
  ["help", /--model/],
  ["How do I configure a model?", /--model/],
  ["Thanks!", /welcome/],
  ["bye", /still be here/],
  ["history is fun", /^You said: "history is fun"/],
  ["   ", /^You sent no words\./],
];
for (const [words, answer] of rows) {
  test(`${JSON.stringify(words)} is answered with ${answer.source}`, () => {
    assert.match(offlineAnswer([user("I like tea"), model("So I heard."), user(words)]), answer);
  });
}

const whereNothingIsKept: readonly [string, RegExp][] = [
  [
    "I like tea",
    /^You said: "I like tea"\. It is message 3 that I can see here, and it is not kept\.$/,
  ],
  ["bye", /^Goodbye\. Nothing of what we said is kept\.$/],
  ["Who are you?", /not a language model.* Nothing that you say here is kept: it is gone /],
];
for (const [words, answer] of whereNothingIsKept) {
  test(`where nothing is kept, ${JSON.stringify(words)} is answered with ${answer.source}`, () => {
    const heard = [user("I like tea"), model("So I heard."), user(words)];
    assert.match(offlineAnswer(heard, false), answer);
  });
}

test("where nothing is kept, no answer says that something is", () => {
  for (const [words] of rows) {
    for (const heard of [[user(words)], [user("I like tea"), model("ok"), user(words)]]) {
      const answer = offlineAnswer(heard, false);
      assert.doesNotMatch(answer, /still be here|kept either way|and it is kept/, answer);
    }
  }
});

test("asked for words that are not there, it says so", () => {
  assert.match(offlineAnswer([user("what did I say?")]), /first message of yours/);
});

test("it repeats at most 200 characters, on one line, whatever was said", () => {
  const words = fc.string({ unit: "binary", maxLength: 3_000 });
  fc.assert(
    fc.property(words, fc.boolean(), (text, recalled) => {
      const heard = recalled
        ? [user(text), model("ok"), user("what did I say?")]
        : [model("ok"), user(text)];
      const answer = offlineAnswer(heard);
      assert.ok(answer.length < 1_000);
      assert.doesNotMatch(answer, /\p{Cc}/u);
    }),
  );
});

test("its patterns are linear: 100 KB of the worst words take less than a second", () => {
  for (const piece of ["what did i ", "hi ", "good ", "my ", "how ", "   ", "!"]) {
    const text = piece.repeat(Math.ceil(100_000 / piece.length));
    const started = performance.now();
    offlineAnswer([user(text)]);
    assert.ok(performance.now() - started < 1_000, piece);
  }
});
