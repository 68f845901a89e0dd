import assert from "node:assert/strict";
import { test } from "node:test";
import { channelInWords, leftInWords, uploadInWords } from "./words.ts";

const uploaded = { uploaded: [{ bucket: "b", timestamp: 0 }] };
const waiting = { uploaded: [] };

for (const [upload, status, mode, words] of [
  [true, uploaded, "local+s3", "Here, and in the bucket b"],
  [false, uploaded, "local", "Here, and in the bucket b"],
  [true, waiting, "local+s3", "Here; waits for upload"],
  [true, null, "local+s3", "Here; waits for upload"],
  [false, null, "local+s3", "On this machine alone"],
  [true, null, "local", "On this machine alone"],
  [true, null, undefined, "On this machine alone"],
] as const) {
  const where = status === uploaded ? "uploaded" : "not uploaded";
  test(`a package that may go up (${upload}), is ${where}, in mode ${mode}: ${words}`, () => {
    assert.equal(uploadInWords(upload, status, mode), words);
  });
}

for (const [channel, trigger, words] of [
  ["touch", "head scratch", "By touch: “head scratch”"],
  ["button", "", "By a button of this page"],
  ["other", "", ""],
  ["other", "well done", "“well done”"],
] as const) {
  test(`a reaction by ${channel} with the trigger “${trigger}” is ${words}`, () => {
    assert.equal(channelInWords({ channel, trigger }), words);
  });
}

for (const [failed, isBucketSearched, words] of [
  [[], true, ""],
  [[{ name: "a" }], true, "Some of it could not be deleted from the disk. Try again."],
  [[{ name: "a" }], false, "Some of it could not be deleted from the disk. Try again."],
  [[], false, "It is not on this machine, and the bucket could not be searched. Try again later."],
] as const) {
  test(`a deletion of which ${failed.length} failed, the bucket searched: ${isBucketSearched}, says ${words}`, () => {
    assert.equal(leftInWords({ failed, isBucketSearched }), words);
  });
}
