import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { findHome } from "./home.ts";

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
