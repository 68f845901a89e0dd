import assert from "node:assert/strict";
import { test } from "node:test";
import { momentOf } from "../../../test/support/package-workload.ts";
import { UploadWorld } from "../../../test/support/s3/upload-world.ts";
import { isPackageName } from "../package/package-name.ts";
import { SaveError } from "../package/package-sink.ts";

/** A server, and a disk that has no room for a package unless it is given some. */
async function world(first: "bucket" | "disk", freeBytes: number) {
  const upload = await UploadWorld.open({
    keepLocal: first === "disk",
    freeSpace: async () => freeBytes,
  });
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
    const isFull = (error: unknown) => error instanceof SaveError && error.reason === "disk_full";
    await assert.rejects(at.save(), isFull);
    at.upload.server.faults.heal();
    at.upload.uploader.probe();
    assert.equal((await at.save()).uploaded, true);
    assert.equal(at.inBucket(), 4);
  });
}
