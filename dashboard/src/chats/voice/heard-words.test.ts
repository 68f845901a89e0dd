import assert from "node:assert/strict";
import { test } from "node:test";
import { type HeardPart, heardIn } from "./heard-words.ts";

const final = (transcript: string): HeardPart => ({ transcript, isFinal: true, confidence: 0.9 });
const growing = (transcript: string): HeardPart => ({ transcript, isFinal: true, confidence: 0 });
const interim = (transcript: string): HeardPart => ({ transcript, isFinal: false });

for (const [name, parts, expected] of [
  ["nothing", [], ["", ""]],
  ["one sentence on a desktop", [interim("good mor")], ["", "good mor"]],
  ["a second one", [final("good morning"), interim(" how are")], ["good morning", " how are"]],
  ["both", [final("good morning"), final(" how are you")], ["good morning how are you", ""]],
  ["Android: each part repeats", [final("hello"), final("hello world")], ["hello world", ""]],
  ["Android: it still grows", [growing("hello"), growing("hello world")], ["", "hello world"]],
  ["it grows on", [final("hello"), interim("hello world")], ["hello", " world"]],
  ["Android: two sentences", [final("hello"), final("good night")], ["hello good night", ""]],
  ["a word that is said again", [final("no"), final(" no no")], ["no no no", ""]],
  ["Chinese", [final("你"), final("你好"), final("明天")], ["你好明天", ""]],
  ["Thai", [final("สวัสดี"), final("ครับ")], ["สวัสดีครับ", ""]],
  ["an emoji", [final("hi 😀"), final("there")], ["hi 😀 there", ""]],
] as const) {
  test(`what is heard: ${name}`, () => {
    const heard = heardIn(parts);
    assert.deepEqual([heard.final, heard.interim], expected);
  });
}
