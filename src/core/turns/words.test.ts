import assert from "node:assert/strict";
import { test } from "node:test";
import { words } from "./words.ts";

const rows: readonly [text: string, words: readonly string[]][] = [
  ["", []],
  [" ... ?! 😀 -- '' ", []],
  ["What time is it?", ["what", "time", "is", "it"]],
  ["What's up", ["what's", "up"]],
  ["What\u2019s up", ["what's", "up"]],
  ["'stop'", ["stop"]],
  ["-well-known-", ["well-known"]],
  ["rock 'n' roll", ["rock", "n", "roll"]],
  ["stop_now", ["stop", "now"]],
  ["ｓｔｏｐ", ["stop"]],
  ["Größe 42 日本語", ["größe", "42", "日本語"]],
  ["cafe\u0301", ["café"]],
];
for (const [text, expected] of rows) {
  test(`the words of ${JSON.stringify(text)} are [${expected}]`, () => {
    assert.deepEqual(Array.from(words(text)), expected);
  });
}
