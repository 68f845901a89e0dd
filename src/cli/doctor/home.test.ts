import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { checkFolder } from "./home.ts";

for (const [mode, status] of [
  [0o700, "ok"],
  [0o750, "note"],
  [0o701, "note"],
] as const) {
  test(`a home of mode ${mode.toString(8)} is ${status}`, async (t) => {
    const home = temporaryDirectory(t);
    fs.mkdirSync(join(home, "chats"));
    fs.chmodSync(home, mode);
    const check = await checkFolder(home, false);
    assert.equal(check.status, status);
    assert.equal(check.says.includes("chmod 700"), status === "note");
  });
}
