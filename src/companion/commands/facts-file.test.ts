import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { type Logger, silentLogger } from "../../core/logger.ts";
import { FactsFile } from "./facts-file.ts";

/** What is remembered of a home, and the log. */
async function recall(home: string) {
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_, message) => lines.push(message) };
  return { facts: await new FactsFile(home, logger).startupContext(), lines };
}

const line = (length: number) => `${"x".repeat(length - 1)}\n`;
const rows: readonly [says: string, text: string | Uint8Array, facts: string, log: RegExp[]][] = [
  ["of two facts", "\nLikes tea.\n\nHas a dog.\n\n", "Likes tea.\n\nHas a dog.", []],
  ["of an empty file", "", "", []],
  ["with a byte order mark and CRLF", "\ufeffa\r\nb\rc\r\n", "a\nb\nc", []],
  ["of 3,900 characters", "y".repeat(3_900), "y".repeat(3_900), []],
  ["of one line of 4,000", "y".repeat(4_000), "y".repeat(4_000), [/rest is not used/]],
  [
    "of lines of 2,000 and 2,500 characters",
    `${line(2_000)}${line(2_500)}`,
    `${line(2_000)}${line(2_500)}`.trimEnd(),
    [/rest is not used/],
  ],
  ["of more than 64 KiB", "y".repeat(64 * 1024 + 1), "", [/facts\.md is larger than 64 KiB$/]],
  ["that is not UTF-8", new Uint8Array([0x61, 0xff]), "", [/facts\.md is not UTF-8$/]],
  ["that ends in half a character", new Uint8Array([0x61, 0xc3]), "", [/facts\.md is not UTF-8$/]],
];
for (const [says, text, facts, log] of rows) {
  test(`a file of facts ${says} gives ${facts.length} characters and ${log.length} warnings`, async (t) => {
    const home = temporaryDirectory(t);
    fs.writeFileSync(join(home, "facts.md"), text);
    const recalled = await recall(home);
    assert.equal(recalled.facts, facts);
    assert.equal(recalled.lines.length, log.length);
    for (const [index, pattern] of log.entries()) assert.match(recalled.lines[index]!, pattern);
  });
}

test("a problem that stays the same is reported once, and again when it comes back", async (t) => {
  const home = temporaryDirectory(t);
  const path = join(home, "facts.md");
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_, message) => lines.push(message) };
  const provider = new FactsFile(home, logger);
  const problem = "facts.md is too long; the rest is not used";
  for (const [text, reported] of [
    ["y".repeat(4_001), [problem]],
    ["y".repeat(4_001), [problem]],
    ["short", [problem]],
    ["y".repeat(4_001), [problem, problem]],
  ] as const) {
    fs.writeFileSync(path, text);
    await provider.startupContext();
    assert.deepEqual(lines, reported);
  }
});

test("a link is followed; a directory and a pipe are reported, and nobody waits for the pipe", async (t) => {
  const home = temporaryDirectory(t);
  const path = join(home, "facts.md");
  fs.writeFileSync(join(home, "elsewhere"), "Likes tea.");
  fs.symlinkSync(join(home, "elsewhere"), path);
  assert.deepEqual(await recall(home), { facts: "Likes tea.", lines: [] });
  fs.rmSync(path);
  fs.mkdirSync(path);
  assert.deepEqual(await recall(home), { facts: "", lines: ["facts.md is not a regular file"] });
  fs.rmdirSync(path);
  execFileSync("mkfifo", [path]);
  assert.deepEqual(await recall(home), { facts: "", lines: ["facts.md is not a regular file"] });
});
