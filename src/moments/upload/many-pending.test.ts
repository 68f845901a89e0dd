// Many packages to be sent, and a process that dies anywhere between them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crashImages, processDeathImage } from "../../../test/support/crash-images.ts";
import { S3Server } from "../../../test/support/s3/s3-server.ts";
import { samplePackage } from "../../../test/support/s3/sample-package.ts";
import { UploadWorld } from "../../../test/support/s3/upload-world.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { keyPrefix } from "../package/package-name.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const many = isFull ? 10_000 : 300;

/** Packages of which a status alone is here, all to be retracted in the bucket. */
async function diskWith(count: number, endpoint: string): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  await disk.mkdir("/home");
  await disk.mkdir("/home/feedback");
  for (let number = 0; number < count; number++) {
    const stamp = new Date(Date.parse("2026-01-01T00:00:00Z") + number * 60_000).toISOString();
    const id = number.toString(16).padStart(12, "0");
    const name = `${stamp.slice(0, 19).replaceAll(":", "-")}_positive_fb_${id}`;
    const prefix = keyPrefix("s", name);
    const status = {
      uploaded: [{ bucket: "moments", prefix, timestamp: 1 }],
      preserved: null,
      retracted: { timestamp: 2, by: null, reason: null, superseded_by: null },
      upload: {
        state: "pending",
        target: { bucket: "moments", region: "us-east-1", endpoint },
        prefix,
        keep_local: true,
        since: 1,
        bytes: 0,
        error: null,
      },
    };
    const file = await disk.open(`/home/feedback/${name}.status.json`, "create");
    await file.write(Buffer.from(JSON.stringify(status)), 0);
    await file.close();
  }
  return disk;
}

test(`${many} packages to be sent: the start reads names alone`, async () => {
  await using server = await S3Server.start();
  const disk = await diskWith(many, server.endpoint);
  await using world = await UploadWorld.open({ at: server, disk });
  const reads = () => disk.operations.filter(({ call }) => call === "read").length;
  const before = reads();
  const noted = await world.packages.noted();
  assert.equal(noted.length, many);
  assert.equal(reads(), before, "no status was read");
});

for (const [cut, mode] of [
  ["process", "local+s3"],
  ["power", "local+s3"],
  ["process", "s3"],
  ["power", "s3"],
] as const) {
  test(`in mode ${mode} a ${cut === "process" ? "kill" : "power cut"} at any disk call of saving, uploading, retracting and deleting: nothing is lost, nothing comes back, nothing is doubled`, async (t) => {
    const keepLocal = mode !== "s3";
    const step = isFull ? 1 : 37;
    let points = 0;
    for (let stopAt = 3; ; stopAt += step) {
      const disk = new SimulatedDisk({ stopAt });
      await disk.mkdir("/home");
      await disk.syncDirectory("/");
      await using server = await S3Server.start();
      const [kept, gone] = [samplePackage({ number: 0 }), samplePackage({ number: 1 })];
      const done = { saved: false, retracted: false, forgotten: false };
      let before: UploadWorld | undefined;
      const ended = await disk.run(async () => {
        before = await UploadWorld.open({ at: server, disk, keepLocal });
        await before.uploader.start();
        for (const sample of [gone, kept]) {
          await (keepLocal ? before.save(sample) : before.sendFromMemory(sample));
        }
        done.saved = true;
        await before.untilNothingPends();
        await before.packages.retract(kept.name, { by: null, reason: "a slip" });
        done.retracted = true;
        await before.packages.delete({ name: gone.name });
        done.forgotten = true;
        await before.untilNothingPends();
      });
      // One disk for each server: what a second one sent would be in the same bucket.
      const images = cut === "process" ? [processDeathImage(disk)] : [...crashImages(disk)];
      const image = images[stopAt % images.length];
      if (!ended && image !== undefined) {
        // Once the next process has begun, the one that died sends nothing any more.
        await using next = await UploadWorld.open({ at: server, disk: image, keepLocal });
        const says = `operation ${stopAt}`;
        await next.uploader.start();
        assert.ok(await next.untilNothingPends(), says);
        assert.deepEqual(await next.left(), [], says);
        const there = (await next.packages.list()).packages;
        for (const { name, state } of there) {
          assert.equal(state, keepLocal ? "sealed" : "bucket", says);
          if (keepLocal) assert.equal((await next.packages.verify(name)).state, "whole", says);
        }
        const keys = Array.from(server.objects().keys());
        const inBucket = ({ name }: { readonly name: string }) =>
          keys.filter((key) => key.includes(name));
        const isHere = ({ name }: { readonly name: string }) =>
          there.some((one) => one.name === name);
        // What is whole here is whole there, and nothing else is.
        for (const sample of [kept, gone]) {
          const marks = inBucket(sample).filter((key) => key.endsWith("retracted.json")).length;
          const wanted = isHere(sample) ? sample.files.size + marks : 0;
          assert.equal(inBucket(sample).length, wanted, says);
        }
        if (done.saved) assert.ok(isHere(kept), says);
        const isMarked = keys.some((key) => key.endsWith(`${kept.name}/retracted.json`));
        if (done.retracted) assert.ok(isMarked, says);
        if (done.forgotten) assert.ok(!isHere(gone), says);
        points++;
      }
      assert.deepEqual(server.journal.brokenInstants, [], `operation ${stopAt}`);
      if (ended) {
        await before?.close();
        break;
      }
    }
    t.diagnostic(`${points} points`);
    assert.ok(points >= (isFull ? 30 : 2), `${points}`);
  });
}
