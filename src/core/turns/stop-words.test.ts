import assert from "node:assert/strict";
import { test } from "node:test";
import { isStopRequest } from "./intent.ts";

const rows: readonly [utterance: string, stops: boolean][] = [
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
for (const [utterance, stops] of rows) {
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
