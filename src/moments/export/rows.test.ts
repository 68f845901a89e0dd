import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Line,
  type PackageShape,
  samplePackage,
} from "../../../test/support/feedback-packages.ts";
import { judgedTurn } from "./judged-turn.ts";
import { dpoRow, ktoRow, packageRow, rowText, visionRow } from "./rows.ts";

function judged(shape: PackageShape = {}) {
  const { manifest, messages } = samplePackage(0, shape);
  const turn = judgedTurn(manifest, messages, 16_000);
  assert.ok(typeof turn !== "string", String(turn));
  return { manifest, messages, turn };
}

test("a row with 2 pictures has 2 places for them at the last user's message, text as null", () => {
  const lines: Line[] = [
    ["USER", "Hi"],
    ["ASSISTANT", "Hello"],
    ["USER", "Look"],
    ["ASSISTANT", "A cat"],
  ];
  const { manifest, turn } = judged({ lines, target: [3, 3], manifest: { latched: {} } });
  const image = { type: "image", text: null };
  const text = (text: string) => ({ type: "text", text });
  assert.deepEqual(visionRow(manifest, turn, [0, 0, 2]), {
    id: "000000000000",
    prompt: [
      { role: "user", content: [text("Hi")] },
      { role: "assistant", content: [text("Hello")] },
      { role: "user", content: [image, image, text("Look")] },
    ],
    completion: [{ role: "assistant", content: [text("A cat")] }],
    label: true,
  });
});

describe("a preference pair", () => {
  for (const [says, correction] of [
    ["no correction", null],
    ["a note", { text: "do not shout", kind: "note" }],
    ["a blank replacement", { text: " \n", kind: "replacement" }],
    ["the answer itself", { text: judged().turn.answer, kind: "replacement" }],
  ] as const) {
    test(`is not made from ${says}`, () => {
      const { manifest, turn } = judged({ manifest: { sentiment: "negative", correction } });
      assert.equal(dpoRow(manifest, turn), "no_correction");
    });
  }
});

test("no string of a row holds a lone surrogate, whatever was said", () => {
  const bad = "a\ud800b\udc00";
  const { manifest, messages, turn } = judged({
    lines: [
      ["USER", bad],
      ["ASSISTANT", bad],
    ],
    target: [1, 1],
    manifest: {
      what: bad,
      trigger: bad,
      latched: { system_prompt: bad, [bad]: [bad] },
      correction: { text: `${bad}!`, kind: "replacement" },
    },
  });
  for (const row of [
    ktoRow(manifest, turn),
    visionRow(manifest, turn, [1]),
    dpoRow(manifest, turn),
    packageRow(manifest, messages),
  ] as object[]) {
    assert.doesNotMatch(rowText(row), /\\+ud[89a-f]/i);
  }
});
