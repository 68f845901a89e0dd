import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import { builtInPersona, HomePersona } from "./home-persona.ts";

function personaIn(t: TestContext, configured?: string) {
  const home = temporaryDirectory(t);
  const path = join(home, "persona.md");
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields) => lines.push(JSON.stringify(fields)) };
  const open = () => new HomePersona({ home, isEphemeral: false, persona: configured }, logger);
  return { path, lines, open };
}

const rows: readonly [says: string, file: string | undefined, configured: string | undefined][] = [
  ["file", " You are Nova.\n", "You are set."],
  ["configuration", undefined, "You are set."],
  ["configuration", " \n", "You are set."],
  ["built-in", undefined, undefined],
];
for (const [source, file, configured] of rows) {
  test(`a file of ${JSON.stringify(file)} and a setting of ${configured} give the persona of the ${source}`, (t) => {
    const { path, open } = personaIn(t, configured);
    if (file !== undefined) fs.writeFileSync(path, file);
    const texts = { file: "You are Nova.", configuration: configured, "built-in": builtInPersona };
    const { persona, source: from, default: standard } = open().state();
    assert.deepEqual([from, persona], [source, texts[source as keyof typeof texts]]);
    assert.equal(standard, configured ?? builtInPersona);
  });
}

test("an edit by hand counts at once; a file that cannot be used keeps what was, and is logged once", (t) => {
  const { path, lines, open } = personaIn(t);
  const persona = open();
  fs.writeFileSync(path, "One.");
  assert.equal(persona.text(), "One.");
  for (const bad of [new Uint8Array([0xff]), new Uint8Array([0xff, 0xff]), "x".repeat(65_537)]) {
    fs.writeFileSync(path, bad);
    assert.equal(persona.text(), "One.");
  }
  assert.deepEqual(lines, [
    '{"problem":"persona.md is not UTF-8"}',
    '{"problem":"persona.md is larger than 64 KiB"}',
  ]);
  assert.throws(() => persona.write("Mine.", ""), { code: "THROUGHLINE_CONFLICT" });
  fs.writeFileSync(path, "Two.");
  assert.equal(persona.text(), "Two.");
  fs.rmSync(path);
  assert.equal(persona.text(), builtInPersona);
});

const bad: readonly [says: string, make: (path: string) => void, message: RegExp][] = [
  ["not UTF-8", (path) => fs.writeFileSync(path, new Uint8Array([0xff])), /is not UTF-8$/],
  ["too large", (path) => fs.writeFileSync(path, "x".repeat(65_537)), /is larger than 64 KiB$/],
  ["a directory", (path) => fs.mkdirSync(path), /is not a regular file$/],
  ["a pipe", (path) => execFileSync("mkfifo", [path]), /is not a regular file$/],
];
for (const [says, make, message] of bad) {
  test(`a persona.md that is ${says} at the start is refused by its name, and no other persona stands in`, (t) => {
    const { path, open } = personaIn(t, "You are Nova.");
    make(path);
    assert.throws(open, { code: "THROUGHLINE_CONFIGURATION", message });
    assert.throws(open, (error: Error) => error.message.startsWith(`${path} `));
  });
}
