// The server is what uploads are proved against, so it is proved here to be strict: by requests that
// are right but for one thing, made with the client of AWS.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { silentLogger } from "../../../src/core/logger.ts";
import { systemTimers } from "../../../src/core/timers.ts";
import { resolveTarget, type S3TargetOptions } from "../../../src/moments/s3/options.ts";
import { type ObjectToPut, S3Bucket } from "../../../src/moments/s3/s3-bucket.ts";
import { S3Journal, type StoredObject } from "./s3-journal.ts";
import { S3Server } from "./s3-server.ts";
import { samplePackage } from "./sample-package.ts";

const signal = new AbortController().signal;
let server: S3Server;
before(async () => {
  server = await S3Server.start({ pageSize: 3 });
});
after(() => server.close());

function portTo(options: Partial<S3TargetOptions> = {}): S3Bucket {
  const { endpoint, credentials } = server;
  const target = resolveTarget({ bucket: "moments", endpoint, credentials, ...options });
  return new S3Bucket(target, { timers: systemTimers, logger: silentLogger });
}

function object(key: string, text = "hello"): ObjectToPut {
  const body = Buffer.from(text);
  const sha256 = createHash("sha256").update(body).digest("hex");
  return { key, body, contentType: "image/jpeg", sha256 };
}

test("keys with spaces, quotes, brackets, umlauts and emoji are stored and listed as they are", async () => {
  const port = portTo();
  const keys = ["k/a b", "k/ü(1)'*!", "k/😀&<>", "k/~-_.", "k/a=b,c;d"];
  for (const key of keys) await port.put(object(key), signal);
  // In pages of 3.
  const listed = await Array.fromAsync(port.list("k/", signal), ({ key }) => key);
  assert.deepEqual(listed, keys.toSorted());
});

test("a SHA-256 or MD5 that is not that of the body is BadDigest", async () => {
  const wrong = { ...object("bad"), sha256: createHash("sha256").update("other").digest("hex") };
  await assert.rejects(portTo().put(wrong, signal), { code: "BadDigest", status: 400 });
  assert.equal(server.objects().has("bad"), false);
});

// The journal is what says that a manifest was never visible before its files: it must be able to
// say the opposite.
const { files, name } = samplePackage();
const prefix = `feedback/s/${name}/`;
const all = ["messages.json", "audio.wav", "frames/000000.jpg"];
const journalRows: readonly (readonly [says: string, order: readonly string[], broken: number])[] =
  [
    ["manifest last", [...all, "feedback.json"], 0],
    ["one file after the manifest", [...all.slice(0, 2), "feedback.json", ...all.slice(2)], 1],
    ["manifest first", ["feedback.json", ...all], 6],
    ["a file removed under the manifest", [...all, "feedback.json", "-audio.wav"], 1],
    ["the manifest removed first", [...all, "feedback.json", "-feedback.json", "-audio.wav"], 0],
    ["other bytes put under the manifest", [...all, "feedback.json", "!audio.wav"], 1],
  ];
for (const [says, order, broken] of journalRows) {
  test(`with ${says} the journal names ${broken} broken instants`, () => {
    const journal = new S3Journal();
    const objects = new Map<string, StoredObject>();
    for (const step of order) {
      const path = step.replace(/^[-!]/, "");
      const key = prefix + path;
      const body = (step.startsWith("!") ? undefined : files.get(path)) ?? Buffer.from("other");
      const more = { modifiedMs: 0, etag: "", contentType: "" };
      const isRemoval = step.startsWith("-");
      if (isRemoval) objects.delete(key);
      else objects.set(key, { body, metadata: {}, ...more });
      const operation = isRemoval ? "DeleteObject" : "PutObject";
      journal.note({ operation, key, status: 200, changed: true, headers: {} }, objects);
    }
    assert.equal(journal.brokenInstants.length, broken);
  });
}
