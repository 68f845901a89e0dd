import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Line,
  type PackageShape,
  samplePackage,
} from "../../../test/support/feedback-packages.ts";
import type { Json } from "../../core/json.ts";
import { judgedTurn } from "./judged-turn.ts";
import { dpoRow, ktoRow, openaiDpoRow, packageRow, rowText, visionRow } from "./rows.ts";

function judged(shape: PackageShape = {}) {
  const { manifest, messages } = samplePackage(0, shape);
  const turn = judgedTurn(manifest, messages, 16_000);
  assert.ok(typeof turn !== "string", String(turn));
  return { manifest, messages, turn };
}
const replacement = { correction: { text: "No jokes.", kind: "replacement" } } as const;

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
      assert.equal(openaiDpoRow(manifest, turn), "no_correction");
    });
  }
});

describe("a pair for OpenAI", () => {
  const calls = (id: string): Json => [
    { id, type: "function", function: { name: "dance", arguments: '{"fast":true}' } },
  ];
  const lines = (id: string): Line[] => [
    ["USER", "Dance!"],
    ["ASSISTANT", "Look.", { tool_calls: calls("c1") }],
    ["TOOL", "danced", { tool_call_id: id }],
    ["ASSISTANT", "There."],
  ];
  const pair = (shape: PackageShape) => {
    const { manifest, turn } = judged({
      ...shape,
      manifest: { ...replacement, ...shape.manifest },
    });
    const row = openaiDpoRow(manifest, turn);
    assert.ok(typeof row === "object");
    return row;
  };

  test("has a tool's result behind the call that asked for it, and the tools in its form", () => {
    const flat = { name: "dance", description: "Dances.", inputSchema: { type: "object" } };
    const own = { type: "function", function: { name: "sing", parameters: { type: "object" } } };
    const { input } = pair({
      lines: lines("c1"),
      target: [1, 3],
      manifest: { latched: { tools: [flat, own, "unknown"] } },
    });
    const { name, description, inputSchema } = flat;
    assert.deepEqual(input, {
      messages: [
        { role: "user", content: "Dance!" },
        { role: "assistant", content: "Look.", tool_calls: calls("c1") },
        { role: "tool", tool_call_id: "c1", content: "danced" },
      ],
      tools: [{ type: "function", function: { name, description, parameters: inputSchema } }, own],
      parallel_tool_calls: true,
    });
  });

  test("leaves out a call without a result, and a result without a call", () => {
    const { input } = pair({
      lines: lines("other"),
      target: [1, 3],
      manifest: { latched: {} },
    });
    assert.deepEqual(input, { messages: [{ role: "user", content: "Dance!" }] });
  });
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
    openaiDpoRow(manifest, turn),
    packageRow(manifest, messages),
  ] as object[]) {
    assert.doesNotMatch(rowText(row), /\\+ud[89a-f]/i);
  }
});
