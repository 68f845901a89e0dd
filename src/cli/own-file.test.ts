import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { EditedFile } from "./own-file.ts";

function fileIn(t: TestContext, folder = "") {
  const home = temporaryDirectory(t);
  const path = join(home, folder, "persona.md");
  return { home, path, file: new EditedFile(path) };
}

test("a file is made with its folder, changed and removed, each from the version that was read", (t) => {
  const { path, file } = fileIn(t, "new");
  assert.deepEqual(file.read(), { text: undefined, version: "", problem: undefined });
  const first = file.write("one", "");
  assert.deepEqual(file.read(), first);
  assert.equal(fs.statSync(path).mode & 0o777, 0o600);
  const reader = fs.openSync(path, "r");
  t.after(() => fs.closeSync(reader));
  const second = file.write("two", first.version);
  assert.equal(
    fs.readFileSync(reader, "utf8"),
    "one",
    "the old file is replaced, not written into",
  );
  assert.notEqual(second.version, first.version);
  assert.equal(fs.readFileSync(path, "utf8"), "two");
  assert.deepEqual(file.write(undefined, second.version), file.read());
  assert.ok(!fs.existsSync(path));
  assert.deepEqual(fs.readdirSync(join(path, "..")), []);
});

test("a change and a removal are synced in their folder before the call returns", {
  skip: process.platform === "win32" && "Windows opens no folder",
}, (t) => {
  const { home, file } = fileIn(t);
  const opened = t.mock.method(fs, "openSync").mock;
  const synced = t.mock.method(fs, "fsyncSync").mock;
  let { version } = file.read();
  for (const text of ["one", undefined]) {
    ({ version } = file.write(text, version));
    const folder = opened.calls.findLast(({ arguments: [path] }) => path === home)?.result;
    assert.equal(synced.calls.at(-1)?.arguments[0], folder, String(text));
    assert.notEqual(folder, undefined);
    synced.resetCalls();
    opened.resetCalls();
  }
});

test("a link stays, and the file that it leads to is replaced; a link to nothing is replaced", (t) => {
  const { home, path, file } = fileIn(t);
  const elsewhere = join(home, "elsewhere");
  fs.mkdirSync(elsewhere);
  fs.writeFileSync(join(elsewhere, "nova.md"), "one");
  fs.symlinkSync(join(elsewhere, "nova.md"), path);
  file.write("two", file.read().version);
  assert.ok(fs.lstatSync(path).isSymbolicLink());
  assert.equal(fs.readFileSync(join(elsewhere, "nova.md"), "utf8"), "two");
  fs.rmSync(join(elsewhere, "nova.md"));
  file.write("three", "");
  assert.equal(fs.readFileSync(path, "utf8"), "three");
});

test("what a process left that died while it wrote is no hindrance, and is not the file", (t) => {
  const { path, file } = fileIn(t);
  const { version } = file.write("one", "");
  fs.writeFileSync(`${path}.new`, "half of tw");
  assert.equal(file.read().text, "one");
  file.write("two", version);
  assert.equal(file.read().text, "two");
  assert.ok(!fs.existsSync(`${path}.new`));
});

test("a file that cannot be written is left as it is, and the error names no folder", (t) => {
  const { home, path, file } = fileIn(t);
  const { version } = file.write("one", "");
  fs.mkdirSync(`${path}.new`); // removing the draft fails
  assert.throws(
    () => file.write("two", version),
    (error: Error) => {
      assert.equal((error as Error & { code: string }).code, "THROUGHLINE_UNAVAILABLE");
      assert.match(error.message, /^persona\.md cannot be written \(\w+\)\. Nothing was changed$/);
      assert.ok(!error.message.includes(home));
      return true;
    },
  );
  assert.equal(file.read().text, "one");
});
