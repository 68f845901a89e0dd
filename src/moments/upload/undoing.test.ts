// What undoes an upload goes up like one: retractions and deletions.
import assert from "node:assert/strict";
import { basename } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { faultyDisk } from "../../../test/support/faulty-disk.ts";
import { hookedDisk } from "../../../test/support/hooked-disk.ts";
import { momentOf } from "../../../test/support/package-workload.ts";
import { type SamplePackage, samplePackage } from "../../../test/support/s3/sample-package.ts";
import { prefixOf, UploadWorld } from "../../../test/support/s3/upload-world.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { systemError } from "../../../test/support/system-error.ts";
import { isPackageName } from "../package/package-name.ts";
import { forgetInBucket } from "./in-bucket.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const mark = { by: "ori", reason: "a mistake" };

// What undoes.
for (const when of ["before", "after"] as const) {
  test(`a retraction ${when} its package is uploaded lies beside the manifest in the end, and the first one stays`, async () => {
    await using world = await UploadWorld.started();
    const sample = samplePackage();
    const { name } = sample;
    world.server.fail({ times: 3, does: { kind: "reset" } });
    await world.save(sample);
    if (when === "after") assert.ok(await world.untilNothingPends());
    await world.packages.retract(name, mark);
    await world.restart();
    assert.ok(await world.untilNothingPends());
    world.assertWhole(sample);
    const read = () => world.server.objects().get(`${prefixOf(sample)}retracted.json`)?.body;
    const { at, ...said } = JSON.parse(read()?.toString() ?? "");
    assert.deepEqual([typeof at, said], ["number", { ...mark, superseded_by: null }]);
    assert.equal(world.server.journal.entries.at(-1)?.key, `${prefixOf(sample)}retracted.json`);
    await world.packages.retract(name, { by: "ann", reason: "another" });
    assert.ok(await world.untilNothingPends());
    assert.equal(JSON.parse(read()?.toString() ?? "").by, "ori");
    assert.deepEqual(await world.left(), []);
  });
}

test("a deleted package goes from the bucket, manifest first, in a later run too, and no other", async () => {
  await using world = await UploadWorld.started({ server: { versions: true } });
  const [sample, other] = [samplePackage({ number: 0 }), samplePackage({ number: 1 })];
  for (const each of [sample, other]) await world.save(each);
  assert.ok(await world.untilNothingPends());
  const { remote } = await world.packages.delete({ name: sample.name });
  assert.deepEqual(remote, [{ name: sample.name, bucket: "moments", prefix: prefixOf(sample) }]);
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assert.equal(world.server.objects().size, other.files.size);
  world.assertWhole(other);
  const { journal } = world.server;
  const removed = journal.entries.filter(({ operation }) => operation === "DeleteObject");
  assert.match(removed[0]?.key ?? "", /feedback\.json$/);
  assert.deepEqual(await world.left(), []);
});

test("a deletion of what was never sent to a bucket that is not there is done", async () => {
  await using world = await UploadWorld.started({ server: { buckets: [] } });
  const sample = samplePackage();
  await world.save(sample);
  await world.time.pass(1_000);
  await world.packages.delete({ name: sample.name });
  assert.ok(await world.untilNothingPends());
  assert.deepEqual([await world.left(), world.server.hasBucket("moments")], [[], false]);
});

test("a tombstone whose bytes are damaged is not taken for done", async () => {
  await using world = await UploadWorld.started();
  const { name } = samplePackage();
  world.server.fail({ times: 100, does: { kind: "reset" } });
  await world.packages.bury(name, "feedback/a/b/");
  await world.uploader.close();
  const file = await world.disk.open(`/home/feedback/${name}.tombstone.json`, "write");
  await file.truncate(10);
  await file.close();
  world.server.faults.heal();
  await world.restart();
  await world.uploader.probe();
  assert.ok(await world.untilNothingPends());
  const { dead, last_error } = world.uploader.statistics();
  assert.deepEqual([dead, last_error?.class], [1, "local_damage"]);
  assert.deepEqual(await world.left(), [`${name} tombstone`]);
});

for (const kind of ["slow", "hang"] as const) {
  test(`a deletion beats an upload that is under way and ${kind}: nothing of it stays in the bucket`, async () => {
    await using world = await UploadWorld.started();
    const sample = samplePackage({ frames: 4 });
    const does = kind === "hang" ? { kind } : { kind, msPerByte: 0, atLeastMs: 20_000 };
    world.server.fail({ operation: "PutObject", key: /jpg$/, times: 4, does });
    await world.save(sample);
    await world.time.until(() => world.server.held >= 2);
    assert.ok(world.server.held >= 2);
    const { deleted, pending } = await world.packages.delete({ name: sample.name });
    assert.deepEqual([deleted, pending], [[sample.name], 1]);
    assert.ok(await world.untilNothingPends());
    assert.equal(world.server.objects().size, 0);
    assert.equal(world.server.journal.count("PutObject", /feedback\.json$/), 0);
    assert.deepEqual(await world.left(), []);
  });
}

test("a copy at another service than the configured one is not taken for deleted", async () => {
  const disk = new SimulatedDisk();
  await disk.mkdir("/home");
  await using first = await UploadWorld.started({ disk });
  const sample = samplePackage();
  await first.save(sample);
  assert.ok(await first.untilNothingPends());
  first.server.fail({ times: Number.POSITIVE_INFINITY, does: { kind: "reset" } });
  await first.packages.delete({ name: sample.name });
  await using second = await UploadWorld.started({ disk });
  assert.ok(await second.untilNothingPends());
  const { dead, last_error } = second.uploader.statistics();
  assert.deepEqual([dead, last_error?.class], [1, "other_target"]);
  assert.deepEqual(await second.left(), [`${sample.name} tombstone`]);
});

test("a package that is released, and then forgotten by its chat, a person or a message, goes from the bucket", async () => {
  for (const selection of [
    { chatId: "c" },
    { person: "ori" },
    { message: { chatId: "c", id: "m1" } },
  ]) {
    await using world = await UploadWorld.started({ keepLocal: false });
    const moment = momentOf(1, { record: { chat_id: "c", people: ["Ori"] } });
    await world.packages.save(moment);
    assert.ok(await world.untilNothingPends());
    assert.equal(await world.packages.has(moment.record.name), false);
    assert.ok(world.server.objects().size > 0);
    const { remote } = await world.packages.delete(selection);
    assert.equal(remote.length, 1);
    assert.ok(await world.untilNothingPends());
    assert.deepEqual([world.server.objects().size, await world.packages.noted()], [0, []]);
  }
});

test("a retraction that comes while a deletion fails goes up, whenever it comes", async () => {
  const inner = new SimulatedDisk();
  await inner.mkdir("/home");
  const where = { call: "rename", path: /tombstone/ } as const;
  const disk = faultyDisk(inner, { fault: "EIO", at: 1, repeat: "forever", ...where });
  await using world = await UploadWorld.started({ disk });
  const count = isFull ? 40 : 14;
  const samples = Array.from({ length: count }, (_, number) => samplePackage({ number }));
  const does = { kind: "error", status: 400, code: "InvalidRequest" } as const;
  world.server.fail({ operation: "PutObject", times: Number.POSITIVE_INFINITY, does });
  for (const sample of samples) await world.save(sample);
  assert.ok(await world.untilNothingPends());
  assert.equal(world.uploader.statistics().dead, samples.length);
  world.server.faults.heal();
  for (const [index, { name }] of samples.entries()) {
    const deleting = world.packages.delete({ name });
    const steps = isFull ? index : index * 3;
    for (let step = 0; step < steps; step++) await Promise.resolve();
    await world.packages.retract(name, mark);
    assert.equal((await deleting).failed.length, 1);
  }
  assert.ok(await world.untilNothingPends());
  const marks = samples.map((sample) => `${prefixOf(sample)}retracted.json`);
  const lost = marks.filter((key) => !world.server.objects().has(key));
  assert.deepEqual([lost, world.uploader.statistics().dead], [[], 0]);
});

/** A disk that refuses a call for a package that is removed while `isBroken` holds. */
async function keepingDisk(isBroken: () => boolean, refused: "rename" | "unlink" = "rename") {
  const inner = new SimulatedDisk();
  await inner.mkdir("/home");
  return hookedDisk(inner, (call, path) => {
    const isRemoval = call === "rename" ? isPackageName(basename(path)) : path.includes(".partial");
    if (!isBroken() || call !== refused || !isRemoval) return;
    throw systemError("EIO", { name: call, path });
  });
}

test("a package whose deletion failed half way is not uploaded afterwards, and its deletion is finished", async () => {
  let isBroken = false;
  await using world = await UploadWorld.started({ disk: await keepingDisk(() => isBroken) });
  const sample = samplePackage();
  world.server.fail({ times: 3, does: { kind: "reset" } });
  await world.save(sample);
  isBroken = true;
  const { failed } = await world.packages.delete({ name: sample.name });
  assert.deepEqual(failed, [{ name: sample.name, error: "EIO" }]);
  await world.time.pass(3_600_000);
  assert.equal(world.server.objects().size, 0);
  isBroken = false;
  assert.ok(await world.untilNothingPends());
  assert.deepEqual(await world.left(), []);
});

for (const [refused, isRestarted] of [
  ["rename", false],
  ["rename", true],
  ["unlink", false],
] as const) {
  test(`a deletion that failed here twice, at ${refused}, is tried again by itself, and then goes on in the bucket${isRestarted ? ", in a later run too" : ""}`, async () => {
    let isBroken = false;
    const disk = await keepingDisk(() => isBroken, refused);
    await using world = await UploadWorld.started({ disk });
    const sample = samplePackage();
    await world.save(sample);
    assert.ok(await world.untilNothingPends());
    isBroken = true;
    for (let time = 0; time < 2; time++) await world.packages.delete({ name: sample.name });
    if (isRestarted) await world.restart();
    await world.time.pass(60_000);
    const { pending, last_error } = world.uploader.statistics();
    assert.deepEqual([pending, last_error?.class], [1, "local_io"]);
    isBroken = false;
    assert.ok(await world.untilNothingPends());
    assert.deepEqual([world.server.objects().size, await disk.list("/home/feedback")], [0, []]);
  });
}

test("an upload that fails for good while its package is deleted leaves the deletion to be sent, in a later run too", async () => {
  const inner = new SimulatedDisk();
  await inner.mkdir("/home");
  const buried = Promise.withResolvers<void>();
  let [isHeld, isBuried] = [false, false];
  const disk = hookedDisk(inner, async (call, path, { of }) => {
    if (call === "rename") isBuried ||= path.includes("tombstone");
    if (call === "syncDirectory" && isBuried) {
      isBuried = false;
      buried.resolve();
      for (let turn = 0; turn < 20; turn++) await setImmediate();
    }
    if (call !== "open" || of !== "read" || !isHeld || !path.endsWith("audio.wav")) return;
    // The upload reads its sound once the tombstone is there, and finds none.
    await buried.promise;
    throw systemError("ENOENT", { name: "open", path });
  });
  await using world = await UploadWorld.started({ disk });
  const sample = samplePackage();
  world.server.fail({ operation: "PutObject", nth: 2, does: { kind: "reset" } });
  await world.save(sample);
  await world.time.until(() => world.server.faults.met > 0);
  isHeld = true;
  await world.time.pass(60_000);
  world.server.fail({ times: Number.POSITIVE_INFINITY, does: { kind: "reset" } });
  await world.packages.delete({ name: sample.name });
  assert.ok(world.server.objects().size > 0);
  await world.uploader.close();
  world.server.faults.heal();
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assert.deepEqual([world.server.objects().size, await world.packages.noted()], [0, []]);
});

// What the bucket has and this home does not know of.
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
    await using world = await UploadWorld.started();
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
  await using world = await UploadWorld.started({ server: { list: "forbidden" } });
  const sample = samplePackage();
  place(world, sample);
  assert.equal(await forgetInBucket(world.packages, world.uploader, { all: true }), false);
  assert.equal(world.uploader.targetError?.class, "refused");
  assert.deepEqual([namesThere(world), await world.left()], [[sample.name], []]);
});

test("a package of another home is found by a message that it holds, and by no other chat, person or message", async () => {
  await using theirs = await UploadWorld.started({ keepLocal: false });
  const moment = momentOf(1, { record: { chat_id: "c", people: ["Ori"] } });
  await theirs.packages.save(moment);
  assert.ok(await theirs.untilNothingPends());
  await using world = await UploadWorld.started({ at: theirs.server });
  for (const [selection, isMeant] of [
    [{ chatId: "d" }, false],
    [{ person: "ann" }, false],
    [{ message: { chatId: "c", id: "m9" } }, false],
    [{ message: { chatId: "c", id: "m1" } }, true],
  ] as const) {
    assert.equal(await forgetInBucket(world.packages, world.uploader, selection), true);
    assert.ok(await world.untilNothingPends());
    assert.equal(theirs.server.objects().size === 0, isMeant, JSON.stringify(selection));
  }
});
