import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { isThroughlineError } from "./errors.ts";
import { sha256 } from "./sha256.ts";
import { checkToken, sameSecret } from "./token.ts";

test("32 random bytes are a token in each of three encodings", () => {
  for (const encoding of ["base64url", "base64", "hex"] as const) {
    // The same in each run: of as many random ones a run in 20,000 has one of too few letters, or with a word.
    for (let n = 0; n < 200; n++) checkToken(sha256(`${n}`).toString(encoding));
  }
});

const bad = [
  "",
  "undefined",
  undefined,
  42,
  "a".repeat(64),
  "abcdefghijklmnop".repeat(3),
  "changeme".repeat(8),
  "PleaseReplaceThisWithARandomTokenOfYourOwn0123456789",
  randomBytes(31).toString("hex"),
  randomBytes(24).toString("base64url"),
  `${randomBytes(32).toString("base64url")} `,
  `${randomBytes(32).toString("base64url")}\n`,
];
test("what cannot be 32 random bytes is no token, and is not repeated", () => {
  for (const token of bad) {
    assert.throws(
      () => checkToken(token),
      (error: Error) =>
        isThroughlineError(error, "THROUGHLINE_CONFIGURATION") &&
        !error.message.includes(String(token).slice(0, 12) || "…"),
    );
  }
});

test("secrets are the same when they are equal, and only then", () => {
  assert.ok(sameSecret("abc", "abc"));
  for (const other of ["", "ab", "abcd", "Abc"]) assert.ok(!sameSecret(other, "abc"));
});
