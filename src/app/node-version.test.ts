import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { test } from "node:test";
import { program } from "../../test/support/program.ts";
import { isNodeEnough, neededNode } from "./node-version.ts";

for (const [version, isEnough] of [
  ["24.15.0", true],
  ["24.14.9", false],
  ["26.0.0", true],
  ["22.99.0", false],
  ["20.20.2", false],
] as const) {
  test(`Node ${version} is ${isEnough ? "enough" : "too old"}`, () => {
    assert.equal(isNodeEnough(version), isEnough);
  });
}

test("what is needed is what the package says", () => {
  const { engines } = JSON.parse(fs.readFileSync("package.json", "utf8"));
  assert.equal(engines.node, `>=${neededNode}`);
});

test("its SQLite has the mended write-ahead log", () => {
  const [major = 0, minor = 0, patch = 0] = (process.versions["sqlite"] ?? "")
    .split(".")
    .map(Number);
  assert.ok(major * 1e6 + minor * 1e3 + patch >= 3_051_003, process.versions["sqlite"]);
});

test("the program says which Node it needs, and nothing else", () => {
  const older = 'Object.defineProperty(process.versions, "node", { value: "20.20.2" })';
  const preload = `data:text/javascript,${encodeURIComponent(older)}`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", preload, program, "--version"],
    { encoding: "utf8" },
  );
  assert.deepEqual([status, stdout], [1, ""]);
  assert.equal(stderr, "throughline needs Node 24.15 or later. This is Node 20.20.2.\n");
});

test("under --permission the program says that it cannot run there, and what to do", () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--permission", "--allow-fs-read=*", program, "--version"],
    { encoding: "utf8" },
  );
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, /^throughline cannot run under node --permission: .*fdatasync.*\n$/);
});
