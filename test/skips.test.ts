// CI skips no test but those that scripts/allowed-skips.ts lists, each with its reason.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

/** Runs one file of tests as `npm test` does. @returns its exit code, and what it said. */
function runFile(t: TestContext, body: string, isCi: boolean) {
  const place = fs.mkdtempSync(join(tmpdir(), "throughline-skips-"));
  t.after(() => fs.rmSync(place, { recursive: true, force: true }));
  const file = join(place, "some.test.mjs");
  fs.writeFileSync(file, `import { describe, test } from "node:test";\n${body}\n`);
  const { CI: _, NODE_TEST_CONTEXT: __, NODE_OPTIONS: ___, ...rest } = process.env;
  const env = isCi ? { ...rest, CI: "true" } : rest;
  const args = ["scripts/tests-in-order.ts", file];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  return { status, stderr };
}

for (const [what, body] of [
  ["for a missing program", 'test("needs it", { skip: "radosgw is not installed" }, () => {});'],
  ["without a reason", 'test("needs it", { skip: true }, () => {});'],
  ["while it runs", 'test("needs it", (t) => t.skip("no browser at /usr/bin/chromium"));'],
  ["with its suite", 'describe("needs it", { skip: "python3 is not installed" }, () => {});'],
] as const) {
  test(`a test that is skipped ${what} fails in CI, and is named`, (t) => {
    const inCi = runFile(t, body, true);
    assert.equal(inCi.status, 1, inCi.stderr);
    assert.match(inCi.stderr, /allowed-skips\.ts:\n {2}needs it: /);
    assert.equal(runFile(t, body, false).status, 0);
  });
}

test("what CI cannot have is skipped there by the reason that is listed, and nothing near it", (t) => {
  const skipped = (reason: string) => `test("needs it", { skip: "${reason}" }, () => {});`;
  assert.equal(runFile(t, skipped("Python lacks one of: datasets, PIL"), true).status, 0);
  assert.equal(runFile(t, skipped("Python lacks one of: soundfile"), true).status, 1);
});

test("a file that fails is not run again, in CI either", (t) => {
  const body = `import fs from "node:fs";
    test("fails the first time", () => {
      const mark = import.meta.filename + ".ran";
      if (fs.existsSync(mark)) return;
      fs.writeFileSync(mark, "");
      throw new Error("given up");
    });`;
  for (const isCi of [true, false]) assert.equal(runFile(t, body, isCi).status, 1);
});

test("CI runs both of its commands so that a skipped test fails", () => {
  const lines = fs.readFileSync(".ci/run", "utf8").split("\n");
  const at = (command: RegExp) => lines.findIndex((line) => command.test(line));
  const from = at(/^export CI=true\b/);
  assert.ok(from >= 0 && from < at(/npm test$/) && from < at(/^npm run verify$/), lines.join("\n"));
});
