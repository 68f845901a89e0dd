// What the bucket has and this home does not know of.
import assert from "node:assert/strict";
import { test } from "node:test";
import { momentOf } from "../../../test/support/package-workload.ts";
import { type SamplePackage, samplePackage } from "../../../test/support/s3/sample-package.ts";
import { prefixOf, UploadWorld } from "../../../test/support/s3/upload-world.ts";
import { forgetInBucket } from "./in-bucket.ts";

const namesThere = (world: UploadWorld) =>
  [...new Set([...world.server.objects().keys()].map((key) => key.split("/")[2]))].sort();

/** As a device that is not this one left it. */
function place(world: UploadWorld, sample: SamplePackage, isSealed = true): void {
  for (const [path, bytes] of sample.files) {
    if (path === "feedback.json" && !isSealed) continue;
    world.server.place(prefixOf(sample) + path, bytes, "moments", world.clock.now());
  }
}

test("what another device sent is forgotten by everything and by its name; not what is here, and not what is still on its way", async () => {
  for (const how of ["all", "name"] as const) {
    await using world = await UploadWorld.open();
    await world.uploader.start();
    const [sealed, cut, local] = [0, 1, -5].map((number) => {
      return samplePackage({ number, sessionId: `run${number}` });
    }) as [SamplePackage, SamplePackage, SamplePackage];
    await world.save(local);
    assert.ok(await world.untilNothingPends());
    place(world, sealed);
    place(world, cut, false);
    const wanted = how === "all" ? sealed : cut;
    const selection = how === "all" ? ({ all: true } as const) : { name: cut.name };
    assert.equal(await forgetInBucket(world.packages, world.uploader, selection), true);
    assert.ok(await world.untilNothingPends());
    const left = [sealed, cut, local].filter((each) => each !== wanted).map(({ name }) => name);
    assert.deepEqual([namesThere(world), await world.left()], [left.sort(), []]);
  }
});

test("without an answer of the bucket a search says so, and nothing is forgotten later", async () => {
  await using world = await UploadWorld.open({ server: { list: "forbidden" } });
  await world.uploader.start();
  const sample = samplePackage();
  place(world, sample);
  assert.equal(await forgetInBucket(world.packages, world.uploader, { all: true }), false);
  assert.equal(world.uploader.targetError?.class, "refused");
  assert.deepEqual([namesThere(world), await world.left()], [[sample.name], []]);
});

for (const [selection, isMeant] of [
  [{ chatId: "c" }, true],
  [{ chatId: "d" }, false],
  [{ person: "ORI" }, true],
  [{ person: "ann" }, false],
  [{ message: { chatId: "c", id: "m1" } }, true],
  [{ message: { chatId: "c", id: "m9" } }, false],
] as const) {
  test(`a package of another home is ${isMeant ? "" : "not "}found by ${JSON.stringify(selection)}`, async () => {
    await using theirs = await UploadWorld.open({ keepLocal: false });
    await theirs.uploader.start();
    const moment = momentOf(1, { record: { chat_id: "c", people: ["Ori"] } });
    await theirs.packages.save(moment);
    assert.ok(await theirs.untilNothingPends());
    await using world = await UploadWorld.open({ at: theirs.server });
    await world.uploader.start();
    assert.equal(await forgetInBucket(world.packages, world.uploader, selection), true);
    assert.ok(await world.untilNothingPends());
    assert.equal(theirs.server.objects().size === 0, isMeant);
  });
}
