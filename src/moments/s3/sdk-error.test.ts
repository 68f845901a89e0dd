import assert from "node:assert/strict";
import { test } from "node:test";
import { DeadlinePassed } from "./deadline.ts";
import { S3Error, type S3ErrorKind } from "./s3-error.ts";
import { toS3Error } from "./sdk-error.ts";

const thrown = (fields: object) => Object.defineProperties(new Error("private"), describe(fields));
const describe = (fields: object) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { value }]));
const answered = (status: number) => ({ $metadata: { httpStatusCode: status } });

const rows: readonly (readonly [says: string, error: unknown, kind: S3ErrorKind, code: string])[] =
  [
    ["a refused connection", thrown({ code: "ECONNREFUSED" }), "connection", "ECONNREFUSED"],
    ["a name that is not known", thrown({ code: "ENOTFOUND" }), "connection", "ENOTFOUND"],
    ["a name server that is away", thrown({ code: "EAI_AGAIN" }), "connection", "EAI_AGAIN"],
    ["TLS that is cut", thrown({ code: "EPROTO" }), "connection", "EPROTO"],
    [
      "a reset that the client calls late",
      thrown({ name: "TimeoutError", code: "ECONNRESET" }),
      "connection",
      "ECONNRESET",
    ],
    ["a silent connection", thrown({ name: "TimeoutError" }), "timeout", "TimeoutError"],
    ["our deadline", new DeadlinePassed("late"), "timeout", "DeadlinePassed"],
    [
      "an expired certificate",
      thrown({ code: "CERT_HAS_EXPIRED" }),
      "certificate",
      "CERT_HAS_EXPIRED",
    ],
    [
      "a certificate of its own making",
      thrown({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
      "certificate",
      "DEPTH_ZERO_SELF_SIGNED_CERT",
    ],
    [
      "a certificate in between of nobody",
      thrown({ code: "SELF_SIGNED_CERT_IN_CHAIN" }),
      "certificate",
      "SELF_SIGNED_CERT_IN_CHAIN",
    ],
    [
      "a certificate of nobody",
      thrown({ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }),
      "certificate",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    ],
    [
      "the certificate of another name",
      thrown({ code: "ERR_TLS_CERT_ALTNAME_INVALID" }),
      "certificate",
      "ERR_TLS_CERT_ALTNAME_INVALID",
    ],
    [
      "no credentials",
      thrown({ name: "CredentialsProviderError" }),
      "no_credentials",
      "CredentialsProviderError",
    ],
    ["a refusal", thrown({ name: "AccessDenied", ...answered(403) }), "answer", "AccessDenied"],
    [
      "an error in a 200",
      thrown({ name: "InternalError", ...answered(200) }),
      "hollow",
      "InternalError",
    ],
    [
      "HTML where XML belongs",
      thrown({ name: "SyntaxError", ...answered(200) }),
      "hollow",
      "SyntaxError",
    ],
    ["text that is no error", "oh no", "connection", "Error"],
    ["nothing", undefined, "connection", "Error"],
  ];
for (const [says, error, kind, code] of rows) {
  test(`${says} is ${kind} ${code}, and its message says only that`, () => {
    const made = toS3Error(error);
    assert.deepEqual([made.kind, made.code], [kind, code]);
    assert.doesNotMatch(made.message, /private/);
  });
}

test("an error of ours passes as it is", () => {
  const error = new S3Error({ kind: "hollow", code: "NoETag" });
  assert.equal(toS3Error(error), error);
});
