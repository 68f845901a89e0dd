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
  // Its own: what a failed file left there is removed before it is run once more.
  const scratch = fs.mkdtempSync(join(place, "scratch-"));
  const own = { ...rest, THROUGHLINE_SCRATCH: scratch };
  const env = isCi ? { ...own, CI: "true" } : own;
  const args = ["scripts/tests-in-order.ts", file];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  return { status, stderr, left: fs.readdirSync(scratch) };
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

test("what a file left that failed is gone before CI runs it once more", (t) => {
  const body = `import fs from "node:fs";
    const left = process.env.THROUGHLINE_SCRATCH + "/throughline-database";
    test("fails once", () => {
      const isFirst = !fs.existsSync(import.meta.filename + ".ran");
      fs.writeFileSync(import.meta.filename + ".ran", "");
      if (!isFirst) return;
      fs.mkdirSync(left);
      throw new Error("given up");
    });`;
  const { status, stderr, left } = runFile(t, body, true);
  assert.deepEqual([status, left], [0, []], stderr);
});

test("CI runs both of its commands so that a skipped test fails", () => {
  const lines = fs.readFileSync(".ci/run", "utf8").split("\n");
  const at = (command: RegExp) => lines.findIndex((line) => command.test(line));
  const from = at(/^export CI=true\b/);
  assert.ok(from >= 0 && from < at(/npm test$/) && from < at(/^npm run verify$/), lines.join("\n"));
});
