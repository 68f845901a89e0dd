import assert from "node:assert/strict";
import { test } from "node:test";
import { attachmentNotes, modelFamily } from "./model-row.ts";

const families: readonly [model: string, family: string][] = [
  ["gpt-5", "gpt-5"],
  ["gpt-5-2025-08-07", "gpt-5"],
  ["gpt-4-0613", "gpt-4"],
  ["gpt-4o-mini", "gpt-4o-mini"],
  ["GPT-4o-2024-08-06", "gpt-4o"],
  ["claude-3-5-sonnet-20241022", "claude-3-5-sonnet"],
  ["claude-3-5-sonnet-latest", "claude-3-5-sonnet"],
  ["claude-sonnet-4@20250514", "claude-sonnet-4"],
  ["anthropic.claude-sonnet-4-20250514-v1:0", "anthropic.claude-sonnet-4"],
  ["mistral-large-2407", "mistral-large"],
  ["doubao-pro-32k-250115", "doubao-pro-32k"],
  ["qwen3:8b", "qwen3"],
  ["qwen3", "qwen3"],
  ["gemini-2.5-flash", "gemini-2.5-flash"],
  ["llama-3.1-405b", "llama-3.1-405b"],
  ["model-12345", "model-12345"],
  ["model-2025x", "model-2025x"],
  ["", ""],
];
for (const [model, family] of families) {
  test(`${JSON.stringify(model)} is of the family ${JSON.stringify(family)}`, () => {
    assert.equal(modelFamily(model), family);
  });
}

const noteRows: readonly [attachments: unknown, notes: string][] = [
  [undefined, ""],
  ["x", ""],
  [[], ""],
  [[null, 7, "x", []], ""],
  [[{ name: "a.jpg", type: "image/jpeg" }], "[image: a.jpg]"],
  [[{ name: "a.wav", type: "AUDIO/wav" }], "[audio: a.wav]"],
  [[{ name: "a.mp4", type: "video/mp4" }], "[video: a.mp4]"],
  [[{ name: "a.pdf", type: "application/pdf" }], "[file: a.pdf]"],
  [[{ name: "a", type: "image" }], "[file: a]"],
  [[{ name: "a" }, { name: "b" }], "[file: a]\n[file: b]"],
  [[{}, { name: 7 }, { name: " \n" }], "[file: unnamed]\n[file: unnamed]\n[file: unnamed]"],
  [[{ name: "a]\n[b\u2028c\u202ed\u0000e" }], "[file: a b c d e]"],
  [[{ name: "x".repeat(80) }], `[file: ${"x".repeat(80)}]`],
  [[{ name: "👩".repeat(81) }], `[file: ${"👩".repeat(79)}…]`],
];
for (const [attachments, notes] of noteRows) {
  test(`attachments ${JSON.stringify(attachments)?.slice(0, 60)} read ${JSON.stringify(notes.slice(0, 60))}`, () => {
    assert.equal(attachmentNotes(attachments), notes);
  });
}
