// What the program checks of the Node that runs it, before it loads anything else.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { test } from "node:test";
import { program } from "../../test/support/program.ts";

test("its SQLite has the mended write-ahead log", () => {
  const [major = 0, minor = 0, patch = 0] = (process.versions["sqlite"] ?? "")
    .split(".")
    .map(Number);
  assert.ok(major * 1e6 + minor * 1e3 + patch >= 3_051_003, process.versions["sqlite"]);
});

for (const [version, isEnough] of [
  ["24.15.0", true],
  ["24.14.9", false],
] as const) {
  test(`Node ${version} is ${isEnough ? "enough" : "refused, with the one that is needed and nothing else"}`, () => {
    const { engines } = JSON.parse(fs.readFileSync("package.json", "utf8"));
    const needed = engines.node.replace(">=", "");
    const other = `Object.defineProperty(process.versions, "node", { value: "${version}" })`;
    const preload = `data:text/javascript,${encodeURIComponent(other)}`;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--import", preload, program, "--version"],
      { encoding: "utf8" },
    );
    const says = `throughline needs Node ${needed} or later. This is Node ${version}.\n`;
    assert.deepEqual([status, stderr], isEnough ? [0, ""] : [1, says]);
    assert.equal(stdout !== "", isEnough);
  });
}

test("under --permission the program says that it cannot run there, and what to do", () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--permission", "--allow-fs-read=*", program, "--version"],
    { encoding: "utf8" },
  );
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, /^throughline cannot run under node --permission: .*fdatasync.*\n$/);
});
