import assert from "node:assert/strict";
import { test } from "node:test";
import { classify, type ErrorClass, isTargetAway } from "./error-class.ts";
import { S3Error, type S3ErrorKind } from "./s3-error.ts";

const answers: readonly (readonly [number, string, ErrorClass])[] = [
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
  [403, "NotImplemented", "refused"],
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
  [400, "BadDigest", "retry"],
  [400, "XAmzContentSHA256Mismatch", "retry"],
  [400, "XAmzContentChecksumMismatch", "retry"],
  [400, "IncompleteBody", "retry"],
  [412, "PreconditionFailed", "conflict"],
  [411, "MissingContentLength", "rejected"],
  [501, "NotImplemented", "rejected"],
  [400, "InvalidRequest", "rejected"],
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

test("every answer that a service was seen to give has its class, and what is unknown is rejected", () => {
  for (const [status, code, kind] of answers) {
    const error = new S3Error({ kind: "answer", code, status });
    assert.equal(classify(error), kind, `${status} ${code}`);
  }
});

test("the whole service is away when it fails or asks for less, and not when it answers otherwise", () => {
  for (const [status, code, isAway] of [
    [503, "SlowDown", true],
    [500, "InternalError", true],
    [429, "Unknown", true],
    [400, "ThrottlingException", true],
    [409, "OperationAborted", false],
    [408, "Unknown", false],
  ] as const) {
    assert.equal(isTargetAway(new S3Error({ kind: "answer", code, status })), isAway, code);
  }
});

const kinds: readonly (readonly [S3ErrorKind, string, ErrorClass])[] = [
  ["connection", "ECONNREFUSED", "retry"],
  ["connection", "ECONNRESET", "retry"],
  ["connection", "ENOTFOUND", "retry"],
  ["timeout", "DeadlinePassed", "retry"],
  ["hollow", "NoETag", "retry"],
  ["certificate", "CERT_HAS_EXPIRED", "refused"],
  ["no_credentials", "NoCredentials", "no_credentials"],
  ["no_client", "NoClient", "no_client"],
];
test("a failure without an answer is retried, but for what a person must mend", () => {
  for (const [kind, code, expected] of kinds) {
    const error = new S3Error({ kind, code, status: kind === "hollow" ? 200 : undefined });
    assert.equal(classify(error), expected, code);
  }
});
