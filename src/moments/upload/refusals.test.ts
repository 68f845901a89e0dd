// Servers that refuse, understand less, or have something else where ours belongs.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { S3FaultKind } from "../../../test/support/s3/s3-fault.ts";
import { type SamplePackage, samplePackage } from "../../../test/support/s3/sample-package.ts";
import { UploadWorld, type UploadWorldOptions } from "../../../test/support/s3/upload-world.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { keyPrefix } from "../s3/object-key.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const hour = 3_600_000;
const refused = (status: number, code: string): S3FaultKind => ({ kind: "error", status, code });

async function started(options: UploadWorldOptions = {}): Promise<UploadWorld> {
  const world = await UploadWorld.open(options);
  await world.uploader.start();
  return world;
}

const prefixOf = ({ sessionId, name }: SamplePackage) => keyPrefix(sessionId, name);

function assertWhole(world: UploadWorld, sample: SamplePackage, bucket = "moments"): void {
  const objects = world.server.objects(bucket);
  for (const [path, bytes] of sample.files) {
    assert.ok(objects.get(prefixOf(sample) + path)?.body.equals(bytes), path);
  }
  assert.deepEqual(world.server.journal.brokenInstants, []);
}

const putsOf = (world: UploadWorld) =>
  world.server.journal.entries
    .filter(({ operation, status }) => operation === "PutObject" && status === 200)
    .map(({ key }) => key.split("/").slice(3).join("/"));

// E3: failed and visible, not hammered.
const refusals: readonly (readonly [status: number, code: string, kind: string])[] = [
  [403, "AccessDenied", "refused"],
  [403, "InvalidAccessKeyId", "refused"],
  [403, "SignatureDoesNotMatch", "refused"],
  [401, "Unauthorized", "refused"],
  [404, "NoSuchBucket", "bucket"],
  [301, "PermanentRedirect", "bucket"],
  [400, "AuthorizationHeaderMalformed", "bucket"],
  [403, "RequestTimeTooSkewed", "clock"],
  [403, "ExpiredToken", "expired"],
];
/** One of each class; the others under THROUGHLINE_FULL. */
const chosen = isFull
  ? refusals
  : refusals.filter(([, , kind], at) => refusals.findIndex((row) => row[2] === kind) === at);
for (const [status, code, kind] of chosen) {
  test(`${status} ${code} stops the target as ${kind}: 3 packages, one attempt an hour, told once`, async () => {
    await using world = await started();
    const does = refused(status, code);
    world.server.fail({ operation: "PutObject", times: Number.POSITIVE_INFINITY, does });
    for (let number = 0; number < 3; number++)
      await world.save(samplePackage({ number, frames: 0, withAudio: false }));
    await world.time.pass(3.5 * hour);
    const isAgainAtOnce = kind === "clock" || kind === "expired";
    assert.equal(world.server.journal.count("PutObject"), (isAgainAtOnce ? 2 : 1) * 4);
    assert.equal(world.uploader.target.state, "refused");
    assert.equal(world.uploader.target.error?.class, kind);
    const told = world.events.filter(({ type }) => type === "target_refused");
    assert.equal(told.length, 1);
    assert.equal(world.uploader.statistics().pending, 3);
    world.server.faults.heal();
    await world.uploader.probe();
    assert.ok(await world.untilNothingPends());
    assert.equal(world.uploader.target.state, "ok");
  });
}

test("a process that starts asks at once, though the target said no an instant ago", async () => {
  await using world = await started();
  const sample = samplePackage();
  world.server.fail({ operation: "PutObject", times: 4, does: refused(403, "AccessDenied") });
  await world.save(sample);
  await world.time.pass(1_000);
  assert.equal(world.uploader.target.state, "refused");
  world.server.faults.heal();
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assertWhole(world, sample);
  assert.equal(world.clock.monotonic(), 1_000);
});

test("credentials that expire in the middle of a package are looked up again, and nobody notices", async () => {
  let lookups = 0;
  const credentials = async () => {
    lookups++;
    return { accessKeyId: "test", secretAccessKey: "testsecret", sessionToken: "first" };
  };
  await using world = await started({ server: { sessionToken: "first" }, target: { credentials } });
  const sample = samplePackage({ frames: 6 });
  world.server.fail({ operation: "PutObject", nth: 3, does: refused(400, "ExpiredToken") });
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  assertWhole(world, sample);
  assert.equal(lookups, 2);
  assert.equal(world.clock.monotonic(), 0, "without a wait");
});

test("clocks that are two hours apart are corrected without a wait", async () => {
  await using world = await started({ server: { skewMs: 2 * hour } });
  const sample = samplePackage();
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  assertWhole(world, sample);
  assert.equal(world.clock.monotonic(), 0);
});

test("Retry-After of 20 minutes is waited for, and one of 9 hours for one hour", async () => {
  for (const [seconds, waited] of [
    [1_200, 1_200_000],
    [32_400, hour],
  ] as const) {
    await using world = await started();
    const headers = { "retry-after": String(seconds) };
    world.server.fail({ does: { kind: "error", status: 503, code: "SlowDown", headers } });
    await world.save(samplePackage());
    assert.ok(await world.untilNothingPends());
    assert.equal(world.clock.monotonic(), waited);
  }
});

test("SlowDown halves how much goes up at once", async () => {
  await using world = await started();
  const slow = { kind: "slow", msPerByte: 0, atLeastMs: 10_000 } as const;
  world.server.fail({ operation: "PutObject", key: /jpg$/, times: 100, does: slow });
  world.server.fail({ operation: "PutObject", key: /messages/, does: refused(503, "SlowDown") });
  await world.save(samplePackage({ frames: 12 }));
  let most = 0;
  await world.time.until(() => {
    most = world.server.faults.met < 6 ? 0 : Math.max(most, world.server.held);
    return world.uploader.statistics().pending === 0;
  });
  assert.equal(most, 2);
});

for (const what of ["a flipped bit", "a missing file", "a cut file", "a cut manifest"] as const) {
  test(`${what} on this machine: nothing is sent, the package fails as local_damage`, async () => {
    await using world = await started();
    const sample = samplePackage();
    const { name } = sample;
    world.server.fail({ times: 1, does: { kind: "reset" } });
    await world.save(sample);
    const file = what === "a cut manifest" ? "feedback.json" : "audio.wav";
    const path = `/home/feedback/${name}/${file}`;
    if (what === "a missing file") await world.disk.rename(path, `/home/${file}`);
    else {
      const opened = await world.disk.open(path, "write");
      if (what === "a flipped bit") await opened.write(Uint8Array.of(0x55), 50);
      else await opened.truncate(60);
      await opened.close();
    }
    await world.time.pass(hour);
    assert.equal(world.server.objects().size, 0);
    assert.equal(world.uploader.statistics().parked, 1);
    assert.equal(world.uploader.statistics().last_error?.class, "local_damage");
    assert.deepEqual(await world.left(), [`${name} failed`]);
    // It was mended: somebody asks again.
    if (what === "a missing file") await world.disk.rename(`/home/${file}`, path);
    else {
      const opened = await world.disk.open(path, "write");
      await opened.write(sample.files.get(file) ?? Buffer.alloc(0), 0);
      await opened.close();
    }
    await world.uploader.probe();
    assert.ok(await world.untilNothingPends());
    assertWhole(world, sample);
  });
}

test("other bytes where our manifest belongs: a conflict, told, and not a byte is overwritten", async () => {
  for (const moment of ["before", "during"] as const) {
    await using world = await started();
    const sample = samplePackage();
    const key = `${prefixOf(sample)}feedback.json`;
    const theirs = Buffer.from("somebody else's");
    if (moment === "before") world.server.place(key, theirs);
    else {
      const slow = { kind: "slow", msPerByte: 0, atLeastMs: 5_000 } as const;
      world.server.fail({ operation: "ListObjectsV2", nth: 2, does: slow });
      world.time.after(3_000, () => world.server.place(key, theirs));
    }
    await world.save(sample);
    await world.time.pass(2 * hour);
    assert.ok(world.server.objects().get(key)?.body.equals(theirs));
    if (moment === "before") assert.equal(putsOf(world).length, 0, "nothing was sent at all");
    assert.equal(world.uploader.statistics().parked, 1);
    assert.equal(world.events.filter(({ type }) => type === "failed").length, 1);
    assert.equal(world.uploader.target.state, "ok", "others are not stopped by it");
  }
});

test("two machines that send one package under one prefix: both succeed, the manifest is stored once", async () => {
  await using world = await started();
  await using other = await UploadWorld.open({ at: world.server });
  const sample = samplePackage();
  for (const each of [world, other]) await each.save(sample);
  assert.ok(await world.untilNothingPends());
  assert.ok(await other.untilNothingPends());
  assertWhole(world, sample);
  assert.equal(putsOf(world).filter((path) => path === "feedback.json").length, 1);
});

// Servers that understand less.
const strict: readonly (readonly [
  says: string,
  server: NonNullable<UploadWorldOptions["server"]>,
])[] = [
  ["refuses conditional writes", { conditionalPut: "refused" }],
  ["refuses SHA-256 checksums", { checksum: "refused" }],
  ["refuses both", { conditionalPut: "refused", checksum: "refused" }],
  ["gives no right to list", { list: "forbidden" }],
  ["lists 2 keys a page", { pageSize: 2 }],
];
for (const [says, server] of strict) {
  test(`to a server that ${says} packages go up whole, through a lost reply too`, async () => {
    await using world = await started({ server });
    const samples = [samplePackage({ number: 0, frames: 3 }), samplePackage({ number: 1 })];
    world.server.fail({
      operation: "PutObject",
      key: /feedback/,
      nth: 2,
      does: { kind: "lose_reply" },
    });
    for (const sample of samples) await world.save(sample);
    assert.ok(await world.untilNothingPends());
    for (const sample of samples) assertWhole(world, sample);
    assert.equal(world.uploader.statistics().parked, 0);
  });
}

test("to a server that knows no condition, other bytes under our key are a conflict all the same", async () => {
  await using world = await started({ server: { conditionalPut: "refused", list: "forbidden" } });
  const sample = samplePackage();
  const key = `${prefixOf(sample)}feedback.json`;
  world.server.place(key, Buffer.from("theirs"));
  await world.save(sample);
  await world.time.pass(60_000);
  assert.equal(world.server.objects().get(key)?.body.toString(), "theirs");
  assert.equal(world.uploader.statistics().last_error?.class, "conflict");
});

test("encryption that is refused stops the target: nothing is stored without it", async () => {
  const target = { encryption: "AES256" } as const;
  await using world = await started({ server: { encryption: "refused" }, target });
  await world.save(samplePackage());
  await world.time.pass(2 * hour);
  assert.equal(world.server.objects().size, 0);
  assert.equal(world.uploader.target.error?.class, "encryption_refused");
  for (const { operation, headers } of world.server.journal.entries) {
    if (operation === "PutObject") assert.equal(headers["x-amz-server-side-encryption"], "AES256");
  }
});

test("a server that answers with another MD5 than the bytes have is asked 3 times, then the package fails", async () => {
  await using world = await started();
  const does = { kind: "wrong_etag" } as const;
  world.server.fail({ operation: "PutObject", key: /audio/, times: 100, does });
  await world.save(samplePackage());
  await world.time.pass(hour);
  assert.equal(world.server.journal.count("PutObject", /audio/), 3);
  assert.equal(world.uploader.statistics().last_error?.class, "digest");
  assert.equal(world.server.journal.count("PutObject", /feedback\.json$/), 0);
});

// F5, S-29: buckets.
test("a missing bucket is not made unless that was asked for: packages stay pending", async () => {
  await using world = await started({ server: { buckets: [] } });
  await world.save(samplePackage());
  await world.time.pass(2.5 * hour);
  assert.equal(world.server.hasBucket("moments"), false);
  assert.equal(world.uploader.target.error?.code, "NoSuchBucket");
  assert.equal(world.server.journal.count("CreateBucket"), 0);
  assert.equal(world.server.journal.count("PutObject"), 0);
  assert.equal(world.uploader.statistics().pending, 1);
});

for (const accessBlock of ["kept", "refused"] as const) {
  test(`a missing bucket that is asked for is made, its access block is ${accessBlock} and told, and packages go up`, async () => {
    const server = { buckets: [], accessBlock } as const;
    await using world = await started({ server, target: { createBucket: true } });
    const sample = samplePackage();
    await world.save(sample);
    assert.ok(await world.untilNothingPends());
    assertWhole(world, sample);
    const made = world.events.find(({ type }) => type === "bucket_made");
    assert.deepEqual(made, { type: "bucket_made", isClosedToPublic: accessBlock === "kept" });
  });
}

for (const createBucket of [false, true]) {
  test(`into a bucket of somebody else nothing is sent when createBucket is ${createBucket}`, async () => {
    const server = { buckets: [], foreignBuckets: ["moments"] };
    await using world = await started({ server, target: { createBucket } });
    await world.save(samplePackage());
    await world.time.pass(2 * hour);
    assert.equal(world.server.journal.count("PutObject"), 0);
    assert.equal(world.uploader.target.state, "refused");
    assert.equal(world.uploader.target.error?.class, "refused");
    assert.equal(world.uploader.statistics().pending, 1);
  });
}

test("a package that was to go to another bucket goes to the one that is named now", async () => {
  const disk = new SimulatedDisk();
  await disk.mkdir("/home");
  await using typo = await UploadWorld.open({ disk, target: { bucket: "momnets" } });
  await typo.uploader.start();
  const sample = samplePackage();
  await typo.save(sample);
  await typo.time.pass(hour);
  await using world = await UploadWorld.open({ disk });
  await world.uploader.start();
  assert.ok(await world.untilNothingPends());
  assertWhole(world, sample);
});
