import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConsentAsked, consentWords } from "./consent-words.ts";

const both: ConsentAsked = {
  camera: true,
  microphone: true,
  bucket: null,
  upload: false,
  export: false,
};
const text = (asked: Partial<ConsentAsked>) => consentWords({ ...both, ...asked }).join("\n");

for (const camera of [true, false]) {
  for (const microphone of [true, false]) {
    for (const bucket of [null, "my-bucket"]) {
      for (const upload of [true, false]) {
        const asked = { camera, microphone, bucket, upload };
        test(`what is asked for ${JSON.stringify(asked)} says how much, where, and fits`, () => {
          const words = text(asked);
          assert.match(words, /the last two minutes of picture and sound/);
          assert.ok(words.length < 2_000);
          const leaves = upload && bucket !== null;
          assert.equal(words.includes("my-bucket"), leaves);
          assert.equal(words.includes("not sent anywhere else"), !leaves);
        });
      }
    }
  }
}

for (const [asked, words] of [
  [{ microphone: false }, "The camera is turned on"],
  [{ camera: false }, "The microphone is turned on"],
  [{}, "The camera and the microphone are turned on"],
  [{ export: true }, "It may be exported for training"],
  [{ export: false }, "It is not exported for training"],
] as const) {
  test(`what is asked for ${JSON.stringify(asked)} says “${words}”`, () => {
    assert.ok(text(asked).includes(words));
  });
}
