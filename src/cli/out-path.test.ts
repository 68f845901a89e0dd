import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { writeNewFile, wrongOut } from "./out-path.ts";

/** What the system says when it refuses a path. */
const refusal = (code: string, path: string) =>
  Object.assign(new Error(`${code}: '${path}'`), { code, path, syscall: "open" });

for (const [code, path, says] of [
  ["EACCES", "/data/out", "permission denied"],
  ["EPERM", "/data", "permission denied"],
  ["EROFS", "/data/out.partial", "the file system is read-only"],
  ["ENOENT", "/data/out/.temporary", "its folder does not exist"],
] as const) {
  test(`${code} at ${path} is told as of --out /data/out`, () => {
    const cause = refusal(code, path);
    const { message, code: told } = wrongOut("/data/out", cause) as NodeJS.ErrnoException;
    assert.equal(message, `/data/out cannot be written: ${says} (${code})`);
    assert.equal(told, "THROUGHLINE_CONFIGURATION");
  });
}

for (const [what, error] of [
  ["of another place", refusal("EACCES", "/home/me/chats/a.jsonl")],
  ["of a broken disk", refusal("EIO", "/data/out")],
  ["of no system", new Error("broken")],
] as const) {
  test(`an error ${what} stays as it is`, () => {
    assert.equal(wrongOut("/data/out", error), error);
  });
}

async function* pieces(...texts: readonly (string | Error)[]) {
  for (const text of texts) {
    if (text instanceof Error) throw text;
    yield text;
  }
}

test("a new file holds every piece, and its mode is 0600 whatever the umask", async (t) => {
  const path = join(temporaryDirectory(t), "new");
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  await writeNewFile(path, pieces("one, ", "two"));
  assert.equal(fs.readFileSync(path, "utf8"), "one, two");
  assert.equal(fs.statSync(path).mode & 0o777, 0o600);
});

test("what breaks off leaves no file, and rejects with what broke it off", async (t) => {
  const path = join(temporaryDirectory(t), "new");
  const error = new Error("broken");
  await assert.rejects(writeNewFile(path, pieces("one, ", error)), error);
  assert.equal(fs.existsSync(path), false);
});

test("an abort leaves no file, and rejects with its reason", async (t) => {
  const directory = temporaryDirectory(t);
  const stop = new AbortController();
  const reason = new Error("stop");
  const endless = async function* () {
    for (;;) {
      yield "more";
      stop.abort(reason);
    }
  };
  const written = writeNewFile(join(directory, "new"), endless(), stop.signal);
  await assert.rejects(written, reason);
  assert.deepEqual(fs.readdirSync(directory), []);
});

for (const kind of ["file", "link"] as const) {
  test(`a ${kind} that is there stays as it is`, async (t) => {
    const directory = temporaryDirectory(t);
    const path = join(directory, "there");
    if (kind === "file") fs.writeFileSync(path, "mine");
    else fs.symlinkSync(join(directory, "elsewhere"), path);
    await assert.rejects(writeNewFile(path, pieces("other")), { code: "THROUGHLINE_CONFLICT" });
    assert.deepEqual(fs.readdirSync(directory), ["there"]);
    if (kind === "file") assert.equal(fs.readFileSync(path, "utf8"), "mine");
  });
}
