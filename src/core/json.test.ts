import assert from "node:assert/strict";
import { test } from "node:test";
import { wellFormed, wellFormedJson } from "./json.ts";

for (const [value, json] of [
  ["\ud83d", '"\ufffd"'],
  ["\\ud83d", '"\\\\ud83d"'],
  ["\\\ud83d \ud83d\ude00 \ude00", '"\\\\\ufffd \ud83d\ude00 \ufffd"'],
  [{ a: ["\udbff"] }, '{"a":["\ufffd"]}'],
] as const) {
  test(`${JSON.stringify(value)} is written as JSON that every reader takes`, () => {
    assert.equal(wellFormedJson(value), json);
    assert.deepEqual(JSON.parse(json), wellFormed(value));
  });
}
