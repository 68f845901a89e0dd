import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { builtInPersona } from "../core/turns/persona.ts";
import { findPersona } from "./persona-file.ts";

const rows: readonly [file: string | undefined, configured: string | undefined, text: string][] = [
  [undefined, undefined, builtInPersona],
  [undefined, "You are Nova.", "You are Nova."],
  ["\nYou are Ada.\n", undefined, "You are Ada."],
  ["You are Ada.", "You are Nova.", "You are Ada."],
  [" \n\t", undefined, builtInPersona],
  ["", "You are Nova.", "You are Nova."],
];
for (const [file, configured, text] of rows) {
  const given = `persona.md ${JSON.stringify(file)} and the setting ${JSON.stringify(configured)}`;
  test(`with ${given}, the persona begins ${JSON.stringify(text.slice(0, 14))}`, (t) => {
    const home = temporaryDirectory(t);
    if (file !== undefined) fs.writeFileSync(join(home, "persona.md"), file);
    assert.equal(findPersona(home, configured), text);
  });
}

const kibibytes = 1024;
const bad: readonly [says: string, make: (path: string) => void, message: RegExp][] = [
  ["not UTF-8", (path) => fs.writeFileSync(path, new Uint8Array([0xff])), /is not UTF-8$/],
  [
    "1 byte over 64 KiB",
    (path) => fs.writeFileSync(path, "x".repeat(64 * kibibytes + 1)),
    /is larger than 64 KiB$/,
  ],
  ["a directory", (path) => fs.mkdirSync(path), /cannot be read \(EISDIR\)$/],
  ["a pipe", (path) => execFileSync("mkfifo", [path]), /is not a plain file$/],
];
for (const [says, make, message] of bad) {
  test(`a persona.md that is ${says} is refused by its name, and no other persona stands in`, (t) => {
    const home = temporaryDirectory(t);
    const path = join(home, "persona.md");
    make(path);
    assert.throws(
      () => findPersona(home, "You are Nova."),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, "THROUGHLINE_CONFIGURATION");
        assert.ok(error.message.startsWith(`${path} `));
        assert.match(error.message, message);
        return true;
      },
    );
  });
}

test("a persona.md of exactly 64 KiB is taken", (t) => {
  const home = temporaryDirectory(t);
  const text = "x".repeat(64 * kibibytes);
  fs.writeFileSync(join(home, "persona.md"), text);
  assert.equal(findPersona(home, undefined), text);
});
