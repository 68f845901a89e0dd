import assert from "node:assert/strict";
import { test } from "node:test";
import { CommanderError } from "commander";
import { DatabaseFailure, errorCodes, ThroughlineError } from "../core/errors.ts";
import { describeFailure, wrongUsage } from "./failure.ts";

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

test("wrong usage exits with 2 and leads to the command's help", () => {
  assert.deepEqual(describeFailure(wrongUsage("say more"), "throughline chat --help", quiet), {
    exitCode: 2,
    text: "error: say more [THROUGHLINE_INVALID]\nsee: throughline chat --help\n",
  });
});

test("help and version exit with 0; help in the place of a missing command with 2", () => {
  const help = new CommanderError(0, "commander.helpDisplayed", "(outputHelp)");
  const missing = new CommanderError(1, "commander.help", "(outputHelp)");
  assert.deepEqual(describeFailure(help, "", quiet), { exitCode: 0, text: "" });
  assert.deepEqual(describeFailure(missing, "", quiet), { exitCode: 2, text: "" });
});

test("a reader that left is no failure", () => {
  const error: NodeJS.ErrnoException = new Error("write EPIPE");
  error.code = "EPIPE";
  assert.deepEqual(describeFailure(error, "", quiet), { exitCode: 0, text: "" });
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
