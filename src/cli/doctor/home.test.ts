import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { checkHome } from "./home.ts";

for (const [mode, status] of [
  [0o700, "ok"],
  [0o750, "note"],
  [0o701, "note"],
] as const) {
  test(`a home of mode ${mode.toString(8)} is ${status}`, async (t) => {
    const home = temporaryDirectory(t);
    fs.chmodSync(home, mode);
    const check = await checkHome(home);
    assert.equal(check.status, status);
    assert.equal(check.says.includes("chmod 700"), status === "note");
  });
}

test("a home that is absent, a file or a link is a note that says so", async (t) => {
  const directory = temporaryDirectory(t);
  fs.writeFileSync(join(directory, "file"), "");
  fs.symlinkSync(directory, join(directory, "link"));
  assert.deepEqual(await checkHome(join(directory, "none")).then((check) => check.isThere), false);
  for (const name of ["file", "link"]) {
    const check = await checkHome(join(directory, name));
    assert.deepEqual([check.status, check.isThere], ["note", true]);
    assert.match(check.says, /is not a directory$/);
  }
});
