import assert from "node:assert/strict";
import { test } from "node:test";
import { keyPrefix } from "../package/package-name.ts";
import { resolveTarget } from "./options.ts";

const bucket = "moments";

test("without more than a bucket: us-east-1, no endpoint, AES256, and nothing is created", () => {
  assert.deepEqual(resolveTarget({ bucket }), {
    bucket,
    region: "us-east-1",
    endpoint: undefined,
    credentials: undefined,
    createBucket: false,
    bucketOwner: undefined,
    encryption: "AES256",
    checksums: "sha256",
  });
});

test("on an endpoint of one's own encryption is asked for only when that was said", () => {
  const endpoint = "https://objects.example.org";
  assert.equal(resolveTarget({ bucket, endpoint }).encryption, "none");
  assert.equal(resolveTarget({ bucket, endpoint, encryption: "AES256" }).encryption, "AES256");
});

// S-29: TLS unless loopback, and the endpoint holds no secret.
const endpoints: readonly (readonly [endpoint: string, isFine: boolean])[] = [
  ["https://objects.example.org", true],
  ["http://127.0.0.1:9000", true],
  ["http://127.9.8.7", true],
  ["http://localhost:9000", true],
  ["http://[::1]:9000", true],
  ["http://objects.example.org", false],
  ["http://10.0.0.5:9000", false],
  ["http://127.0.0.1.example.org", false],
  ["http://localhost.example.org", false],
  ["https://name:secret@objects.example.org", false],
  ["ftp://127.0.0.1", false],
  ["objects.example.org", false],
  ["", false],
];
for (const [endpoint, isFine] of endpoints) {
  test(`the endpoint "${endpoint}" is ${isFine ? "taken" : "refused"}`, () => {
    const resolve = () => resolveTarget({ bucket, endpoint });
    if (isFine) assert.equal(resolve().endpoint, endpoint);
    else assert.throws(resolve, { code: "THROUGHLINE_CONFIGURATION" });
  });
}

const wrong: readonly (readonly [says: string, options: object])[] = [
  ["no bucket", {}],
  ["an empty bucket", { bucket: "" }],
  ["a bucket with a slash", { bucket: "a/b" }],
  ["a bucket that is a number", { bucket: 7 }],
  ["an empty region", { bucket, region: "" }],
  ["a region with a line break", { bucket, region: "eu\nwest" }],
  ["an owner of 11 digits", { bucket, bucketOwner: "12345678901" }],
  ["an unknown encryption", { bucket, encryption: "rot13" }],
  ["unknown checksums", { bucket, checksums: "md5" }],
  ["a name that there is not", { bucket, owner: "123456789012" }],
];
for (const [says, options] of wrong) {
  test(`${says} is a configuration error`, () => {
    assert.throws(() => resolveTarget(options as { bucket: string }), {
      code: "THROUGHLINE_CONFIGURATION",
    });
  });
}

const name = "2026-02-19T15-30-00_positive_fb_a1b2c3d4e5f6";
const sessions: readonly (readonly [sessionId: string, folder: string])[] = [
  ["a1b2c3d4", "a1b2c3d4"],
  ["", "unknown"],
  [".", "unknown"],
  ["..", "unknown"],
  ["...", "..."],
  ["../../etc", ".._.._etc"],
  ["a/b\\c", "a_b_c"],
  ["a b+c", "a_b_c"],
  ["Ünï\u0000\n", "_n___"],
  ["x".repeat(300), "x".repeat(100)],
];
for (const [sessionId, folder] of sessions) {
  test(`a session ${JSON.stringify(sessionId.slice(0, 20))} has its keys in feedback/${folder.slice(0, 20)}/`, () => {
    assert.equal(keyPrefix(sessionId, name), `feedback/${folder}/${name}/`);
  });
}
