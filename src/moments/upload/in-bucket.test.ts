// What the bucket alone has, and what version 0.1 left of uploads that were cut off.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type SamplePackage, samplePackage } from "../../../test/support/s3/sample-package.ts";
import { UploadWorld, type UploadWorldOptions } from "../../../test/support/s3/upload-world.ts";
import { searchName } from "../directory/tombstones.ts";
import { keyPrefix } from "../s3/object-key.ts";

async function started(options: UploadWorldOptions = {}): Promise<UploadWorld> {
  const world = await UploadWorld.open({ keepLocal: false, ...options });
  await world.uploader.start();
  return world;
}

const prefixOf = ({ sessionId, name }: SamplePackage) => keyPrefix(sessionId, name);
const keysOf = (world: UploadWorld) => [...world.server.objects().keys()].sort();

/** As a device that is not this one left it. */
function place(world: UploadWorld, sample: SamplePackage, isSealed = true): void {
  for (const [path, bytes] of sample.files) {
    if (path === "feedback.json" && !isSealed) continue;
    world.server.place(prefixOf(sample) + path, bytes, "moments", world.clock.now());
  }
}

test("a search for what is forgotten finds what came before somebody asked, not what came later, and not what is here", async () => {
  await using world = await started({ keepLocal: true });
  const [before, later, local] = [0, 5, -5].map((number) => samplePackage({ number }));
  await world.save(local!);
  assert.ok(await world.untilNothingPends());
  for (const each of [before!, later!]) place(world, each);
  await world.packages.remote(before!.name, { bucket: "moments", prefix: "x/", timestamp: 1 });
  world.server.fail({ times: 3, does: { kind: "reset" } });
  await world.packages.bury(searchName({ all: true }, before!.manifest.timestamp), "");
  await world.restart();
  assert.ok(await world.untilNothingPends());
  const left = new Set(keysOf(world).map((key) => key.split("/")[2]));
  assert.deepEqual([...left].sort(), [later!.name, local!.name].sort());
  assert.deepEqual(await world.left(), []);
  assert.deepEqual(
    (await world.packages.noted()).map(({ name }) => name),
    [local!.name],
    "the note of it is gone",
  );
});

test("without the right to list, a search fails and is told of, and uploads go on", async () => {
  await using world = await started({ server: { list: "forbidden" } });
  const name = searchName({ all: true }, world.clock.now() / 1_000);
  await world.packages.bury(name, "");
  const sample = samplePackage();
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  const { parked, last_error } = world.uploader.statistics();
  assert.deepEqual([parked, last_error?.class], [1, "unlistable"]);
  assert.deepEqual(await world.left(), [`${name} tombstone`]);
  assert.equal(keysOf(world).length, sample.files.size);
  assert.equal(world.uploader.target.state, "ok");
});

test("a package that is deleted by its name alone is found in the bucket, under any session, and no other", async () => {
  await using world = await started();
  const [gone, other] = [
    samplePackage({ number: 0, sessionId: "another-run" }),
    samplePackage({ number: 1 }),
  ];
  for (const each of [gone, other]) place(world, each);
  world.server.fail({ times: 3, does: { kind: "reset" } });
  await world.packages.bury(gone.name, "");
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assert.ok(keysOf(world).every((key) => key.startsWith(prefixOf(other))));
  assert.deepEqual([keysOf(world).length, await world.left()], [other.files.size, []]);
});

test("a tombstone whose bytes are damaged is done by its name", async () => {
  await using world = await started();
  const sample = samplePackage({ sessionId: "old" });
  place(world, sample);
  world.server.fail({ times: 100, does: { kind: "reset" } });
  await world.packages.bury(sample.name, prefixOf(sample));
  await world.uploader.close();
  const file = await world.disk.open(`/home/feedback/${sample.name}.tombstone.json`, "write");
  await file.truncate(10);
  await file.close();
  world.server.faults.heal();
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assert.deepEqual([keysOf(world), await world.left()], [[], []]);
});

for (const isThere of [true, false]) {
  test(`a retraction of a package of which nothing is known here finds it by its name, ${isThere ? "if it is there" : "and fails if it is not"}`, async () => {
    await using world = await started();
    const sample = samplePackage({ sessionId: "another-run" });
    if (isThere) place(world, sample);
    world.server.fail({ times: 3, does: { kind: "reset" } });
    await world.packages.retractInBucket(sample.name, { by: "x", reason: "a mistake" });
    await world.restart();
    assert.ok(await world.untilNothingPends());
    const mark = world.server.objects().get(`${prefixOf(sample)}retracted.json`);
    assert.equal(mark === undefined, !isThere);
    const { parked, last_error } = world.uploader.statistics();
    assert.deepEqual([parked, last_error?.class], isThere ? [0, undefined] : [1, "local_missing"]);
  });
}
