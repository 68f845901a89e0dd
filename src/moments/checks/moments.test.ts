import assert from "node:assert/strict";
import { test } from "node:test";
import { checkMoments } from "./moments.ts";

const rest = { region: undefined, endpoint: undefined, createBucket: false, autoRecord: false };
for (const [storage, bucket, status, says] of [
  ["cloud", "b", "note", /^FEEDBACK_STORAGE must be one of local, local\+s3, s3\. /],
  ["cloud", undefined, "note", /^FEEDBACK_STORAGE must be one of /],
  ["s3", undefined, "note", /^FEEDBACK_STORAGE is s3, but FEEDBACK_S3_BUCKET is not set\. /],
  ["local", undefined, "ok", /stay on this machine$/],
  ["local", "b", "ok", /stay on this machine$/],
  [undefined, undefined, "ok", /stay on this machine$/],
  [undefined, "b", "ok", /go to the bucket b$/],
  ["s3", "b", "ok", /go to the bucket b$/],
] as const) {
  test(`FEEDBACK_STORAGE ${storage} with the bucket ${bucket} is ${status} for doctor, in words`, () => {
    const check = checkMoments({ ...rest, storage, bucket });
    assert.equal(check.status, status);
    assert.match(check.says, says);
  });
}
