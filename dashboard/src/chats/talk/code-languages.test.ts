import assert from "node:assert/strict";
import { test } from "node:test";
import { common, createLowlight } from "lowlight";
import { byName, languageOf } from "./code-languages.ts";

test("every name that is highlighted is one that lowlight's common languages know", () => {
  const known = createLowlight(common);
  for (const [name, { grammar = "" }] of byName) {
    assert.ok(known.registered(name), name);
    assert.ok(grammar in common, grammar);
  }
});

test("every common language but plain text is highlighted", () => {
  const missing = Object.keys(common).filter((grammar) => !byName.has(grammar));
  assert.deepEqual(missing, ["plaintext"]);
});

for (const [written, grammar, title] of [
  ["ts", "typescript", "TypeScript"],
  ["TSX", "typescript", "TSX"],
  ["c++", "cpp", "C++"],
  ["toml", "ini", "TOML"],
  ["html", "xml", "HTML"],
  ["xml", "xml", "XML"],
  ["", undefined, "Code"],
  ["text", undefined, "Text"],
  ["Brainfuck", undefined, "Brainfuck"],
  ["constructor", undefined, "constructor"],
] as const) {
  test(`a block in "${written}" is headed ${title}, highlighted as ${grammar}`, () => {
    assert.deepEqual(languageOf(written), { grammar, title });
  });
}
