import assert from "node:assert/strict";
import { test } from "node:test";
import {
  classify,
  type ErrorClass,
  isSlowDown,
  isTargetAway,
  noOptionalHeaders,
  type OptionalHeaders,
} from "./error-class.ts";
import { S3Error, type S3ErrorKind } from "./s3-port.ts";

const all: OptionalHeaders = { condition: true, checksum: true, encryption: true };

// status, code, class without optional headers, class with them
const answers: readonly (readonly [number, string, ErrorClass, ErrorClass?])[] = [
  [429, "TooManyRequests", "retry"],
  [500, "InternalError", "retry"],
  [502, "Unknown", "retry"],
  [503, "SlowDown", "retry"],
  [503, "ServiceUnavailable", "retry"],
  [504, "Unknown", "retry"],
  [408, "Unknown", "retry"],
  [400, "RequestTimeout", "retry"],
  [409, "ConditionalRequestConflict", "retry"],
  [409, "OperationAborted", "retry"],
  [403, "RequestTimeTooSkewed", "clock"],
  [403, "ExpiredToken", "expired"],
  [400, "ExpiredToken", "expired"],
  [400, "TokenRefreshRequired", "expired"],
  [401, "Unknown", "refused"],
  [403, "Unknown", "refused"],
  [403, "AccessDenied", "refused"],
  [403, "InvalidAccessKeyId", "refused"],
  [403, "SignatureDoesNotMatch", "refused"],
  [400, "InvalidToken", "refused"],
  [403, "BucketAlreadyExists", "refused"],
  [404, "NoSuchBucket", "bucket"],
  [301, "PermanentRedirect", "bucket"],
  [301, "Unknown", "bucket"],
  [307, "TemporaryRedirect", "bucket"],
  [400, "AuthorizationHeaderMalformed", "bucket"],
  [400, "IllegalLocationConstraintException", "bucket"],
  [400, "InvalidLocationConstraint", "bucket"],
  [400, "BadDigest", "digest"],
  [400, "XAmzContentSHA256Mismatch", "digest"],
  [400, "XAmzContentChecksumMismatch", "digest"],
  [400, "IncompleteBody", "digest"],
  [412, "PreconditionFailed", "conflict"],
  [411, "MissingContentLength", "rejected", "optional_header"],
  [501, "NotImplemented", "rejected", "optional_header"],
  [400, "InvalidRequest", "rejected", "optional_header"],
  [400, "InvalidArgument", "rejected"],
  [400, "KeyTooLongError", "rejected"],
  [400, "Unknown", "rejected"],
  [402, "Unknown", "rejected"],
  [404, "Unknown", "rejected"],
  [404, "NoSuchKey", "rejected"],
  [405, "MethodNotAllowed", "rejected"],
  [413, "EntityTooLarge", "rejected"],
  [418, "Unknown", "rejected"],
];

for (const [status, code, plain, withHeaders = plain] of answers) {
  test(`${status} ${code} is ${plain}, and ${withHeaders} to a request with optional headers`, () => {
    const error = new S3Error({ kind: "answer", code, status });
    assert.equal(classify(error), plain);
    assert.equal(classify(error, all), withHeaders);
  });
}

const kinds: readonly (readonly [S3ErrorKind, string, ErrorClass, boolean])[] = [
  ["connection", "ECONNREFUSED", "retry", true],
  ["connection", "ECONNRESET", "retry", true],
  ["connection", "ENOTFOUND", "retry", true],
  ["timeout", "DeadlinePassed", "retry", true],
  ["hollow", "NoETag", "retry", true],
  ["certificate", "CERT_HAS_EXPIRED", "refused", false],
  ["no_credentials", "NoCredentials", "no_credentials", false],
  ["no_client", "NoClient", "no_client", false],
];
for (const [kind, code, expected, isAway] of kinds) {
  test(`${kind} ${code} is ${expected}, and the target is ${isAway ? "" : "not "}away`, () => {
    const error = new S3Error({ kind, code, status: kind === "hollow" ? 200 : undefined });
    assert.equal(classify(error), expected);
    assert.equal(isTargetAway(error), isAway);
  });
}

test("401 and 403 are never retried at once and never success, with any code and any headers", () => {
  for (const status of [401, 403]) {
    for (const code of ["", "x", "OK", "AccessDenied", "NotImplemented"]) {
      const error = new S3Error({ kind: "answer", code, status });
      assert.equal(classify(error, all), "refused");
      assert.equal(classify(error, noOptionalHeaders), "refused");
      assert.equal(isTargetAway(error), false);
    }
  }
});

for (const [status, code, slow] of [
  [503, "SlowDown", true],
  [429, "Unknown", true],
  [400, "ThrottlingException", true],
  [503, "ServiceUnavailable", false],
  [403, "AccessDenied", false],
] as const) {
  test(`${status} ${code} ${slow ? "asks" : "does not ask"} for fewer requests at once`, () => {
    assert.equal(isSlowDown(new S3Error({ kind: "answer", code, status })), slow);
  });
}
