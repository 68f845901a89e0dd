import assert from "node:assert/strict";
import { test } from "node:test";
import { channelInWords, leftInWords, uploadInWords } from "./words.ts";

const uploaded = { uploaded: [{ bucket: "b", timestamp: 0 }] };
const waiting = { uploaded: [] };

for (const [upload, status, mode, words] of [
  [true, uploaded, "local+s3", "On this machine and in the bucket b"],
  [false, uploaded, "local", "On this machine and in the bucket b"],
  [true, waiting, "local+s3", "On this machine, waiting for upload"],
  [true, null, "local+s3", "On this machine, waiting for upload"],
  [false, null, "local+s3", "On this machine only"],
  [true, null, "local", "On this machine only"],
  [true, null, undefined, "On this machine only"],
] as const) {
  const where = status === uploaded ? "uploaded" : "not uploaded";
  test(`a package that may go up (${upload}), is ${where}, in mode ${mode}: ${words}`, () => {
    assert.equal(uploadInWords(upload, status, mode), words);
  });
}

for (const [channel, trigger, words] of [
  ["touch", "head scratch", "By touch: “head scratch”"],
  ["button", "", "With a button on this page"],
  ["other", "", ""],
  ["other", "well done", "“well done”"],
] as const) {
  test(`a reaction by ${channel} with the trigger “${trigger}” is ${words}`, () => {
    assert.equal(channelInWords({ channel, trigger }), words);
  });
}

for (const [failed, words] of [
  [[], ""],
  [[{ name: "a" }], "Some of it could not be deleted from the disk. Try again."],
] as const) {
  test(`a deletion of which ${failed.length} failed says ${words}`, () => {
    assert.equal(leftInWords({ failed }), words);
  });
}
