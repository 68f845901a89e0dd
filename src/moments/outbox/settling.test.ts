// What a dead process left between memory and the bucket, what the bucket alone has, and entries whose
// bytes are damaged: each is settled by what is known of it. The server and the client are real.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type SamplePackage, samplePackage } from "../../../test/support/s3/sample-package.ts";
import { UploadWorld, type UploadWorldOptions } from "../../../test/support/s3/upload-world.ts";
import { writeAll } from "../../core/storage/files/file-ports.ts";
import { keyPrefix } from "../s3/object-key.ts";
import { idOf } from "./outbox.ts";
import { searchFor, searchId } from "./owed-search.ts";

const dayMs = 24 * 3_600_000;
const here = "/home/outbox";

async function started(options: UploadWorldOptions = {}): Promise<UploadWorld> {
  const world = await UploadWorld.open({ keepLocal: false, ...options });
  await world.uploader.start();
  return world;
}

const prefixOf = ({ sessionId, name }: SamplePackage) => keyPrefix(sessionId, name);
const keysOf = (world: UploadWorld) => [...world.server.objects().keys()].sort();
const entries = async (world: UploadWorld) =>
  (await world.disk.list(here)).map(({ name }) => name).sort();

/** As a device that is not this one left it. */
function place(world: UploadWorld, sample: SamplePackage, isSealed = true, ageMs = 0): void {
  for (const [path, bytes] of sample.files) {
    if (path === "feedback.json" && !isSealed) continue;
    world.server.place(prefixOf(sample) + path, bytes, "moments", world.clock.now() - ageMs);
  }
}

/** Begins to send a moment from memory; resolves once the server holds a request that it never answers. */
async function sendUntilHeld(world: UploadWorld, sample: SamplePackage, isKeyed = false) {
  const sending = world.sendFromMemory(sample, isKeyed);
  sending.catch(() => undefined);
  await world.time.until(() => world.server.held > 0);
  assert.equal(world.server.held, 1);
}

async function damage(world: UploadWorld, id: string): Promise<void> {
  const path = `${here}/${id}.json`;
  const bytes = Buffer.alloc(await world.disk.size(path), 0);
  const file = await world.disk.open(path, "write");
  await writeAll(file, bytes, 0);
  await file.close();
}

const noFrames = { frames: 0, withAudio: true };
for (const [nth, path] of [
  [1, "messages.json"],
  [2, "audio.wav"],
  [3, "feedback.json"],
] as const) {
  test(`a process that dies while ${path} goes from memory to the bucket: the next one leaves nothing of it there`, async () => {
    await using world = await started();
    world.server.fail({
      operation: "PutObject",
      key: new RegExp(`${path}$`),
      does: { kind: "hang" },
    });
    const sample = samplePackage(noFrames);
    await sendUntilHeld(world, sample);
    assert.ok(keysOf(world).length === (nth === 1 ? 1 : nth - 1), String(keysOf(world)));
    assert.deepEqual(await entries(world), [`${sample.name}.sending.json`]);
    await world.restart();
    assert.ok(await world.untilNothingPends());
    assert.deepEqual([keysOf(world), await entries(world)], [[], []]);
    assert.deepEqual(world.server.journal.brokenInstants, []);
  });
}

test("a process that dies once the manifest is in the bucket: the next one finds it, notes it, and leaves it", async () => {
  await using world = await started();
  world.server.fail({ operation: "HeadObject", times: 1, does: { kind: "hang" } });
  const sample = samplePackage(noFrames);
  await sendUntilHeld(world, sample);
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assert.equal(keysOf(world).length, sample.files.size);
  assert.deepEqual(
    world.packages.copies.get(sample.name)?.map(({ prefix }) => prefix),
    [prefixOf(sample)],
  );
  assert.deepEqual(world.events.at(-1)?.type, "uploaded");
  assert.deepEqual(await entries(world), []);
});

for (const isThere of [true, false]) {
  test(`a moment that was recorded anew under the same id${isThere ? "" : ", while the bucket was away,"} is kept once, as ${isThere ? "the first" : "the second"}`, async () => {
    await using world = await started();
    world.server.fail({ operation: "HeadObject", times: 1, does: { kind: "hang" } });
    const first = samplePackage(noFrames);
    await sendUntilHeld(world, first, true);
    if (!isThere) world.server.fail({ times: 100, does: { kind: "reset" } });
    await world.restart();
    const again = `2026-03-02T09-00-00_positive_fb_${first.name.slice(-12)}`;
    const known = await world.whileTimePasses(world.uploader.fromMemory.sentBefore(again));
    assert.equal(known, isThere ? first.name : undefined);
    if (isThere) return;
    world.packages.packages.set(again, new Map());
    world.server.faults.heal();
    assert.ok(await world.untilNothingPends());
    assert.deepEqual([keysOf(world), await entries(world)], [[], []]);
  });
}

test("a moment that is given up after a failed attempt leaves nothing of it in the bucket", async () => {
  await using world = await started();
  world.server.fail({ operation: "PutObject", key: /audio/, does: { kind: "reset" } });
  const sample = samplePackage(noFrames);
  const { name, sessionId, files } = sample;
  const bytes = async (path: string) => files.get(path)!;
  const source = {
    manifest: () => bytes("feedback.json"),
    part: (_: string, p: string) => bytes(p),
  };
  const sent = await world.whileTimePasses(world.uploader.fromMemory.send(name, sessionId, source));
  assert.deepEqual([sent.uploaded, keysOf(world).length], [false, 1]);
  await world.uploader.abandoned(name);
  assert.ok(await world.untilNothingPends());
  assert.deepEqual([keysOf(world), await entries(world)], [[], []]);
});

// Entries whose bytes are damaged: what they owe is told by their names.
const retraction = { at: 1.5, by: "ori", reason: "a mistake", superseded_by: null };

test("a deletion whose entry is damaged is done: the package is found by its name, under any session", async () => {
  await using world = await started();
  const [gone, other] = [
    samplePackage({ number: 0, sessionId: "old" }),
    samplePackage({ number: 1 }),
  ];
  for (const each of [gone, other]) place(world, each);
  world.server.fail({ times: 100, does: { kind: "reset" } });
  const about = { name: gone.name, session_id: "old", consent: { upload: true } };
  await world.uploader.owed.forgotten(about, [{ bucket: "moments", prefix: prefixOf(gone) }]);
  await world.uploader.close();
  await damage(world, idOf("delete", gone.name));
  world.server.faults.heal();
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assert.ok(keysOf(world).every((key) => key.startsWith(prefixOf(other))));
  assert.deepEqual([keysOf(world).length, await entries(world)], [other.files.size, []]);
  assert.deepEqual(
    world.reports.map(({ key }) => key),
    [`outbox/${idOf("delete", gone.name)}`],
  );
});

for (const isNoted of [true, false]) {
  test(`a retraction whose entry is damaged goes to the bucket, ${isNoted ? "in the words of the status" : "without words where there are none"}`, async () => {
    await using world = await started();
    const sample = samplePackage();
    place(world, sample);
    world.server.fail({ times: 100, does: { kind: "reset" } });
    const copy = { bucket: "moments", prefix: prefixOf(sample) };
    if (isNoted) {
      const { at: timestamp, ...words } = retraction;
      await world.packages.uploaded(sample.name, { ...copy, timestamp: 1 });
      world.packages.retracted.set(sample.name, { timestamp, ...words });
    }
    await world.uploader.owed.retracted?.(sample.name, [copy], retraction);
    await world.uploader.close();
    await damage(world, idOf("retraction", sample.name));
    world.server.faults.heal();
    await world.restart();
    assert.ok(await world.untilNothingPends());
    const object = world.server.objects().get(`${prefixOf(sample)}retracted.json`);
    const said = JSON.parse(object?.body.toString() ?? "");
    const nothing = { at: said.at, by: null, reason: null, superseded_by: null };
    assert.deepEqual(said, isNoted ? retraction : nothing);
    assert.deepEqual(await entries(world), []);
  });
}

test("a search, and an upload from memory, whose entries are damaged, are done", async () => {
  await using world = await started();
  world.server.fail({ operation: "PutObject", key: /audio/, does: { kind: "hang" } });
  const sample = samplePackage(noFrames);
  await sendUntilHeld(world, sample);
  await world.uploader.close();
  const other = samplePackage({ number: -1 });
  place(world, other);
  const search = searchFor({ all: true }, world.clock.now() / 1_000)!;
  await world.restart();
  world.server.fail({ times: 100, does: { kind: "reset" } });
  assert.equal(
    (await world.whileTimePasses(world.uploader.remote.forget({ all: true }))).isWhole,
    false,
  );
  await world.uploader.close();
  const owed = await entries(world);
  assert.ok(owed.includes(`${searchId(search)}.json`), String(owed));
  for (const name of owed) await damage(world, name.slice(0, -".json".length));
  world.server.faults.heal();
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assert.deepEqual([keysOf(world), await entries(world)], [[], []]);
});

test("a file in the outbox that belongs to nothing is set aside and gone", async () => {
  await using world = await started();
  await world.uploader.owed.retracted?.("x", [], retraction);
  const file = await world.disk.open(`${here}/what-is-this.json`, "create");
  await writeAll(file, Buffer.from("?"), 0);
  await file.close();
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assert.deepEqual([await entries(world), world.reports.length], [[], 1]);
});

// What the bucket alone has.
test("a search that is owed finds what came before somebody asked, not what came later, and not what is here", async () => {
  await using world = await started();
  const [before, later, local] = [0, 5, -5].map((number) => samplePackage({ number }));
  for (const each of [before!, later!, local!]) place(world, each);
  world.packages.add(local!);
  await world.packages.remote(before!.name, { bucket: "moments", prefix: "x/", timestamp: 1 });
  world.server.fail({ times: 3, does: { kind: "reset" } });
  const { copies, isWhole } = await world.whileTimePasses(
    world.uploader.remote.forget({ all: true }),
  );
  assert.deepEqual([copies, isWhole, (await entries(world)).length], [[], false, 1]);
  await world.restart();
  assert.ok(await world.untilNothingPends());
  const left = new Set(keysOf(world).map((key) => key.split("/")[2]));
  assert.deepEqual([...left].sort(), [later!.name, local!.name].sort());
  assert.deepEqual(await entries(world), []);
  assert.equal(world.packages.copies.has(before!.name), false, "the note of it is gone");
});

test("a search that is parked goes once the same one was made", async () => {
  await using world = await started({ server: { list: "forbidden" } });
  const forget = (person: string) =>
    world.whileTimePasses(world.uploader.remote.forget({ person }));
  assert.equal((await forget("Ori")).isWhole, false);
  assert.ok(await world.untilNothingPends());
  assert.deepEqual([(await entries(world)).length, world.uploader.statistics().parked], [1, 1]);
  world.server.change({ list: "allowed" });
  assert.ok((await forget(" ORI")).isWhole);
  assert.deepEqual(await entries(world), []);
});

for (const [isSealed, ageMs, isOwed, goes] of [
  [false, dayMs + 1, false, true],
  [false, dayMs - 1, false, false],
  [true, 30 * dayMs, false, false],
  [false, 30 * dayMs, true, false],
] as const) {
  const what = isSealed ? "a package" : "an upload without a manifest";
  test(`${what} to which nothing was added for ${ageMs} ms${isOwed ? ", and that is owed here," : ""} ${goes ? "is swept" : "stays"}`, async () => {
    await using world = await started();
    const sample = samplePackage();
    place(world, sample, isSealed, ageMs);
    const before = keysOf(world).length;
    if (isOwed) {
      const { name, sessionId: session_id } = sample;
      await world.uploader.owed.saving({ name, session_id, consent: { upload: true } });
    }
    const { copies, isWhole } = await world.whileTimePasses(world.uploader.remote.sweep());
    assert.deepEqual([copies.length, isWhole], [goes ? 1 : 0, true]);
    if (!isOwed) assert.ok(await world.untilNothingPends());
    assert.equal(keysOf(world).length, goes ? 0 : before);
    assert.deepEqual(world.server.journal.brokenInstants, []);
  });
}

test("without the right to list, a search stays owed and is told of, and uploads go on", async () => {
  await using world = await started({ server: { list: "forbidden" } });
  const { isWhole } = await world.whileTimePasses(world.uploader.remote.forget({ all: true }));
  assert.equal(isWhole, false);
  const sample = samplePackage();
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  const { parked, last_error } = world.uploader.statistics();
  assert.deepEqual([parked, last_error?.class], [1, "unlistable"]);
  assert.equal(keysOf(world).length, sample.files.size);
  assert.equal(world.uploader.target.state, "ok");
});

for (const [isUp, isThere] of [
  [true, true],
  [true, false],
  [false, true],
  [false, false],
] as const) {
  test(`retracting a package that is not here, the bucket ${isUp ? "up" : "away"} and ${isThere ? "having it" : "without it"}: ${isThere ? "it is marked" : isUp ? "it is said" : "nothing is"}`, async () => {
    await using world = await started();
    const sample = samplePackage({ sessionId: "another-run" });
    if (isThere) place(world, sample);
    if (!isUp) world.server.fail({ times: 3, does: { kind: "reset" } });
    const words = { by: null, reason: "a mistake" };
    const isOwed = await world.whileTimePasses(world.uploader.remote.retract(sample.name, words));
    assert.equal(isOwed, !isUp || isThere);
    assert.ok(await world.untilNothingPends());
    const mark = `${prefixOf(sample)}retracted.json`;
    assert.equal(keysOf(world).includes(mark), isThere);
    assert.deepEqual(await entries(world), []);
    if (!isThere) return;
    const first = world.server.objects().get(mark)?.body.toString();
    await world.whileTimePasses(
      world.uploader.remote.retract(sample.name, { by: "x", reason: null }),
    );
    assert.ok(await world.untilNothingPends());
    assert.equal(world.server.objects().get(mark)?.body.toString(), first, "the first one stays");
  });
}

test("deleting one package by name while the bucket is away: it goes from there, wherever it is", async () => {
  await using world = await started();
  const sample = samplePackage({ sessionId: "another-run" });
  place(world, sample);
  world.server.fail({ times: 3, does: { kind: "reset" } });
  const { isWhole } = await world.whileTimePasses(
    world.uploader.remote.forget({ name: sample.name }),
  );
  assert.equal(isWhole, false);
  await world.restart();
  assert.ok(await world.untilNothingPends());
  assert.deepEqual([keysOf(world), await entries(world)], [[], []]);
});
