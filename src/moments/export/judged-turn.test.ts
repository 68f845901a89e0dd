import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  type Line,
  type PackageShape,
  samplePackage,
} from "../../../test/support/feedback-packages.ts";
import type { FrameEntry, Manifest } from "../package/record.ts";
import { judgedTurn } from "./judged-turn.ts";
import { chooseFrames, plainPrompt } from "./rows.ts";

const noSystem: Partial<Manifest> = { latched: {} };

/** The prompt as `role: text` and the answer; or why there is no row. */
function taken(shape: PackageShape, maxPromptChars = 16_000) {
  const { manifest, messages } = samplePackage(0, { manifest: noSystem, ...shape });
  const turn = judgedTurn(manifest, messages, maxPromptChars);
  if (typeof turn === "string") return turn;
  const prompt = plainPrompt(turn).map(({ role, content }) => `${role}: ${content}`);
  return { prompt, answer: turn.answer, cutTurns: turn.cutTurns };
}

const asked: Line = ["USER", "Tell me a joke."];
const told: Line = ["ASSISTANT", "Knock, knock."];
const praise: Line = ["USER", "Haha, good!"];
const hint: Line = ["USER", "[They liked it.]", { synthetic: "pat_hint" }];
const beKind: Partial<Manifest> = { latched: { system_prompt: "Be kind." } };
const call = [{ id: "c1", type: "function", function: { name: "dance", arguments: "{}" } }];

describe("the answer and its prompt", () => {
  /** The prompt and the answer, where they are not the joke's. */
  type Row = readonly [says: string, shape: PackageShape, prompt?: string[], answer?: string];
  const rows: readonly Row[] = [
    ["a joke, and praise that stays out", { lines: [asked, told, praise], target: [1, 1] }],
    [
      "a system prompt from before the window",
      { lines: [asked, told], target: [1, 1], manifest: beKind },
      ["system: Be kind.", "user: Tell me a joke."],
    ],
    [
      "the same system prompt in the window too",
      { lines: [["SYSTEM", "Be kind."], asked, told], target: [2, 2], manifest: beKind },
      ["system: Be kind.", "user: Tell me a joke."],
    ],
    [
      "a system prompt that was too large to keep",
      {
        lines: [asked, told],
        target: [1, 1],
        manifest: { latched: { system_prompt: { sha256: "00", omitted: "too_large" } } },
      },
    ],
    [
      "pieces of one role",
      {
        lines: [["USER", "Hey"], ["USER", "you"], ["ASSISTANT", "Yes?"], asked, told, told],
        target: [4, 5],
      },
      ["user: Hey\n\nyou", "assistant: Yes?", "user: Tell me a joke."],
      "Knock, knock.\n\nKnock, knock.",
    ],
    ["synthetic text on the way", { lines: [asked, hint, told, praise], target: [2, 2] }],
    [
      "synthetic text within the answer",
      { lines: [asked, told, hint, told], target: [1, 3] },
      ["user: Tell me a joke."],
      "Knock, knock.\n\nKnock, knock.",
    ],
    [
      "praise that was written down before the end of the answer",
      { lines: [asked, told, praise, told], target: [1, 3], praise: 2 },
      ["user: Tell me a joke."],
      "Knock, knock.\n\nKnock, knock.",
    ],
    [
      "praise of another turn within the prompt",
      {
        lines: [
          ["USER", asked[1], { turn_id: "t1" }],
          ["USER", praise[1], { turn_id: "t2" }],
          ["USER", "Really.", { turn_id: "t2" }],
          ["ASSISTANT", told[1], { turn_id: "t1" }],
        ],
        target: [3, 3],
        praise: 1,
      },
    ],
    [
      "an answer that was interrupted",
      {
        lines: [asked, ["ASSISTANT", "Knock, knock.", { interrupted: true, delivered: "Knock," }]],
        target: [1, 1],
      },
      ["user: Tell me a joke."],
      "Knock,",
    ],
    [
      "a tool's result in the judged turn",
      {
        lines: [
          ["USER", "Dance!"],
          ["ASSISTANT", "", { tool_calls: call }],
          ["TOOL", "danced", { tool_call_id: "c1" }],
          ["ASSISTANT", "There."],
          praise,
        ],
        target: [1, 3],
      },
      ["user: Dance!", "tool: danced"],
      "There.",
    ],
    [
      "words, then a tool, then no words",
      {
        lines: [
          ["USER", "Dance!"],
          ["ASSISTANT", "Look.", { tool_calls: call }],
          ["TOOL", "danced", { tool_call_id: "c1" }],
        ],
        target: [1, 2],
      },
      ["user: Dance!"],
      "Look.",
    ],
    [
      "the end of an answer whose question the window cut off",
      { lines: [["ASSISTANT", "…and so on."], ["TOOL", "x"], asked, told], target: [3, 3] },
    ],
    [
      "a system message just before the answer",
      { lines: [asked, ["SYSTEM", "Battery low."], told], target: [2, 2] },
    ],
  ];
  for (const [says, shape, prompt = ["user: Tell me a joke."], answer = "Knock, knock."] of rows) {
    test(`are right with ${says}`, () => {
      assert.deepEqual(taken(shape), { prompt, answer, cutTurns: 0 });
    });
  }
});

describe("there is no row", () => {
  const rows: readonly (readonly [says: string, shape: PackageShape, reason: string])[] = [
    ["without a target", { target: null }, "no_target"],
    [
      "when nothing was delivered",
      { lines: [asked, ["ASSISTANT", "Knock", { delivered: "" }]], target: [1, 1] },
      "empty_completion",
    ],
    [
      "when the turn only called a tool",
      {
        lines: [asked, ["ASSISTANT", " ", { tool_calls: call }], ["TOOL", "ok"]],
        target: [1, 2],
      },
      "empty_completion",
    ],
    ["when the target lies outside", { lines: [asked], target: [1, 1] }, "empty_completion"],
    [
      "when only synthetic text was asked",
      { lines: [hint, told], target: [1, 1] },
      "synthetic_prompt",
    ],
    [
      "when synthetic text was asked after an answer",
      { lines: [asked, told, hint, told], target: [3, 3] },
      "synthetic_prompt",
    ],
    ["when nobody asked", { lines: [told], target: [0, 0] }, "synthetic_prompt"],
  ];
  for (const [says, shape, reason] of rows) {
    test(`${says}: ${reason}`, () => assert.equal(taken(shape), reason));
  }
});

describe("a prompt that is too long", () => {
  const turn = (id: string, length: number): Line[] => [
    ["USER", "u".repeat(length / 2), { turn_id: id }],
    ["ASSISTANT", "a".repeat(length / 2), { turn_id: id }],
  ];
  const lines: Line[] = [
    ...turn("t1", 100),
    ...turn("t2", 100),
    ["USER", "why?", { turn_id: "t3" }],
    ["ASSISTANT", "Because.", { turn_id: "t3" }],
  ];
  const shape: PackageShape = { lines, target: [5, 5] };
  for (const [max, turns, cut] of [
    [204, 5, 0],
    [203, 3, 1],
    [104, 3, 1],
    [103, 1, 2],
    [1, 1, 2],
  ] as const) {
    test(`of 204 characters against ${max} loses ${cut} whole turns`, () => {
      const found = taken(shape, max);
      assert.ok(typeof found === "object");
      assert.deepEqual([found.prompt.length, found.cutTurns], [turns, cut]);
      assert.equal(found.prompt.at(-1), "user: why?");
    });
  }

  test("counts the system prompt, which stays", () => {
    const latched = { system_prompt: "s".repeat(100) };
    const found = taken({ ...shape, manifest: { latched } }, 204);
    assert.ok(typeof found === "object");
    assert.deepEqual([found.cutTurns, found.prompt[0]], [1, `system: ${latched.system_prompt}`]);
  });

  test("is cut where a user speaks when no message names its turn", () => {
    const plain = lines.map(([role, text]): Line => [role, text]);
    const found = taken({ lines: plain, target: [5, 5] }, 104);
    assert.ok(typeof found === "object");
    assert.deepEqual([found.prompt.length, found.cutTurns], [3, 1]);
  });
});

function frame(t_ms: number | null): FrameEntry {
  const unknown = { timestamp: null, seq: null, camera: null, source_t_ms: null };
  return { file: `frames/${t_ms}.jpg`, t_ms, width: 1, height: 1, ...unknown };
}
const every = (ms: number, from: number, to: number) =>
  Array.from({ length: Math.floor((to - from) / ms) + 1 }, (_, n) => frame(from + n * ms));
const times = (frames: readonly FrameEntry[]) => frames.map(({ t_ms }) => t_ms);

const rows: readonly (readonly [
  says: string,
  frames: readonly FrameEntry[],
  startMs: number | null,
  max: number,
  chosen: readonly (number | null)[],
])[] = [
  ["no pictures", [], -5_000, 8, []],
  ["a maximum of none", every(500, -2_000, 0), -1_000, 0, []],
  ["pictures after the trigger alone", every(500, 500, 2_000), -1_000, 8, []],
  ["pictures without a time", [frame(null)], -1_000, 8, []],
  ["pictures of long before the turn", every(500, -60_000, -20_000), -5_000, 8, []],
  ["one shortly before the turn", [frame(-9_000)], -5_000, 8, [-9_000]],
  ["fewer than the maximum", every(1_000, -3_000, 2_000), -2_100, 8, [-3_000, -2_000, -1_000, 0]],
  ["many", every(500, -120_000, 10_000), -10_000, 3, [-10_000, -5_000, 0]],
  ["many, and room for one", every(500, -120_000, 10_000), -10_000, 1, [0]],
  ["many, in no order", every(500, -9_000, 0).reverse(), -9_000, 3, [-9_000, -4_500, 0]],
  ["a turn whose start is not known", every(500, -8_000, 0), null, 3, [-8_000, -4_000, 0]],
  ["a start after the trigger", every(500, -2_000, 2_000), 700, 8, [0]],
];
for (const [says, frames, startMs, max, chosen] of rows) {
  test(`of ${says}, ${max} at most from ${startMs} ms, ${chosen.length} are chosen: ${chosen}`, () => {
    assert.deepEqual(times(chooseFrames(frames, startMs, max)), chosen);
  });
}

test("any choice is within the maximum, in order, without repeats, and shows no reaction", () => {
  const anyFrames = fc.array(fc.option(fc.integer({ min: -120_000, max: 30_000 })), {
    maxLength: 60,
  });
  const anyStart = fc.option(fc.integer({ min: -120_000, max: 0 }));
  fc.assert(
    fc.property(anyFrames, anyStart, fc.integer({ min: 1, max: 10 }), (list, start, max) => {
      const chosen = times(chooseFrames([...new Set(list)].map(frame), start, max));
      assert.ok(chosen.length <= max);
      const inOrder = [...new Set(chosen)].toSorted((a, b) => (a ?? 0) - (b ?? 0));
      assert.deepEqual(chosen, inOrder);
      for (const t of chosen) assert.ok(t !== null && t <= 0);
      // The last picture before the trigger always is among them.
      const may = list.filter((t) => t !== null && t <= 0 && t >= (start ?? -1e9) - 5_000);
      const best = may.filter((t) => t !== null).toSorted((a, b) => b - a)[0];
      if (best !== undefined) assert.ok(chosen.includes(best));
    }),
  );
});
