// CI skips no test but those that scripts/allowed-skips.ts lists, each with its reason.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "./support/command-line.ts";

/** Runs one file of tests as `npm test` does. @returns its exit code, and what it said. */
function runFile(t: TestContext, body: string, isCi: boolean) {
  const file = join(temporaryDirectory(t), "some.test.mjs");
  fs.writeFileSync(file, `import { describe, test } from "node:test";\n${body}\n`);
  const { CI: _, NODE_TEST_CONTEXT: __, NODE_OPTIONS: ___, ...rest } = process.env;
  const env = isCi ? { ...rest, CI: "true" } : rest;
  const args = ["scripts/tests-in-order.ts", file];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  return { status, stderr };
}

/** Tests that are skipped, each in another way. */
const skipped = [
  'test("needs a program", { skip: "radosgw is not installed" }, () => {});',
  'test("needs something", { skip: true }, () => {});',
  'test("needs a browser", (t) => t.skip("no browser at /usr/bin/chromium"));',
  'describe("needs Python", { skip: "python3 is not installed" }, () => {});',
  'test("needs sound", { skip: "Python lacks one of: soundfile" }, () => {});',
];
/** What CI cannot have, by the reason that is listed. */
const allowed = 'test("needs pictures", { skip: "Python lacks one of: datasets, PIL" }, () => {});';

test("a test that is skipped fails in CI, and is named; what CI cannot have is skipped there, and nothing near it", (t) => {
  const all = [...skipped, allowed].join("\n");
  const inCi = runFile(t, all, true);
  assert.equal(inCi.status, 1, inCi.stderr);
  const [, named = ""] = inCi.stderr.split("allowed-skips.ts:\n");
  const names = [...named.matchAll(/^ {2}(needs \w+(?: \w+)?): /gm)].map(([, name]) => name);
  const wanted = ["a program", "something", "a browser", "Python", "sound"];
  assert.deepEqual(names.sort(), wanted.map((what) => `needs ${what}`).sort());
  assert.equal(runFile(t, all, false).status, 0);
  assert.equal(runFile(t, allowed, true).status, 0);
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
