// What undoes an upload is owed like one: retractions and deletions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type SamplePackage, samplePackage } from "../../../test/support/s3/sample-package.ts";
import { UploadWorld, type UploadWorldOptions } from "../../../test/support/s3/upload-world.ts";
import { keyPrefix } from "../s3/object-key.ts";

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

// What undoes.
test("a retraction is owed until its package is there, then lies beside the manifest", async () => {
  await using world = await started();
  const sample = samplePackage();
  const { name } = sample;
  world.server.fail({ times: 3, does: { kind: "reset" } });
  await world.save(sample);
  const retraction = { at: 1.5, by: "ori", reason: "a mistake", superseded_by: null };
  await world.uploader.owed.retracted?.(
    name,
    [{ bucket: "moments", prefix: prefixOf(sample) }],
    retraction,
  );
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

test("a deletion that holds the package does not wait for the note of an upload, which waits for it", async () => {
  await using world = await started();
  const sample = samplePackage();
  world.packages.noting = new Promise(() => undefined);
  await world.save(sample);
  await world.time.until(() => world.server.journal.count("HeadObject") === 1);
  assertWhole(world, sample);
  await world.uploader.owed.forgotten(goneOf(sample), []);
  assert.ok(await world.untilNothingPends());
  assert.equal(world.server.objects().size, 0);
});

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
