import assert from "node:assert/strict";
import { test } from "node:test";
import { sentencesFrom, speakable } from "./speakable.ts";

for (const [text, heard] of [
  ["**Hello** _you_", "Hello you"],
  ["# Plan\n- one\n- two", "Plan one two"],
  ["1. first", "first"],
  ["see [this](https://x.example/a?b=c)", "see this"],
  ["at https://x.example/a now", "at (a link) now"],
  ["do:\n```js\nlet x;\n```\nthen", "do: (code) then"],
  ["~~~\nlet x;\n~~~\nthen", "(code) then"],
  ["an open fence ```js let x", "an open fence (code)"],
  ["| a | b |", "a b"],
  ["   ", ""],
] as const) {
  test(`${JSON.stringify(text)} is read as ${JSON.stringify(heard)}`, () => {
    assert.equal(speakable(text), heard);
  });
}

for (const [text, from, isWhole, sentences, next] of [
  ["One. Two", 0, false, ["One. "], 5],
  ["One. Two", 5, false, [], 5],
  ["One. Two", 5, true, ["Two"], 8],
  ["Really?! Yes.", 0, true, ["Really?! ", "Yes."], 13],
  ["He said “no.” Then", 0, false, ["He said “no.” "], 14],
  ["line\nnext", 0, false, ["line\n"], 5],
  [
    "Do:\n```js\nlet x = 1.\n\nf();\n```\nEnd",
    0,
    true,
    ["Do:\n", "```js\nlet x = 1.\n\nf();\n```\n", "End"],
    34,
  ],
  ["Do:\n```js\nlet x = 1. ", 0, false, ["Do:\n"], 4],
  ["Do:\n~~~\nlet x;\nf()", 0, true, ["Do:\n", "~~~\nlet x;\nf()"], 18],
  ["3.14 is pi", 0, false, [], 0],
  ["", 0, true, [], 0],
] as const) {
  const whole = isWhole ? "whole" : "still coming";
  test(`${JSON.stringify(text)} from ${from}, ${whole}, gives ${sentences.length} sentences`, () => {
    assert.deepEqual(sentencesFrom(text, from, isWhole), { sentences, next });
  });
}
