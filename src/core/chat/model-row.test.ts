import assert from "node:assert/strict";
import { test } from "node:test";
import { attachmentNotes } from "./model-row.ts";

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
