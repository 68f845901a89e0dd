import assert from "node:assert/strict";
import { test } from "node:test";
import { wrongOut } from "./out-path.ts";

/** What the system says when it refuses a path. */
const refusal = (code: string, path: string) =>
  Object.assign(new Error(`${code}: '${path}'`), { code, path, syscall: "open" });

for (const [code, path, says] of [
  ["EACCES", "/data/out", "this user may not write there"],
  ["EPERM", "/data", "this user may not write there"],
  ["EROFS", "/data/out.partial", "what is there can only be read"],
  ["ENOENT", "/data/out/.temporary", "its folder is not there"],
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
