import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { builtInPersona } from "../cli/home.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import { HomePersona } from "./home-persona.ts";

function personaIn(t: TestContext, configuredPersona?: string) {
  const home = temporaryDirectory(t);
  const path = join(home, "persona.md");
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields) => lines.push(JSON.stringify(fields)) };
  const given = { home, isEphemeral: false, persona: "At the start.", configuredPersona };
  return { path, lines, persona: new HomePersona(given, logger) };
}

const rows: readonly [says: string, file: string | undefined, configured: string | undefined][] = [
  ["file", " You are Nova.\n", "You are set."],
  ["configuration", undefined, "You are set."],
  ["configuration", " \n", "You are set."],
  ["built-in", undefined, undefined],
];
for (const [source, file, configured] of rows) {
  test(`a file of ${JSON.stringify(file)} and a setting of ${configured} give the persona of the ${source}`, (t) => {
    const { path, persona } = personaIn(t, configured);
    if (file !== undefined) fs.writeFileSync(path, file);
    const texts = { file: "You are Nova.", configuration: configured, "built-in": builtInPersona };
    const state = persona.read();
    assert.equal(state.source, source);
    assert.equal(state.persona, texts[source as keyof typeof texts]);
    assert.equal(state.default, configured ?? builtInPersona);
  });
}

test("an edit by hand counts at once; a file that cannot be used keeps what was, and is logged once", (t) => {
  const { path, lines, persona } = personaIn(t);
  fs.writeFileSync(path, "One.");
  assert.equal(persona.text(), "One.");
  for (const bad of [new Uint8Array([0xff]), new Uint8Array([0xff, 0xff])]) {
    fs.writeFileSync(path, bad);
    assert.equal(persona.text(), "One.");
  }
  fs.writeFileSync(path, "x".repeat(64 * 1024 + 1));
  assert.equal(persona.text(), "One.");
  assert.deepEqual(lines, [
    '{"problem":"persona.md is not UTF-8"}',
    '{"problem":"persona.md is larger than 64 KiB"}',
  ]);
  fs.writeFileSync(path, "Two.");
  assert.equal(persona.text(), "Two.");
  fs.rmSync(path);
  assert.equal(persona.text(), builtInPersona);
});

test("a file that cannot be used from the first turn on keeps the persona of the start", (t) => {
  const { path, persona } = personaIn(t);
  fs.writeFileSync(path, new Uint8Array([0xff]));
  const { persona: text, source, file } = persona.read();
  assert.deepEqual([text, source, file.version], ["At the start.", "file", ""]);
  assert.throws(() => persona.write("Mine.", ""), { code: "THROUGHLINE_CONFLICT" });
});
