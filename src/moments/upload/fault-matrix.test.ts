// Method: one package, one fault, at one of its requests, in one mode; then let time pass. Whatever
// went wrong, the bucket has the package once and whole, nothing is pending, and at no instant was its
// manifest visible before one of its files. Proves F2, F4, E1, E2, E4, E5 and E7.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { S3Fault, S3FaultKind } from "../../../test/support/s3/s3-fault.ts";
import { type SamplePackage, samplePackage } from "../../../test/support/s3/sample-package.ts";
import { UploadWorld } from "../../../test/support/s3/upload-world.ts";
import { keyPrefix } from "../package/package-name.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";

const faults: readonly (readonly [name: string, does: S3FaultKind])[] = [
  ["a reset before the body", { kind: "reset" }],
  ["a reset in the body", { kind: "reset_in_body" }],
  ["a reply that is lost", { kind: "lose_reply" }],
  ["a reply that is cut", { kind: "cut_reply" }],
  ["a server that never answers", { kind: "hang" }],
  ["a reply of one byte a second", { kind: "drip" }],
  ["a reply after the deadline", { kind: "slow", msPerByte: 0, atLeastMs: 200_000 }],
  ["a captive portal", { kind: "portal" }],
  ["200 with an error body", { kind: "error_in_200" }],
  ["500 InternalError", { kind: "error", status: 500, code: "InternalError" }],
  ["503 SlowDown", { kind: "error", status: 503, code: "SlowDown" }],
  ["403 AccessDenied for two hours", { kind: "error", status: 403, code: "AccessDenied" }],
];

type Request = readonly [name: string, of: Pick<S3Fault, "operation" | "key" | "nth">];
const requests: readonly Request[] = [
  ["messages.json", { operation: "PutObject", key: /messages\.json$/ }],
  ["audio.wav", { operation: "PutObject", key: /audio\.wav$/ }],
  ["frames/000000.jpg", { operation: "PutObject", key: /000000\.jpg$/ }],
  ["feedback.json", { operation: "PutObject", key: /feedback\.json$/ }],
  ["the first LIST", { operation: "ListObjectsV2" }],
  ["the second LIST", { operation: "ListObjectsV2", nth: 2 }],
  ["the GET of feedback.json", { operation: "GetObject" }],
];

const modes = ["local+s3", "s3"] as const;

const cases = faults.flatMap(([fault, does], row) =>
  requests.flatMap(([request, of], column) =>
    modes.map((mode, side) => {
      const isChosen = column === (row * 3) % 7 && side === row % 2;
      return { fault, does, request, of, mode, isChosen };
    }),
  ),
);
/** Every fault, every request and every mode is among them; all 168 take a quarter of a minute. */
const chosen = isFull ? cases : cases.filter(({ isChosen }) => isChosen);

for (const { fault, does, request, of, mode } of chosen) {
  test(`in mode ${mode} ${fault} at ${request} loses nothing and doubles nothing`, async () => {
    await using world = await UploadWorld.started({ keepLocal: mode !== "s3" });
    const sample = samplePackage();
    const times = does.kind === "error" && does.status === 403 ? 3 : 1;
    world.server.fail({ ...of, does, times });
    if (mode === "s3") await world.send(sample);
    else await world.save(sample);
    assert.ok(await world.untilNothingPends(), "it went up in the end");
    assert.ok(world.server.faults.met >= 1, "the fault was met");
    assertOnceAndWhole(world, sample);
    assert.equal(await world.packages.has(sample.name), mode !== "s3", "the local copy");
  });
}

test(`a package of 4 objects goes up in mode local+s3 when ${isFull ? 3 : 1} of every request fail`, async () => {
  await using world = await UploadWorld.started();
  const sample = samplePackage();
  for (const [index, [, of]] of requests.entries()) {
    const does = faults[index]?.[1] ?? { kind: "reset" };
    world.server.fail({ ...of, does, times: isFull ? 3 : 1 });
  }
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  assertOnceAndWhole(world, sample);
});

test("nothing is asked of the network for a package that is not to be uploaded", async () => {
  await using world = await UploadWorld.started();
  await world.save(samplePackage(), false);
  await world.time.pass(3_600_000);
  assert.equal(world.connected, 0);
  assert.deepEqual(world.server.journal.entries, []);
});

function assertOnceAndWhole(world: UploadWorld, { name, sessionId, files }: SamplePackage): void {
  const prefix = keyPrefix(sessionId, name);
  const objects = world.server.objects();
  const keys = Array.from(files.keys(), (path) => prefix + path).sort();
  assert.deepEqual(Array.from(objects.keys()).sort(), keys);
  for (const [path, bytes] of files)
    assert.ok(objects.get(prefix + path)?.body.equals(bytes), path);
  const { journal } = world.server;
  assert.deepEqual(journal.brokenInstants, []);
  const sealed = journal.entries.filter(
    ({ key, changed }) => changed && key.endsWith("feedback.json"),
  );
  assert.equal(sealed.length, 1, "the manifest was stored once");
  const { pending, dead } = world.uploader.statistics();
  assert.deepEqual({ pending, dead }, { pending: 0, dead: 0 });
  assert.ok(world.uploaded.length <= 1);
}
