import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { findHome, findPersona } from "./home.ts";

const rows: readonly [
  says: string,
  given: { flag?: string; home?: string; xdg?: string; usual?: true },
  expected: (user: string) => string,
][] = [
  ["nothing: ~/.throughline", {}, (user) => join(user, ".throughline")],
  ["--home and THROUGHLINE_HOME: --home", { flag: "/a", home: "/b" }, () => "/a"],
  ["THROUGHLINE_HOME and XDG_DATA_HOME: THROUGHLINE_HOME", { home: "/b", xdg: "/x" }, () => "/b"],
  ["XDG_DATA_HOME, ~/.throughline absent: inside it", { xdg: "/x" }, () => "/x/throughline"],
  [
    "XDG_DATA_HOME, ~/.throughline there: ~/.throughline",
    { xdg: "/x", usual: true },
    (user) => join(user, ".throughline"),
  ],
  ["a relative XDG_DATA_HOME: ~/.throughline", { xdg: "x" }, (user) => join(user, ".throughline")],
  ["a relative --home: under the working directory", { flag: "a" }, () => join(process.cwd(), "a")],
];
for (const [says, given, expected] of rows) {
  test(`the home, given ${says}`, (t) => {
    const userHome = temporaryDirectory(t);
    if (given.usual) fs.mkdirSync(join(userHome, ".throughline"));
    const env = { userHome, home: given.home, xdgDataHome: given.xdg };
    assert.equal(findHome(given.flag, env), expected(userHome));
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
  ["a directory", (path) => fs.mkdirSync(path), /is not a regular file$/],
  ["a pipe", (path) => execFileSync("mkfifo", [path]), /is not a regular file$/],
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
