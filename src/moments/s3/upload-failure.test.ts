import assert from "node:assert/strict";
import { test } from "node:test";
import { type FailureClass, failureOf, failureOfClient, UploadFailure } from "./upload-failure.ts";

type Waits = UploadFailure["waits"];

const answers: readonly (readonly [number, string, FailureClass, Waits])[] = [
  [429, "TooManyRequests", "retry", "target"],
  [500, "InternalError", "retry", "target"],
  [502, "Unknown", "retry", "target"],
  [503, "SlowDown", "retry", "target"],
  [503, "ServiceUnavailable", "retry", "target"],
  [504, "Unknown", "retry", "target"],
  [408, "Unknown", "retry", "package"],
  [400, "RequestTimeout", "retry", "package"],
  [409, "ConditionalRequestConflict", "retry", "package"],
  [409, "OperationAborted", "retry", "package"],
  [403, "RequestTimeTooSkewed", "clock", "target"],
  [403, "ExpiredToken", "expired", "target"],
  [400, "ExpiredToken", "expired", "target"],
  [400, "TokenRefreshRequired", "expired", "target"],
  [401, "Unknown", "refused", "target"],
  [403, "Unknown", "refused", "target"],
  [403, "AccessDenied", "refused", "target"],
  [403, "NotImplemented", "refused", "target"],
  [403, "InvalidAccessKeyId", "refused", "target"],
  [403, "SignatureDoesNotMatch", "refused", "target"],
  [400, "InvalidToken", "refused", "target"],
  [403, "BucketAlreadyExists", "refused", "target"],
  [404, "NoSuchBucket", "bucket", "target"],
  [301, "PermanentRedirect", "bucket", "target"],
  [301, "Unknown", "bucket", "target"],
  [307, "TemporaryRedirect", "bucket", "target"],
  [400, "AuthorizationHeaderMalformed", "bucket", "target"],
  [400, "IllegalLocationConstraintException", "bucket", "target"],
  [400, "InvalidLocationConstraint", "bucket", "target"],
  [400, "BadDigest", "retry", "package"],
  [400, "XAmzContentSHA256Mismatch", "retry", "package"],
  [400, "XAmzContentChecksumMismatch", "retry", "package"],
  [400, "IncompleteBody", "retry", "package"],
  [412, "PreconditionFailed", "conflict", "dead"],
  [411, "MissingContentLength", "rejected", "dead"],
  [501, "NotImplemented", "rejected", "dead"],
  [400, "InvalidRequest", "rejected", "dead"],
  [400, "InvalidArgument", "rejected", "dead"],
  [400, "KeyTooLongError", "rejected", "dead"],
  [400, "Unknown", "rejected", "dead"],
  [402, "Unknown", "rejected", "dead"],
  [404, "Unknown", "rejected", "dead"],
  [404, "NoSuchKey", "rejected", "dead"],
  [405, "MethodNotAllowed", "rejected", "dead"],
  [413, "EntityTooLarge", "rejected", "dead"],
  [418, "Unknown", "rejected", "dead"],
  [400, "ThrottlingException", "retry", "target"],
];

const thrown = (fields: object) => Object.assign(new Error("private"), fields);

test("every answer that a service was seen to give has its class, and what is unknown is rejected", () => {
  for (const [status, name, kind, waits] of answers) {
    const failure = failureOfClient(thrown({ name, $metadata: { httpStatusCode: status } }));
    const { code } = failure;
    assert.deepEqual(
      [failure.class, failure.waits, failure.status, code],
      [kind, waits, status, name],
    );
  }
});

const others: readonly (readonly [error: unknown, code: string, FailureClass, Waits?])[] = [
  [thrown({ code: "ECONNREFUSED" }), "ECONNREFUSED", "retry"],
  [thrown({ code: "ENOTFOUND" }), "ENOTFOUND", "retry"],
  [thrown({ code: "EAI_AGAIN" }), "EAI_AGAIN", "retry"],
  [thrown({ code: "EPROTO" }), "EPROTO", "retry"],
  [thrown({ name: "TimeoutError", code: "ECONNRESET" }), "ECONNRESET", "retry"],
  [thrown({ name: "TimeoutError" }), "TimeoutError", "retry"],
  [thrown({ code: "CERT_HAS_EXPIRED" }), "CERT_HAS_EXPIRED", "refused"],
  [thrown({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" }), "DEPTH_ZERO_SELF_SIGNED_CERT", "refused"],
  [thrown({ code: "SELF_SIGNED_CERT_IN_CHAIN" }), "SELF_SIGNED_CERT_IN_CHAIN", "refused"],
  [
    thrown({ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }),
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "refused",
  ],
  [thrown({ code: "ERR_TLS_CERT_ALTNAME_INVALID" }), "ERR_TLS_CERT_ALTNAME_INVALID", "refused"],
  [thrown({ name: "CredentialsProviderError" }), "CredentialsProviderError", "no_credentials"],
  // A captive portal, or an error in the body of a 200.
  [thrown({ name: "InternalError", $metadata: { httpStatusCode: 200 } }), "InternalError", "retry"],
  [thrown({ name: "SyntaxError", $response: { statusCode: 200 } }), "SyntaxError", "retry"],
  ["oh no", "Error", "retry"],
  [undefined, "Error", "retry"],
  [new UploadFailure("incomplete", { code: "x" }), "x", "incomplete", "package"],
];

test("a failure without an answer stops the target, and its message holds nothing but codes", () => {
  for (const [error, code, kind, waits = "target"] of others) {
    const failure = failureOfClient(error);
    assert.deepEqual([failure.class, failure.code, failure.waits], [kind, code, waits]);
    assert.doesNotMatch(failure.message, /private/);
  }
});

test("what no bucket rejected with is a failure of this machine, and harms one package alone", () => {
  const { note, waits, message } = failureOf(thrown({ code: "EIO" }));
  assert.deepEqual([note, waits], [{ class: "local_io", code: "EIO", status: null }, "package"]);
  assert.doesNotMatch(message, /private/);
});
