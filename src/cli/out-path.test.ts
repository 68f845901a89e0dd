import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { writeNewFile } from "./out-path.ts";

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
