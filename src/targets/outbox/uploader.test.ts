// What is owed goes up: through restarts, outages, refusals and other people's objects. The server
// and the client are real, the clock is held.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { S3FaultKind } from "../../testing/s3/s3-fault.ts";
import { type SamplePackage, samplePackage } from "../../testing/s3/sample-package.ts";
import { UploadWorld, type UploadWorldOptions } from "../../testing/s3/upload-world.ts";
import { SimulatedDisk } from "../../testing/simulated-disk.ts";
import { keyPrefix } from "../s3/object-key.ts";

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

test("a package goes up in the manifest's order, the manifest last and under a condition, each typed", async () => {
  await using world = await started();
  const sample = samplePackage({ frames: 2 });
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  assertWhole(world, sample);
  const paths = ["messages.json", "audio.wav", "frames/000000.jpg", "frames/000001.jpg"];
  assert.deepEqual(putsOf(world).slice(0, -1).toSorted(), paths.toSorted());
  assert.equal(putsOf(world).at(-1), "feedback.json");
  const types = ["messages.json", "audio.wav", "frames/000000.jpg", "feedback.json"].map(
    (path) => world.server.objects().get(prefixOf(sample) + path)?.contentType,
  );
  assert.deepEqual(types, ["application/json", "audio/wav", "image/jpeg", "application/json"]);
  const sealed = world.server.journal.entries.filter(({ key }) => key.endsWith("feedback.json"));
  assert.equal(sealed[0]?.headers["if-none-match"], "*");
  const { name } = sample;
  assert.deepEqual(world.events, [{ type: "uploaded", name, prefix: prefixOf(sample) }]);
  const timestamp = world.clock.now() / 1_000;
  assert.deepEqual(world.packages.copies.get(name), [
    { bucket: "moments", prefix: prefixOf(sample), timestamp },
  ]);
  assert.deepEqual(await world.disk.list("/home/outbox"), []);
});

// F2, E4: each object once, manifest last. The process dies after each object in turn.
for (let sent = 0; sent <= 4; sent++) {
  test(`a process that dies after ${sent} of 4 objects: the next one sends the other ${4 - sent}`, async () => {
    await using world = await started();
    const sample = samplePackage();
    world.server.fail({
      ...{ operation: sent === 4 ? "HeadObject" : "PutObject", nth: sent === 4 ? 1 : sent + 1 },
      ...{ times: 100, does: refused(500, "InternalError") },
    });
    await world.save(sample);
    await world.time.pass(1);
    world.server.faults.heal();
    const before = putsOf(world);
    await world.restart();
    assert.ok(await world.untilNothingPends());
    assertWhole(world, sample);
    assert.equal(putsOf(world).length, 4, "each object once");
    assert.equal(new Set([...before, ...putsOf(world).slice(before.length)]).size, 4);
    assert.equal(putsOf(world).at(-1), "feedback.json");
  });
}

test("what a saving left without a package is dropped at start, and with one goes up", async () => {
  await using world = await started();
  const [born, unborn] = [samplePackage({ number: 1 }), samplePackage({ number: 2 })];
  for (const { name, sessionId: session_id } of [born, unborn]) {
    await world.uploader.owed.saving({ name, session_id, consent: { upload: true } });
  }
  world.packages.add(born);
  await world.time.pass(hour);
  assert.equal(world.server.objects().size, 0, "nothing goes up before it is durable");
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assertWhole(world, born);
  assert.equal(world.server.objects().size, born.files.size);
  assert.deepEqual(await world.disk.list("/home/outbox"), []);
});

test("without consent to upload nothing is owed and nothing asked", async () => {
  await using world = await started();
  await world.save(samplePackage(), false);
  await world.time.pass(hour);
  assert.equal(world.ports, 0);
  assert.equal(await world.uploader.owed.owes(samplePackage().name), false);
  assert.deepEqual(await world.disk.list("/home/outbox").catch(() => []), []);
});

test("a server that is away for 3 hours is asked fewer than 60 times, then 5 packages go up, oldest first", async () => {
  await using world = await started();
  world.server.fail({ times: Number.POSITIVE_INFINITY, does: { kind: "reset" } });
  const samples = [3, 1, 4, 0, 2].map((number) => samplePackage({ number }));
  for (const sample of samples) await world.save(sample);
  await world.time.pass(3 * hour);
  assert.ok(world.server.faults.met < 60, `${world.server.faults.met} requests`);
  assert.ok(world.server.faults.met > 20, `${world.server.faults.met} requests`);
  assert.equal(world.uploader.target.state, "waiting");
  const { pending, last_error, oldest_at } = world.uploader.statistics();
  assert.equal(pending, 5);
  assert.equal(last_error?.code, "ECONNRESET");
  assert.equal(oldest_at, "2026-03-01T12:00:00.000Z");
  world.server.faults.heal();
  world.uploader.online();
  const at = world.clock.monotonic();
  assert.ok(await world.untilNothingPends());
  assert.equal(world.clock.monotonic(), at, "at once");
  const uploaded = world.events.map((event) => ("name" in event ? event.name : ""));
  assert.deepEqual(uploaded, samples.map(({ name }) => name).toSorted());
});

test("an outage that outlasts the process is gone on with by the next one", async () => {
  await using world = await started();
  world.server.fail({ times: Number.POSITIVE_INFINITY, does: { kind: "reset" } });
  const sample = samplePackage();
  await world.save(sample);
  await world.time.pass(hour);
  await world.restart();
  await world.time.pass(hour);
  world.server.faults.heal();
  assert.ok(await world.untilNothingPends(hour + 1));
  assertWhole(world, sample);
});

test("a package that the server cannot take keeps no other from going up", async () => {
  await using world = await started();
  const [bad, good] = [samplePackage({ number: 0 }), samplePackage({ number: 1 })];
  const does = refused(500, "InternalError");
  world.server.fail({ key: new RegExp(bad.name), times: Number.POSITIVE_INFINITY, does });
  await world.save(bad);
  await world.save(good);
  await world.time.pass(60_000);
  assertWhole(world, good);
  assert.equal(world.uploader.statistics().pending, 1);
});

test("an entry that cannot be read keeps no other from going up, and is reported", async () => {
  await using world = await started();
  const [bad, good] = [samplePackage({ number: 0 }), samplePackage({ number: 1 })];
  world.server.fail({ times: 2, does: { kind: "reset" } });
  await world.save(bad);
  await world.save(good);
  await world.uploader.close();
  const file = await world.disk.open(`/home/outbox/${bad.name}.json`, "write");
  await file.truncate(20);
  await file.close();
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assertWhole(world, good);
  assert.equal(world.reports[0]?.key, `outbox/${bad.name}`);
});

// E3: parked and visible, not hammered.
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
for (const [status, code, kind] of refusals) {
  test(`${status} ${code} parks the target as ${kind}: 10 packages, one attempt an hour, told once`, async () => {
    await using world = await started();
    const does = refused(status, code);
    world.server.fail({ operation: "PutObject", times: Number.POSITIVE_INFINITY, does });
    for (let number = 0; number < 10; number++)
      await world.save(samplePackage({ number, frames: 0, withAudio: false }));
    await world.time.pass(3.5 * hour);
    const isAgainAtOnce = kind === "clock" || kind === "expired";
    assert.equal(world.server.journal.count("PutObject"), (isAgainAtOnce ? 2 : 1) * 4);
    assert.equal(world.uploader.target.state, "parked");
    assert.equal(world.uploader.target.error?.class, kind);
    const told = world.events.filter(({ type }) => type === "target_parked");
    assert.equal(told.length, 1);
    assert.equal(world.uploader.statistics().pending, 10);
    world.server.faults.heal();
    await world.uploader.probe();
    assert.ok(await world.untilNothingPends());
    assert.equal(world.uploader.target.state, "ok");
  });
}

test("credentials that expire in the middle of a package are looked up again, and nobody notices", async () => {
  let token = "first";
  const credentials = async () => ({
    ...{ accessKeyId: "test", secretAccessKey: "testsecret", sessionToken: token },
  });
  await using world = await started({ server: { sessionToken: "first" }, target: { credentials } });
  const sample = samplePackage({ frames: 6 });
  world.server.fail({ operation: "PutObject", nth: 3, does: refused(400, "ExpiredToken") });
  token = "first";
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  assertWhole(world, sample);
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
  test(`${what} on this machine: nothing is sent, the package is parked as local_damage`, async () => {
    await using world = await started();
    const sample = samplePackage();
    world.packages.add(sample);
    const files = world.packages.packages.get(sample.name);
    const [path, bytes] = [
      what === "a cut manifest" ? "feedback.json" : "audio.wav",
      Buffer.alloc(0),
    ];
    const flipped = Buffer.from(sample.files.get(path) ?? bytes);
    flipped[50] = (flipped[50] ?? 0) ^ 1;
    const { name, sessionId: session_id } = sample;
    await world.uploader.owed.saving({ name, session_id, consent: { upload: true } });
    if (what === "a missing file") files?.delete(path);
    else files?.set(path, what === "a flipped bit" ? flipped : flipped.subarray(0, 60));
    await world.uploader.owed.saved(name);
    await world.time.pass(hour);
    assert.equal(world.server.objects().size, 0);
    assert.equal(world.uploader.statistics().parked, 1);
    assert.equal(world.uploader.statistics().last_error?.class, "local_damage");
    // It was mended: somebody asks again.
    world.packages.add(sample);
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
    assert.equal(world.events.filter(({ type }) => type === "parked").length, 1);
    assert.equal(world.uploader.target.state, "ok", "others are not stopped by it");
  }
});

test("two machines that send one package under one prefix: both succeed, the manifest is stored once", async () => {
  await using world = await started();
  const sample = samplePackage();
  await world.save(sample);
  const { name, sessionId, files } = sample;
  const part = async (_name: string, path: string) => files.get(path) ?? Buffer.alloc(0);
  const source = { manifest: () => part(name, "feedback.json"), part };
  const sent = await world.whileTimePasses(world.uploader.sendNow(name, sessionId, source));
  assert.ok(sent.uploaded);
  assert.ok(await world.untilNothingPends());
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

test("encryption that is refused parks the target: nothing is stored without it", async () => {
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

test("a server that answers with another MD5 than the bytes have is asked 3 times, then the package is parked", async () => {
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
test("a missing bucket is not made unless that was asked for: packages are owed", async () => {
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
  test(`into a bucket of somebody else nothing is sent, ${createBucket ? "also" : ""} when createBucket is ${createBucket}`, async () => {
    const server = { buckets: [], foreignBuckets: ["moments"] };
    await using world = await started({ server, target: { createBucket } });
    await world.save(samplePackage());
    await world.time.pass(2 * hour);
    assert.equal(world.server.journal.count("PutObject"), 0);
    assert.equal(world.uploader.target.state, "parked");
    assert.equal(world.uploader.target.error?.class, "refused");
    assert.equal(world.uploader.statistics().pending, 1);
  });
}

test("a package that was owed to another bucket goes to the one that is named now", async () => {
  const disk = new SimulatedDisk();
  await disk.mkdir("/home");
  await using typo = await UploadWorld.open({ disk, target: { bucket: "momnets" } });
  await typo.uploader.start();
  const sample = samplePackage();
  await typo.save(sample);
  await typo.time.pass(hour);
  await using world = await UploadWorld.open({ disk });
  world.packages.add(sample);
  await world.uploader.start();
  assert.ok(await world.untilNothingPends());
  assertWhole(world, sample);
});

// What undoes.
test("a retraction is owed until its package is there, then lies beside the manifest", async () => {
  await using world = await started();
  const sample = samplePackage();
  const { name } = sample;
  world.server.fail({ times: 3, does: { kind: "reset" } });
  await world.save(sample);
  const retraction = { at: 1.5, by: "ori", reason: "a mistake", superseded_by: null };
  await world.uploader.retract(name, prefixOf(sample), retraction);
  assert.ok(await world.untilNothingPends());
  assertWhole(world, sample);
  const object = world.server.objects().get(`${prefixOf(sample)}retracted.json`);
  assert.deepEqual(JSON.parse(object?.body.toString() ?? ""), retraction);
  assert.equal(world.server.journal.entries.at(-1)?.key, `${prefixOf(sample)}retracted.json`);
  assert.deepEqual(world.events.at(-1), { type: "retracted", name });
});

const goneOf = ({ name, sessionId: session_id }: SamplePackage) => ({
  ...{ name, session_id, consent: { upload: true } },
});

for (const list of ["allowed", "forbidden"] as const) {
  for (const versions of [false, true]) {
    test(`with LIST ${list} and versions ${versions ? "on" : "off"} a deleted package goes from the bucket, manifest first`, async () => {
      await using world = await started({ server: { list, versions } });
      const [sample, other] = [samplePackage({ number: 0 }), samplePackage({ number: 1 })];
      for (const each of [sample, other]) await world.save(each);
      assert.ok(await world.untilNothingPends());
      const copies = [{ bucket: "moments", prefix: prefixOf(sample) }];
      await world.uploader.owed.forgotten(goneOf(sample), copies);
      world.packages.packages.delete(sample.name);
      await world.restart();
      assert.ok(await world.untilNothingPends());
      assert.equal(world.server.objects().size, other.files.size);
      assertWhole(world, other);
      const { journal } = world.server;
      const removed = journal.entries.filter(({ operation }) => operation === "DeleteObject");
      assert.match(removed[0]?.key ?? "", /feedback\.json$/);
      const told = world.events.at(-1);
      assert.ok(told?.type === "deleted" && told.versionsRemain === versions);
    });
  }
}

for (const kind of ["slow", "hang"] as const) {
  test(`a deletion beats an upload that is under way and ${kind}: nothing of it stays in the bucket`, async () => {
    await using world = await started();
    const sample = samplePackage({ frames: 4 });
    const does = kind === "hang" ? { kind } : { kind, msPerByte: 0, atLeastMs: 20_000 };
    world.server.fail({ operation: "PutObject", key: /jpg$/, times: 4, does });
    await world.save(sample);
    await world.time.until(() => world.server.held >= 2);
    assert.ok(world.server.held >= 2);
    await world.uploader.owed.forgotten(goneOf(sample), []);
    world.packages.packages.delete(sample.name);
    assert.ok(await world.untilNothingPends());
    assert.equal(world.server.objects().size, 0);
    assert.equal(world.server.journal.count("PutObject", /feedback\.json$/), 0);
    assert.deepEqual(await world.disk.list("/home/outbox"), []);
  });
}

test("a process that dies between a deletion's entry and the package's: the deletion wins", async () => {
  await using world = await started();
  const sample = samplePackage();
  world.server.fail({ times: 100, does: { kind: "reset" } });
  await world.save(sample);
  const entry = await world.disk.open(`/home/outbox/${sample.name}.json`, "read");
  const bytes = Buffer.alloc(await entry.size());
  await entry.read(bytes, 0);
  await entry.close();
  await world.uploader.owed.forgotten(goneOf(sample), []);
  await world.uploader.close();
  const again = await world.disk.open(`/home/outbox/${sample.name}.json`, "create");
  await again.write(bytes, 0);
  await again.close();
  world.server.faults.heal();
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assert.equal(world.server.journal.count("PutObject"), 0);
  assert.equal(world.server.journal.count("DeleteObject") > 0, true);
  assert.deepEqual(await world.disk.list("/home/outbox"), []);
});

// Mode s3.
test("in mode s3 nothing touches the disk while uploads succeed", async () => {
  await using world = await started({ keepLocal: false });
  const operations = () => world.disk as unknown as { operations: readonly { changes: boolean }[] };
  const before = operations().operations.filter(({ changes }) => changes).length;
  const sample = samplePackage();
  assert.equal(await world.send(sample), "memory");
  assertWhole(world, sample);
  assert.equal(operations().operations.filter(({ changes }) => changes).length, before);
});

test("in mode s3 a target that is parked or away is not asked by each moment: they go to the disk", async () => {
  await using world = await started({ keepLocal: false });
  const does = refused(403, "AccessDenied");
  world.server.fail({ operation: "PutObject", times: Number.POSITIVE_INFINITY, does });
  for (let number = 0; number < 4; number++) {
    assert.equal(await world.send(samplePackage({ number, frames: 0, withAudio: false })), "disk");
  }
  assert.equal(world.server.journal.count("PutObject"), 1);
  world.server.faults.heal();
  await world.uploader.probe();
  assert.ok(await world.untilNothingPends());
  assert.equal(world.packages.packages.size, 0, "the local copies are gone");
  assert.equal(world.packages.released.length, 4);
});

test("a status that cannot be written keeps the entry: it is written later, once", async () => {
  await using world = await started();
  world.packages.failNotes = 2;
  const sample = samplePackage();
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  assertWhole(world, sample);
  assert.equal(putsOf(world).length, 4, "nothing was sent twice");
  assert.equal(world.packages.copies.get(sample.name)?.length, 1);
});

test("a package that is gone here and whole there is done; one that is nowhere is parked as local_missing", async () => {
  await using world = await started();
  const [there, nowhere] = [samplePackage({ number: 0 }), samplePackage({ number: 1 })];
  world.packages.failNotes = 1;
  await world.save(there);
  await world.time.until(() => world.packages.failNotes === 0);
  world.packages.packages.delete(there.name);
  await world.save(nowhere);
  world.packages.packages.delete(nowhere.name);
  await world.time.pass(hour);
  const { pending, parked, last_error } = world.uploader.statistics();
  assert.deepEqual([pending, parked, last_error?.class], [0, 1, "local_missing"]);
});

test("without the client library packages are owed, the target says no_client, and they go up once it is there", async () => {
  let isThere = false;
  const load = () =>
    isThere ? import("@aws-sdk/client-s3") : Promise.reject(new Error("not installed"));
  await using world = await started({ load });
  const sample = samplePackage();
  await world.save(sample);
  await world.time.pass(1_000);
  assert.equal(world.uploader.target.error?.class, "no_client");
  assert.equal(world.uploader.statistics().pending, 1);
  isThere = true;
  assert.ok(await world.untilNothingPends());
  assertWhole(world, sample);
  assert.equal(world.clock.monotonic(), hour);
});

test("a package on a slow link yields after ten minutes, keeps its progress, and the next one goes first", async () => {
  await using world = await started();
  const [slow, next] = [samplePackage({ number: 0, frames: 120 }), samplePackage({ number: 1 })];
  const does = { kind: "slow", msPerByte: 0, atLeastMs: 25_000 } as const;
  const key = new RegExp(`${slow.name}/frames`);
  world.server.fail({ operation: "PutObject", key, times: 1_000, does });
  await world.save(slow);
  await world.save(next);
  assert.ok(await world.untilNothingPends());
  for (const each of [slow, next]) assertWhole(world, each);
  const uploaded = world.events.map((event) => ("name" in event ? event.name : ""));
  assert.deepEqual(uploaded, [next.name, slow.name]);
  assert.equal(world.server.journal.count("PutObject", key), 120, "nothing was sent twice");
});
