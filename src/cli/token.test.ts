import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { readTokenFile } from "./token.ts";

const good = "kT7q-2fZ9xVb0LwN_4mRc8sYhJ6dPeAuG3oKiXnQ5tE";
const code = "THROUGHLINE_CONFIGURATION";

test("a token file that is not there is made, with mode 0600 whatever the umask, and read back", (t) => {
  const path = join(temporaryDirectory(t), "token");
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  const made = readTokenFile(path);
  assert.equal(made.isNew, true);
  assert.equal(fs.statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readTokenFile(path), { token: made.token, isNew: false });
});

test("a token file that others can use, that is a link or a directory, or holds more than a token is refused", (t) => {
  const home = temporaryDirectory(t);
  const path = join(home, "token");
  fs.writeFileSync(path, good, { mode: 0o600 });
  assert.equal(readTokenFile(path).token, good);
  fs.symlinkSync(path, join(home, "link"));
  fs.mkdirSync(join(home, "directory"), { mode: 0o700 });
  fs.writeFileSync(join(home, "large"), good.repeat(100), { mode: 0o600 });
  for (const [name, message] of [
    ["link", /ELOOP/],
    ["directory", /is not a regular file$/],
    ["large", /larger than 4 KiB$/],
  ] as const) {
    assert.throws(() => readTokenFile(join(home, name)), { code, message });
  }
  for (const mode of [0o640, 0o604, 0o620, 0o660]) {
    fs.chmodSync(path, mode);
    assert.throws(() => readTokenFile(path), { code, message: /chmod 600/ }, mode.toString(8));
  }
});

test("a weak token is refused, and not repeated", (t) => {
  const path = join(temporaryDirectory(t), "file");
  for (const weak of ["", "undefined", "changeme", "a".repeat(64), "short-but-random-9x8f7d"]) {
    fs.writeFileSync(path, weak, { mode: 0o600 });
    const isQuiet = ({ message }: Error) =>
      message.startsWith(`${path}: `) && (weak === "" || !message.includes(weak));
    assert.throws(() => readTokenFile(path), { code }, weak);
    assert.throws(() => readTokenFile(path), isQuiet, weak);
  }
});
