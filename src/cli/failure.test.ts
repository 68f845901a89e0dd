import assert from "node:assert/strict";
import { test } from "node:test";
import { DatabaseFailure, errorCodes, ThroughlineError } from "../core/errors.ts";
import { describeFailure } from "./failure.ts";

const quiet = { stack: false };

test("an error is told in one line with its code, and a line with the way out", () => {
  for (const code of Object.keys(errorCodes) as (keyof typeof errorCodes)[]) {
    const { exitCode, text } = describeFailure(new ThroughlineError("a\nb", { code }), "", quiet);
    assert.equal(exitCode, 1);
    assert.match(text, new RegExp(`^error: a b \\[${code}\\]\\n[^\\n]{5,200}\\n$`));
  }
  const error = new ThroughlineError("no", { code: "THROUGHLINE_MODEL_FAILED" });
  const way = /sessions answer ID` asks again, until you say something else in that chat\.\n$/;
  assert.match(describeFailure(error, "", quiet).text, way);
});

test("an error of a database leads to the database, and to no disk", () => {
  for (const [code, way] of [
    ["THROUGHLINE_UNAVAILABLE", /Check that the database is running/],
    ["THROUGHLINE_CONFIGURATION", /Check the URL, the role with its rights, and TLS/],
    ["THROUGHLINE_OUTCOME_UNKNOWN", /Run the same command again/],
  ] as const) {
    const { text } = describeFailure(new DatabaseFailure("no", { code }), "", quiet);
    assert.match(text, way);
    assert.doesNotMatch(text, /disk/);
  }
});

test("a stranger's message is shown only when the system wrote it, for it may quote a person", () => {
  const system: NodeJS.ErrnoException = new Error("EACCES: permission denied, open '/x'");
  system.syscall = "open";
  assert.match(describeFailure(system, "", quiet).text, /^error: EACCES.*'\/x' \[Error\]\nThis/);
  system.code = "EACCES";
  assert.match(
    describeFailure(system, "", quiet).text,
    /\nCheck the disk, its free space and its perm/,
  );
  const stranger = new SyntaxError("Unexpected token 'm', my secret is not valid JSON");
  for (const stack of [false, true]) {
    const { text } = describeFailure(stranger, "", { stack });
    assert.match(text, /^error: an unexpected SyntaxError \[SyntaxError\]\n/);
    assert.ok(!text.includes("secret"));
  }
});

test("where it happened is told only when asked for, with where its cause did", () => {
  const cause = new RangeError("inner");
  const error = new ThroughlineError("outer", { code: "THROUGHLINE_CORRUPT", cause });
  assert.doesNotMatch(describeFailure(error, "", quiet).text, /\n\s+at /);
  const { text } = describeFailure(error, "", { stack: true });
  assert.match(text, /\nThroughlineError\n {4}at (?:.*\n)*RangeError\n {4}at /);
});
