import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type IntentType, intentTypes, isStopRequest, parseIntent } from "./intent.ts";

const rows: readonly [text: string, type: IntentType, confidence: number][] = [
  // The cases that the rules were made for.
  ["Hello", "greeting", 0.95],
  ["What time is it?", "question", 1],
  ["Can you count to five?", "command", 0.9],
  ["What's your name?", "question", 1],
  ["I was listening", "unknown", 0.1],
  ["That's early for lunch", "unknown", 0.1],
  ["Goodbye", "command", 1],
  // A stop request comes first of all.
  ["stop?", "command", 1],
  ["Stop, please", "command", 1],
  ["bus stop", "unknown", 0.1],
  ["stop talking about cats", "command", 0.75],
  ["that's quite nice", "unknown", 0.1],
  // A polite request comes before the question mark.
  ["please sing", "command", 0.9],
  ["Please, tell me a story?", "command", 0.9],
  ["could you please repeat that?", "command", 0.9],
  ["will you wait", "command", 0.9],
  ["would you open the door", "command", 0.9],
  ["can you sing?", "command", 0.9],
  ["Can you hear me?", "question", 1],
  ["Can I sing?", "question", 1],
  ["could they stop?", "question", 1],
  ["please", "unknown", 0.1],
  ["please please sing", "unknown", 0.1],
  // A question mark at the end comes before a greeting.
  ["Hello?", "question", 1],
  ["Sing?  ", "question", 1],
  ["何時ですか\uff1f", "question", 1],
  ["كم الساعة\u061f", "question", 1],
  ["???", "question", 1],
  ["Really? Yes.", "unknown", 0.1],
  // A greeting of one word or two comes before a question word.
  ["hey you", "greeting", 0.95],
  ["Good morning!", "greeting", 0.95],
  ["good evening Nova", "greeting", 0.95],
  ["good idea", "unknown", 0.1],
  ["What's up", "greeting", 0.95],
  ["Hi, play some music", "greeting", 0.95],
  ["This is what I say: hello", "unknown", 0.1],
  ["high time", "unknown", 0.1],
  // A question word, then an imperative verb, as the first word.
  ["what time is it", "question", 0.85],
  ["How\u2019s the weather", "question", 0.85],
  ["who's there", "question", 0.85],
  ["whatever", "unknown", 0.1],
  ["play some jazz", "command", 0.75],
  ["Count to five.", "command", 0.75],
  ["I count to five", "unknown", 0.1],
  ["singing in the rain", "unknown", 0.1],
  // Nothing said.
  ["", "unknown", 0],
  [" \n\t ", "unknown", 0],
  ["...", "unknown", 0.1],
];
for (const [text, type, confidence] of rows) {
  test(`${JSON.stringify(text)} is a ${type} at ${confidence}`, () => {
    assert.deepEqual(parseIntent(text), { type, confidence });
  });
}

test("a stop request may name the companion", () => {
  assert.deepEqual(parseIntent("Exit, Nova", "Nova"), { type: "command", confidence: 1 });
  assert.deepEqual(parseIntent("Exit, Nova", "Luna"), { type: "command", confidence: 0.75 });
});

test("any code units have an intent, with a confidence from 0 to 1", () => {
  const text = fc.string({ unit: fc.nat({ max: 0xffff }).map((n) => String.fromCharCode(n)) });
  fc.assert(
    fc.property(text, (utterance) => {
      const { type, confidence } = parseIntent(utterance);
      assert.ok(intentTypes.includes(type) && confidence >= 0 && confidence <= 1);
    }),
  );
});

for (const [name, text] of [
  ["one word", "a".repeat(1_000_000)],
  ["quotes", "'".repeat(1_000_000)],
  ["spaces before a letter", `${" ".repeat(1_000_000)}a`],
  ["spaces between letters", `a${" ".repeat(1_000_000)}a`],
  ["stop words", "stop ".repeat(200_000)],
  ["question marks before a letter", `${"?".repeat(1_000_000)}a`],
] as const) {
  test(`1 MB of ${name} has its intent within 2 s`, () => {
    const start = performance.now();
    parseIntent(text);
    // Takes some ms; quadratic time would be minutes. The bound leaves room for a busy machine.
    assert.ok(performance.now() - start < 2_000);
  });
}

const stopRows: readonly [utterance: string, stops: boolean][] = [
  ["stop", true],
  ["goodbye", true],
  ["quit", true],
  ["exit", true],
  ["Stop!", true],
  ["STOP", true],
  ["'stop'", true],
  ["  exit... ", true],
  ["stop stop", true],
  ["stop please", true],
  ["please stop", true],
  ["stop now", true],
  ["ok stop", true],
  ["Okay, quit now please.", true],
  ["stop, thanks", true],
  ["ｓｔｏｐ", true],
  ["-stop-", true],
  ["stop_now", true],
  ["thank you, stop", true],
  ["Thank you. Goodbye!", true],
  ["Goodbye my friend", true],
  ["goodbye yellow brick road", true],
  ["", false],
  ["?!", false],
  ["please", false],
  ["ok thank you", false],
  ["bus stop", false],
  ["exit strategy", false],
  ["stop talking about cats", false],
  ["that's quite nice", false],
  ["quite", false],
  ["unstoppable", false],
  ["stops", false],
  ["non-stop", false],
  ["don't stop", false],
  ["I said goodbye", false],
  ["ok, goodbye my friend", false],
  ["how do I quit vim", false],
  ["Where is the exit?", false],
  ["Stop, Nova", false],
];
for (const [utterance, stops] of stopRows) {
  test(`${JSON.stringify(utterance)} is ${stops ? "a" : "no"} stop request`, () => {
    assert.equal(isStopRequest(utterance), stops);
  });
}

const named: readonly [utterance: string, companion: string, stops: boolean][] = [
  ["Stop, Nova", "Nova", true],
  ["nova stop now please", "Nova", true],
  ["Stop, Reachy!", "Reachy Nova", true],
  ["Reachy Nova, exit", "Reachy Nova", true],
  ["Nova", "Nova", false],
  ["Stop, Luna", "Nova", false],
  ["Nova, stop talking", "Nova", false],
  ["exit", "Exit", true],
  ["Arrête, stop", "Arre\u0302te", true],
];
for (const [utterance, companion, stops] of named) {
  test(`${JSON.stringify(utterance)} is ${stops ? "a" : "no"} stop request to ${companion}`, () => {
    assert.equal(isStopRequest(utterance, companion), stops);
  });
}
