import assert from "node:assert/strict";
import { test } from "node:test";
import { megabytesInWords, minutesInWords, sourcesInWords, standingInWords } from "./words.ts";

const nothing = {
  messages: true,
  frames: false,
  audio: false,
  upload: false,
  export: false,
  wording: null,
  timestamp: null,
  by: null,
};
const silent = { frames: false, audio: false };

for (const [agreed, coming, words] of [
  [{}, silent, "Camera and microphone are off."],
  [{ frames: true }, silent, "Consent given for camera. Not in use now."],
  [
    { frames: true, audio: true },
    { frames: false, audio: true },
    "Consent given for camera and microphone. In use by another page or device.",
  ],
] as const) {
  test(`agreed to ${JSON.stringify(agreed)}, coming in ${JSON.stringify(coming)}: “${words}”`, () => {
    assert.equal(standingInWords({ ...nothing, ...agreed }, coming), words);
  });
}

for (const [frames, audio, words] of [
  [true, true, "camera and microphone"],
  [true, false, "camera"],
  [false, true, "microphone"],
] as const) {
  test(`pictures ${frames} and sound ${audio} are “${words}”`, () => {
    assert.equal(sourcesInWords({ frames, audio }), words);
  });
}

for (const [seconds, words] of [
  [0, "0:00"],
  [9.99, "0:09"],
  [65, "1:05"],
  [120, "2:00"],
] as const) {
  test(`${seconds} s are ${words}`, () => assert.equal(minutesInWords(seconds), words));
}

test("bytes are told in millions, with one digit", () => {
  assert.equal(megabytesInWords(12_345_678), "12.3 MB");
});
