// What is pending goes up: through restarts and outages, from disk and memory. The server
// and the client are real, the clock is held.
import assert from "node:assert/strict";
import { test } from "node:test";
import { changed } from "../../../test/support/changed.ts";
import { processDeathImage } from "../../../test/support/crash-images.ts";
import { faultyDisk } from "../../../test/support/faulty-disk.ts";
import { momentOf } from "../../../test/support/package-workload.ts";
import type { S3FaultKind } from "../../../test/support/s3/s3-fault.ts";
import { samplePackage } from "../../../test/support/s3/sample-package.ts";
import { prefixOf, UploadWorld } from "../../../test/support/s3/upload-world.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { systemError } from "../../../test/support/system-error.ts";
import { isPackageName } from "../package/package-name.ts";
import { SaveError } from "../package/package-sink.ts";
import { effectiveMode, type StorageSettings } from "./mode.ts";

const hour = 3_600_000;
const refused = (status: number, code: string): S3FaultKind => ({ kind: "error", status, code });

test("a package goes up in the manifest's order, the manifest last and under a condition, each typed", async () => {
  await using world = await UploadWorld.started();
  const sample = samplePackage({ frames: 2 });
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  world.assertWhole(sample);
  const paths = ["messages.json", "audio.wav", "frames/000000.jpg", "frames/000001.jpg"];
  assert.deepEqual(world.puts().slice(0, -1).toSorted(), paths.toSorted());
  assert.equal(world.puts().at(-1), "feedback.json");
  const types = ["messages.json", "audio.wav", "frames/000000.jpg", "feedback.json"].map(
    (path) => world.server.objects().get(prefixOf(sample) + path)?.contentType,
  );
  assert.deepEqual(types, ["application/json", "audio/wav", "image/jpeg", "application/json"]);
  const sealed = world.server.journal.entries.filter(({ key }) => key.endsWith("feedback.json"));
  assert.equal(sealed[0]?.headers["if-none-match"], "*");
  const { name } = sample;
  assert.deepEqual(world.uploaded, [name]);
  const timestamp = world.clock.now() / 1_000;
  const { uploaded, upload } = (await world.packages.status(name)) ?? {};
  assert.deepEqual(uploaded, [{ bucket: "moments", prefix: prefixOf(sample), timestamp }]);
  assert.equal(upload?.state, "done");
  assert.deepEqual(await world.left(), []);
});

// F2, E4: each object once, manifest last. The process dies after each object in turn.
for (let sent = 0; sent <= 4; sent++) {
  test(`a process that dies after ${sent} of 4 objects: the next one sends the other ${4 - sent}`, async () => {
    await using world = await UploadWorld.started();
    const sample = samplePackage();
    world.server.fail({
      operation: sent === 4 ? "GetObject" : "PutObject",
      nth: sent === 4 ? 1 : sent + 1,
      times: 100,
      does: refused(500, "InternalError"),
    });
    await world.save(sample);
    await world.time.pass(1);
    world.server.faults.heal();
    const before = world.puts();
    await world.restart();
    assert.ok(await world.untilNothingPends());
    world.assertWhole(sample);
    assert.equal(world.puts().length, 4, "each object once");
    assert.equal(new Set([...before, ...world.puts().slice(before.length)]).size, 4);
    assert.equal(world.puts().at(-1), "feedback.json");
  });
}

test("a server that is away for 3 hours is asked fewer than 120 times, with one warning of each package that was tried, then 5 packages go up, oldest first", async () => {
  await using world = await UploadWorld.started();
  world.server.fail({ times: Number.POSITIVE_INFINITY, does: { kind: "reset" } });
  const samples = [3, 1, 4, 0, 2].map((number) => samplePackage({ number }));
  for (const sample of samples) await world.save(sample);
  await world.time.pass(3 * hour);
  assert.ok(world.server.faults.met < 120, `${world.server.faults.met} requests`);
  assert.ok(world.server.faults.met > 20, `${world.server.faults.met} requests`);
  const { pending, last_error } = world.uploader.statistics();
  assert.equal(pending, 5);
  assert.equal(last_error?.code, "ECONNRESET");
  const failed = { class: "retry", code: "ECONNRESET", status: null };
  const [first, , , oldest] = samples.map(({ name }) => ({ package: name, ...failed }));
  assert.deepEqual(world.warnings, [first, oldest]);
  world.server.faults.heal();
  await world.uploader.probe();
  const at = world.clock.monotonic();
  assert.ok(await world.untilNothingPends());
  assert.equal(world.clock.monotonic(), at, "at once");
  assert.deepEqual(world.uploaded, samples.map(({ name }) => name).toSorted());
});

test("a package that is retracted while it goes up gets its mark in the bucket all the same", async () => {
  for (const nth of [1, 4]) {
    await using world = await UploadWorld.started();
    const sample = samplePackage();
    const does = { kind: "slow", msPerByte: 0, atLeastMs: 5_000 } as const;
    world.server.fail({ operation: "PutObject", nth, does });
    await world.save(sample);
    await world.time.until(() => world.server.held > 0);
    await world.packages.retract(sample.name, { by: null, reason: "a slip" });
    assert.ok(await world.untilNothingPends());
    world.assertWhole(sample);
    assert.ok(world.server.objects().has(`${prefixOf(sample)}retracted.json`));
    assert.deepEqual([await world.left(), world.uploader.statistics().pending], [[], 0]);
  }
});

test("a package that the server cannot take keeps no other from going up", async () => {
  await using world = await UploadWorld.started();
  const [bad, good] = [samplePackage({ number: 0 }), samplePackage({ number: 1 })];
  const does = refused(500, "InternalError");
  world.server.fail({ key: new RegExp(bad.name), times: Number.POSITIVE_INFINITY, does });
  await world.save(bad);
  await world.save(good);
  await world.time.pass(60_000);
  world.assertWhole(good);
  assert.equal(world.uploader.statistics().pending, 1);
});

test("a status that cannot be read keeps no other package from going up", async () => {
  await using world = await UploadWorld.started();
  const [bad, good] = [samplePackage({ number: 0 }), samplePackage({ number: 1 })];
  world.server.fail({ times: 2, does: { kind: "reset" } });
  await world.save(bad);
  await world.save(good);
  await world.uploader.close();
  const file = await world.disk.open(`/home/feedback/${bad.name}.status.json`, "write");
  await file.truncate(20);
  await file.close();
  await world.restart();
  assert.ok(await world.untilNothingPends());
  world.assertWhole(good);
  assert.equal(world.server.objects().size, good.files.size);
});

// Mode s3.
test("in mode s3 one status is written before the upload begins, and it says whose the package is and no word of it", async () => {
  const disk = new SimulatedDisk();
  await disk.mkdir("/home");
  await using world = await UploadWorld.started({ keepLocal: false, disk });
  const sample = samplePackage();
  world.server.fail({ operation: "ListObjectsV2", does: { kind: "hang" } });
  const sending = world.sendFromMemory(sample);
  await world.time.until(() => world.server.held > 0);
  const { name, moment } = sample;
  const names = async () => (await disk.list("/home/feedback")).map((entry) => entry.name);
  assert.deepEqual([await names(), world.server.objects().size], [[`${name}.status.json`], 0]);
  const status = await world.packages.status(name);
  const { chat_id, people } = moment.record;
  const messages = moment.messages.map(({ id }) => id);
  assert.deepEqual(status?.of, { chat_id, people, messages });
  assert.deepEqual([status?.uploaded, status?.upload?.prefix], [[], prefixOf(sample)]);
  assert.deepEqual((await world.packages.list()).packages, [], "it is not there yet");
  await assert.rejects(world.packages.retract(name, { by: null, reason: null }), {
    code: "THROUGHLINE_NOT_FOUND",
  });
  await world.whileTimePasses(sending);
  world.server.faults.heal();
  assert.ok(await world.untilNothingPends());
  const [entry] = (await world.packages.list()).packages;
  assert.deepEqual([entry?.name, entry?.state, await names()], [name, "bucket", await names()]);
  assert.equal((await world.packages.status(name))?.uploaded.length, 1);
});

for (let sent = 0; sent <= 4; sent++) {
  test(`in mode s3 a process that dies ${sent === 4 ? "before it heard of the manifest" : `after ${sent} of 4 objects`}: the next one ${sent === 4 ? "keeps" : "removes"} them, and a chat that is forgotten leaves nothing`, async () => {
    for (const isForgotten of [false, true]) {
      const disk = new SimulatedDisk();
      await disk.mkdir("/home");
      await using world = await UploadWorld.started({ keepLocal: false, disk });
      const sample = samplePackage();
      const operation = sent === 4 ? "GetObject" : "PutObject";
      const nth = sent === 4 ? 1 : sent + 1;
      world.server.fail({ operation, nth, times: 100, does: { kind: "hang" } });
      const ended = world.sendFromMemory(sample).catch(() => undefined);
      await world.time.until(() => world.server.held > 0);
      const image = processDeathImage(disk);
      await world.uploader.close();
      await ended;
      world.server.faults.heal();
      await using next = await UploadWorld.open({ at: world.server, disk: image });
      const id = sample.name.slice(-12);
      assert.equal(next.packages.known(id), undefined, "it is not known to be kept");
      if (isForgotten) await next.packages.delete({ chatId: "c" });
      await next.uploader.start();
      assert.ok(await next.untilNothingPends());
      if (sent === 4 && !isForgotten) {
        next.assertWhole(sample);
        const [entry] = (await next.packages.list()).packages;
        assert.deepEqual([entry?.name, entry?.state], [sample.name, "bucket"]);
        assert.ok(await next.packages.retract(sample.name, { by: null, reason: null }));
      } else {
        assert.deepEqual([world.server.objects().size, await next.packages.noted()], [0, []]);
        assert.equal(next.packages.known(id), undefined, "it may come again");
      }
    }
  });
}

test("in mode s3 a bucket that does not answer within 30 s gets the package from the disk, where its status alone stays", async () => {
  await using world = await UploadWorld.started({ keepLocal: false });
  const sample = samplePackage();
  world.server.fail({ operation: "PutObject", times: 1, does: { kind: "hang" } });
  const startedAt = world.clock.monotonic();
  const sending = world.sendFromMemory(sample);
  assert.equal((await world.whileTimePasses(sending)).uploaded ?? false, false);
  assert.equal(world.clock.monotonic() - startedAt, 30_000);
  assert.ok(await world.untilNothingPends());
  world.assertWhole(sample);
  const there = (await world.disk.list("/home/feedback")).map(({ name }) => name);
  assert.deepEqual(there, [`${sample.name}.status.json`]);
});

test("in mode s3 a process that is ending gives what is on its way to the disk, at once", async () => {
  await using world = await UploadWorld.started({ keepLocal: false });
  const sample = samplePackage();
  world.server.fail({ operation: "PutObject", times: 1, does: { kind: "hang" } });
  const sending = world.sendFromMemory(sample);
  await world.time.until(() => world.server.held > 0);
  await world.uploader.close();
  assert.equal((await sending).uploaded ?? false, false);
  assert.ok(await world.packages.has(sample.name));
});

test("in mode s3 nothing is sent of which no status could be written", async () => {
  await using world = await UploadWorld.started({ keepLocal: false });
  const { open } = world.disk;
  world.disk.open = async () => {
    throw Object.defineProperty(new Error("full"), "code", { value: "ENOSPC" });
  };
  const sample = samplePackage();
  await assert.rejects(world.send(sample), { reason: "disk_full" });
  assert.equal(world.server.journal.entries.length, 0);
  world.disk.open = open;
  assert.equal(await world.send(sample), "memory");
  world.assertWhole(sample);
});

test("in mode s3 a target that refuses or is away is not asked by each moment: they go to the disk", async () => {
  await using world = await UploadWorld.started({ keepLocal: false });
  const does = refused(403, "AccessDenied");
  world.server.fail({ operation: "PutObject", times: Number.POSITIVE_INFINITY, does });
  for (let number = 0; number < 4; number++) {
    assert.equal(await world.send(samplePackage({ number, frames: 0, withAudio: false })), "disk");
  }
  assert.equal(world.server.journal.count("PutObject"), 1);
  world.server.faults.heal();
  await world.uploader.probe();
  assert.ok(await world.untilNothingPends());
  const states = (await world.packages.list()).packages.map(({ state }) => state);
  assert.deepEqual(new Set(states), new Set(["bucket"]), "the local copies are gone");
  assert.equal(world.uploaded.length, 4);
});

test("a status that cannot be written is written later, and nothing is sent twice", async () => {
  const disk = new SimulatedDisk();
  await disk.mkdir("/home");
  // The first write says that it is pending, the next that it was uploaded.
  const broken = [2, 3].map(
    (at) => ({ fault: "EIO", at, call: "rename", path: /status/ }) as const,
  );
  await using world = await UploadWorld.started({ disk: faultyDisk(disk, broken) });
  const sample = samplePackage();
  await world.save(sample);
  assert.ok(await world.untilNothingPends());
  world.assertWhole(sample);
  assert.equal(world.puts().length, 4, "nothing was sent twice");
  assert.equal((await world.packages.status(sample.name))?.uploaded.length, 1);
});

test("that a package goes up no more is noted at the next try where it could not be, and no later yes sends it", async () => {
  const whole = new SimulatedDisk();
  await whole.mkdir("/home");
  let isRefused = false;
  const disk = changed(whole, {
    rename: async (from, to) => {
      if (isRefused) throw systemError("ENOSPC", { name: "rename" });
      await whole.rename(from, to);
    },
  });
  await using world = await UploadWorld.started({ disk });
  world.server.fail({ times: Number.POSITIVE_INFINITY, does: { kind: "reset" } });
  const sample = samplePackage();
  await world.save(sample);
  await world.time.pass(10_000);
  isRefused = true;
  await world.uploader.allow(false);
  isRefused = false;
  await world.uploader.probe();
  await world.time.pass(1_000);
  const upload = (await world.packages.status(sample.name))?.upload;
  assert.deepEqual([upload?.state, upload?.error?.class], ["dead", "no_consent"]);
  world.server.faults.heal();
  await world.restart();
  await world.time.pass(5_000);
  assert.equal(world.server.objects().size, 0);
});

test("a package whose folder somebody removed is dead as local_missing, with one warning", async () => {
  await using world = await UploadWorld.started();
  const { name } = samplePackage();
  world.server.fail({ times: 1, does: { kind: "reset" } });
  await world.save(samplePackage());
  await world.disk.rename(`/home/feedback/${name}`, `/home/${name}`);
  await world.time.pass(hour);
  const { pending, dead, last_error } = world.uploader.statistics();
  assert.deepEqual([pending, dead, last_error?.class], [0, 1, "local_missing"]);
  const error = { class: "local_missing", code: null, status: null };
  assert.deepEqual(world.warnings, [{ package: name, ...error }]);
});

// F4, F5: the mode that holds, why, and whether packages are to be uploaded.
const bucket = "moments";
const modes: readonly (readonly [StorageSettings, string, string | null, boolean])[] = [
  [{}, "local", "no_bucket", false],
  [{ bucket: "" }, "local", "no_bucket", false],
  [{ mode: "", bucket }, "local+s3", null, true],
  [{ mode: "local", bucket }, "local", null, false],
  [{ mode: "s3", bucket }, "s3", null, true],
  [{ mode: "S3", bucket }, "local", "unknown_mode", false],
  [{ mode: "s3", bucket, lacks: "no_credentials" }, "local", "no_credentials", true],
  [{ mode: "local", bucket, lacks: "no_client" }, "local", null, false],
];
test("the mode is the one that was asked for, or local for a reason; nothing goes up in another", () => {
  for (const [settings, mode, reason, mayUpload] of modes) {
    const wanted = { mode, reason, mayUpload };
    assert.deepEqual(effectiveMode(settings), wanted, JSON.stringify(settings));
  }
});

// Somebody asks for uploads in a process that has read no status yet, as a command does that has just
// begun. The process before it left them failed, or waiting for their turn.
const sample = samplePackage();
const refusals = {
  dead: { kind: "error", status: 400, code: "KeyTooLongError" },
  waiting: { kind: "error", status: 500, code: "InternalError" },
} as const satisfies Record<string, S3FaultKind>;

/** A package that was tried for ten minutes, and the process that tried it has ended. */
async function left(as: keyof typeof refusals): Promise<UploadWorld> {
  const world = await UploadWorld.started();
  const key = new RegExp(sample.name);
  const times = Number.POSITIVE_INFINITY;
  world.server.fail({ operation: "PutObject", key, times, does: refusals[as] });
  await world.save(sample);
  await world.time.pass(600_000);
  const { dead, pending } = world.uploader.statistics();
  assert.deepEqual([dead, pending], as === "dead" ? [1, 0] : [0, 1]);
  await world.uploader.close();
  return world;
}

const next = ({ server, disk }: UploadWorld) => UploadWorld.open({ at: server, disk });

for (const as of ["dead", "waiting"] as const) {
  test(`a package that was left ${as} goes up at once when uploads are asked for`, async () => {
    await using before = await left(as);
    before.server.faults.heal();
    await using world = await next(before);
    await world.uploader.start();
    await world.uploader.probe();
    await world.time.until(() => world.uploaded.length > 0, 1_000);
    assert.equal(world.clock.monotonic(), 0, "without a wait");
    assert.deepEqual(await world.left(), []);
  });
}

test("a package that failed stays so when nobody asks, and one that waited is tried at once", async () => {
  for (const as of ["dead", "waiting"] as const) {
    await using before = await left(as);
    before.server.faults.heal();
    await using world = await next(before);
    await world.uploader.start();
    await world.uploader.idle();
    const { dead, pending } = world.uploader.statistics();
    assert.deepEqual([dead, pending], as === "dead" ? [1, 0] : [0, 0]);
    assert.equal(world.uploaded.length, as === "dead" ? 0 : 1);
  }
});

/** A server, and a disk that has no room for a package unless it is given some. */
async function world(first: "bucket" | "disk", freeBytes: number) {
  const freeSpace = async () => freeBytes;
  const upload = await UploadWorld.open({ keepLocal: first === "disk", freeSpace });
  const { packages, sink } = upload;
  const moment = momentOf(1, { frames: 1 });
  const save = (signal?: AbortSignal) => upload.whileTimePasses(sink.save(moment, signal));
  const onDisk = async () =>
    (await packages.list()).packages
      .filter(({ state }) => state !== "bucket")
      .map(({ name }) => name);
  const inBucket = () => upload.server.objects("moments").size;
  return { upload, save, moment, onDisk, inBucket };
}

const roomy = 10 * 1024 ** 3;

for (const [first, freeBytes, isUp, where] of [
  ["bucket", roomy, true, "bucket"],
  ["bucket", roomy, false, "disk"],
  ["bucket", 0, true, "bucket"],
  ["disk", roomy, false, "disk"],
  ["disk", 0, true, "bucket"],
] as const) {
  test(`${first} first, ${freeBytes > 0 ? "room" : "no room"} on the disk, the bucket ${isUp ? "up" : "away"}: the moment is in the ${where} alone`, async () => {
    const at = await world(first, freeBytes);
    await using _ = at.upload;
    if (!isUp) at.upload.server.fail({ times: 1_000, does: { kind: "reset" } });
    const { name, uploaded = false } = await at.save();
    assert.ok(isPackageName(name));
    assert.equal(uploaded, where === "bucket");
    assert.deepEqual(await at.onDisk(), where === "disk" ? [name] : []);
    assert.equal(at.inBucket(), where === "bucket" ? 4 : 0);
  });
}

for (const first of ["bucket", "disk"] as const) {
  test(`${first} first, no room on the disk and the bucket away: it says that the disk is full, and the next attempt succeeds`, async () => {
    const at = await world(first, 0);
    await using _ = at.upload;
    at.upload.server.fail({ times: 1_000, does: { kind: "reset" } });
    await assert.rejects(at.save(), new SaveError("disk_full"));
    at.upload.server.faults.heal();
    await at.upload.uploader.probe();
    assert.equal((await at.save()).uploaded, true);
    assert.equal(at.inBucket(), 4);
  });
}
