// Servers that refuse, understand less, or have something else where ours belongs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column } from "../../../test/support/columns.ts";
import type { S3FaultKind } from "../../../test/support/s3/s3-fault.ts";
import { type SamplePackage, samplePackage } from "../../../test/support/s3/sample-package.ts";
import { prefixOf, UploadWorld } from "../../../test/support/s3/upload-world.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";

const hour = 3_600_000;
const refused = (status: number, code: string): S3FaultKind => ({ kind: "error", status, code });

// One for each row that decides: failed and visible, not hammered.
const refusals: readonly (readonly [status: number, code: string, kind: string])[] = [
  [403, "AccessDenied", "refused"],
  [401, "Unauthorized", "refused"],
  [404, "NoSuchBucket", "bucket"],
  [301, "MovedElsewhere", "bucket"],
  [400, "AuthorizationHeaderMalformed", "bucket"],
  [403, "RequestTimeTooSkewed", "clock"],
  [403, "ExpiredToken", "expired"],
];
for (const [status, code, kind] of refusals) {
  test(`${status} ${code} stops the target as ${kind}: 3 packages wait together, and it is told once`, async () => {
    await using world = await UploadWorld.started();
    const does = refused(status, code);
    world.server.fail({ operation: "PutObject", times: Number.POSITIVE_INFINITY, does });
    for (let number = 0; number < 3; number++)
      await world.save(samplePackage({ number, frames: 0, withAudio: false }));
    await world.time.pass(hour);
    const attempts = world.server.journal.count("PutObject");
    assert.ok(attempts > 10 && attempts < 60 * (/clock|expired/.test(kind) ? 2 : 1), `${attempts}`);
    assert.equal(world.uploader.targetError?.class, kind);
    assert.deepEqual(column(world.errors as readonly { class: string }[], "class"), [kind]);
    assert.equal(world.uploader.statistics().pending, 3);
    world.server.faults.heal();
    await world.uploader.probe();
    assert.ok(await world.untilNothingPends());
    assert.equal(world.uploader.targetError, null);
  });
}

test("a process that starts asks at once, though the target said no an instant ago", async () => {
  await using world = await UploadWorld.started();
  const sample = samplePackage();
  world.server.fail({ operation: "PutObject", times: 4, does: refused(403, "AccessDenied") });
  await world.save(sample);
  await world.time.pass(1_000);
  assert.equal(world.uploader.targetError?.class, "refused");
  world.server.faults.heal();
  await world.restart();
  assert.ok(await world.untilNothingPends());
  world.assertWhole(sample);
  assert.equal(world.clock.monotonic(), 1_000);
});

test("credentials that expire in the middle of a package are looked up again, and nobody notices", async () => {
  let lookups = 0;
  const credentials = async () => {
    lookups++;
    return { accessKeyId: "test", secretAccessKey: "testsecret", sessionToken: "first" };
  };
  const server = { sessionToken: "first" };
  await using world = await UploadWorld.started({ server, target: { credentials } });
  const sample = samplePackage({ frames: 6 });
  world.server.fail({ operation: "PutObject", nth: 3, does: refused(400, "ExpiredToken") });
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  world.assertWhole(sample);
  assert.equal(lookups, 2);
  assert.equal(world.clock.monotonic(), 0, "without a wait");
});

test("clocks that are two hours apart are corrected without a wait", async () => {
  await using world = await UploadWorld.started({ server: { skewMs: 2 * hour } });
  const sample = samplePackage();
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  world.assertWhole(sample);
  assert.equal(world.clock.monotonic(), 0);
});

for (const what of ["a flipped bit", "a missing file", "a cut file", "a cut manifest"] as const) {
  test(`${what} on this machine: nothing is sent, the package is dead as local_damage`, async () => {
    await using world = await UploadWorld.started();
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
    assert.equal(world.uploader.statistics().dead, 1);
    assert.equal(world.uploader.statistics().last_error?.class, "local_damage");
    assert.deepEqual(await world.left(), [`${name} dead`]);
    // It was mended: somebody asks again.
    if (what === "a missing file") await world.disk.rename(`/home/${file}`, path);
    else {
      const opened = await world.disk.open(path, "write");
      await opened.write(sample.files.get(file) ?? Buffer.alloc(0), 0);
      await opened.close();
    }
    await world.uploader.probe();
    assert.ok(await world.untilNothingPends());
    world.assertWhole(sample);
  });
}

test("other bytes where our manifest belongs: a conflict, told, and not a byte is overwritten", async () => {
  for (const moment of ["before", "during"] as const) {
    await using world = await UploadWorld.started();
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
    if (moment === "before") assert.equal(world.puts().length, 0, "nothing was sent at all");
    assert.equal(world.uploader.statistics().dead, 1);
    assert.equal(world.uploader.targetError, null, "others are not stopped by it");
  }
});

test("two machines that send one package under one prefix: both succeed, the manifest is stored once", async () => {
  await using world = await UploadWorld.started();
  await using other = await UploadWorld.open({ at: world.server });
  const sample = samplePackage();
  for (const each of [world, other]) await each.save(sample);
  assert.ok(await world.untilNothingPends());
  assert.ok(await other.untilNothingPends());
  world.assertWhole(sample);
  assert.equal(world.puts().filter((path) => path === "feedback.json").length, 1);
});

for (const [says, options] of [
  ["that refuses conditional writes, as Swift does", { server: { conditionalPut: "refused" } }],
  [
    "that refuses SHA-256 checksums, with checksums off",
    { server: { checksum: "refused" }, target: { checksums: "off" } },
  ],
  ["that lists 2 keys a page", { server: { pageSize: 2 } }],
] as const) {
  test(`to a server ${says}, packages go up whole, through a lost reply too, and nothing is overwritten`, async () => {
    await using world = await UploadWorld.started(options);
    const [first, second, taken] = [0, 1, 2].map((number) => samplePackage({ number })) as [
      SamplePackage,
      SamplePackage,
      SamplePackage,
    ];
    const key = `${prefixOf(taken)}feedback.json`;
    world.server.place(key, Buffer.from("theirs"));
    const does = { kind: "lose_reply" } as const;
    world.server.fail({ operation: "PutObject", key: /feedback/, nth: 2, does });
    for (const sample of [first, second, taken]) await world.save(sample);
    assert.ok(await world.untilNothingPends());
    for (const sample of [first, second]) world.assertWhole(sample);
    assert.equal(world.server.objects().get(key)?.body.toString(), "theirs");
    const { dead, last_error } = world.uploader.statistics();
    assert.deepEqual([dead, last_error?.class], [1, "conflict"]);
  });
}

test("a package whose checksums are refused is dead: nothing is stored without them", async () => {
  await using world = await UploadWorld.started({ server: { checksum: "refused" } });
  await world.save(samplePackage());
  await world.time.pass(hour);
  assert.equal(world.server.objects().size, 0);
  const { dead, last_error } = world.uploader.statistics();
  assert.deepEqual([dead, last_error?.class], [1, "rejected"]);
});

// F5, S-29: buckets.
test("a missing bucket is not made unless that was asked for: packages stay pending", async () => {
  await using world = await UploadWorld.started({ server: { buckets: [] } });
  await world.save(samplePackage());
  await world.time.pass(2.5 * hour);
  assert.equal(world.server.hasBucket("moments"), false);
  assert.equal(world.uploader.targetError?.code, "NoSuchBucket");
  assert.equal(world.server.journal.count("CreateBucket"), 0);
  assert.equal(world.server.journal.count("PutObject"), 0);
  assert.equal(world.uploader.statistics().pending, 1);
});

for (const accessBlock of ["kept", "refused"] as const) {
  test(`a missing bucket that is asked for is made, its access block is ${accessBlock}, and packages go up`, async () => {
    const server = { buckets: [], accessBlock } as const;
    await using world = await UploadWorld.started({ server, target: { createBucket: true } });
    const sample = samplePackage();
    await world.save(sample);
    assert.ok(await world.untilNothingPends());
    world.assertWhole(sample);
    const block = world.server.accessBlock() ?? "";
    assert.equal(/RestrictPublicBuckets>true/.test(block), accessBlock === "kept");
    assert.doesNotMatch(block, /BlockPublicAcls/, "Ceph refuses every PUT after it");
  });
}

for (const createBucket of [false, true]) {
  test(`into a bucket of somebody else nothing is sent when createBucket is ${createBucket}`, async () => {
    const server = { buckets: [], foreignBuckets: ["moments"] };
    await using world = await UploadWorld.started({ server, target: { createBucket } });
    await world.save(samplePackage());
    await world.time.pass(2 * hour);
    assert.equal(world.server.journal.count("PutObject"), 0);
    assert.equal(world.uploader.targetError?.class, "refused");
    assert.equal(world.uploader.statistics().pending, 1);
  });
}

test("a package that was to go to another bucket goes to the one that is named now", async () => {
  const disk = new SimulatedDisk();
  await disk.mkdir("/home");
  await using typo = await UploadWorld.started({ disk, target: { bucket: "momnets" } });
  const sample = samplePackage();
  await typo.save(sample);
  await typo.time.pass(hour);
  await using world = await UploadWorld.started({ disk });
  assert.ok(await world.untilNothingPends());
  world.assertWhole(sample);
});
