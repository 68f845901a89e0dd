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
  ["stop talking about cats", "command", 0.75],
  ["that's quite nice", "unknown", 0.1],
  // A polite request comes before the question mark.
  ["please sing", "command", 0.9],
  ["could you please repeat that?", "command", 0.9],
  ["would you open the door", "command", 0.9],
  ["Can you hear me?", "question", 1],
  ["Can I sing?", "question", 1],
  ["could they stop?", "question", 1],
  ["please please sing", "unknown", 0.1],
  // A question mark at the end comes before a greeting.
  ["Sing?  ", "question", 1],
  ["何時ですか\uff1f", "question", 1],
  ["كم الساعة\u061f", "question", 1],
  ["???", "question", 1],
  ["Really? Yes.", "unknown", 0.1],
  // A greeting of one word or two comes before a question word.
  ["hey you", "greeting", 0.95],
  ["Good morning!", "greeting", 0.95],
  ["good idea", "unknown", 0.1],
  ["What's up", "greeting", 0.95],
  ["Hi, play some music", "greeting", 0.95],
  ["This is what I say: hello", "unknown", 0.1],
  // A question word, then an imperative verb, as the first word.
  ["what time is it", "question", 0.85],
  ["How\u2019s the weather", "question", 0.85],
  ["whatever", "unknown", 0.1],
  ["play some jazz", "command", 0.75],
  ["I count to five", "unknown", 0.1],
  ["singing in the rain", "unknown", 0.1],
  // Nothing said.
  ["", "unknown", 0],
  [" \n\t ", "unknown", 0],
  ["...", "unknown", 0.1],
];
test("an utterance has the intent of the first rule that fits, and its confidence", () => {
  for (const [text, type, confidence] of rows) {
    assert.deepEqual(parseIntent(text), { type, confidence }, text);
  }
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

test("1 MB of any kind has its intent within 2 s", () => {
  const long = ["a", "'", "stop "].map((text) => text.repeat(1_000_000 / text.length));
  for (const text of [
    ...long,
    `${" ".repeat(1e6)}a`,
    `a${" ".repeat(1e6)}a`,
    `${"?".repeat(1e6)}a`,
  ]) {
    const start = performance.now();
    parseIntent(text);
    // Takes some ms; quadratic time would be minutes. The bound leaves room for a busy machine.
    assert.ok(performance.now() - start < 2_000, text.slice(0, 5));
  }
});

const stopRows: readonly [utterance: string, stops: boolean, companion?: string][] = [
  ["stop", true],
  ["goodbye", true],
  ["exit", true],
  ["Stop!", true],
  ["'stop'", true],
  ["  exit... ", true],
  ["stop stop", true],
  ["Okay, quit now please.", true],
  ["ｓｔｏｐ", true],
  ["-stop-", true],
  ["stop_now", true],
  ["thank you, stop", true],
  ["Goodbye my friend", true],
  ["", false],
  ["?!", false],
  ["ok thank you", false],
  ["bus stop", false],
  ["stop talking about cats", false],
  ["that's quite nice", false],
  ["unstoppable", false],
  ["non-stop", false],
  ["I said goodbye", false],
  ["ok, goodbye my friend", false],
  ["how do I quit vim", false],
  ["Stop, Nova", false],
  ["Stop, Nova", true, "Nova"],
  ["Stop, Reachy!", true, "Reachy Nova"],
  ["Nova", false, "Nova"],
  ["Stop, Luna", false, "Nova"],
  ["Nova, stop talking", false, "Nova"],
  ["exit", true, "Exit"],
  ["Arrête, stop", true, "Arre\u0302te"],
];
test("a stop request is stop words, courtesies and the companion's name, and nothing else", () => {
  for (const [utterance, stops, companion] of stopRows) {
    assert.equal(isStopRequest(utterance, companion), stops, `${utterance} to ${companion}`);
  }
});
