import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { isThroughlineError } from "./errors.ts";
import { checkToken, sameSecret } from "./token.ts";

for (const encoding of ["base64url", "base64", "hex"] as const) {
  test(`32 random bytes as ${encoding} are a token`, () => {
    for (let n = 0; n < 200; n++) checkToken(randomBytes(32).toString(encoding));
  });
}

for (const token of [
  "",
  "undefined",
  "null",
  undefined,
  42,
  "a".repeat(64),
  "0123456789".repeat(7),
  "abcdefghijklmnop".repeat(3),
  "changeme".repeat(8),
  "PleaseReplaceThisWithARandomTokenOfYourOwn0123456789",
  randomBytes(31).toString("hex"),
  randomBytes(24).toString("base64url"),
  `${randomBytes(32).toString("base64url")} `,
  `${randomBytes(32).toString("base64url")}\n`,
]) {
  const shown = String(token).slice(0, 12);
  test(`${JSON.stringify(shown)} of length ${String(token).length} is no token`, () => {
    assert.throws(
      () => checkToken(token),
      (error: Error) =>
        isThroughlineError(error, "THROUGHLINE_CONFIGURATION") &&
        (shown === "" || !error.message.includes(shown)),
    );
  });
}

test("secrets are the same when they are equal, and only then", () => {
  assert.ok(sameSecret("abc", "abc"));
  for (const other of ["", "ab", "abcd", "Abc"]) assert.ok(!sameSecret(other, "abc"));
});
