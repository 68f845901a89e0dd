import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import { parquetRows, tarMembers } from "../../../test/support/feedback-export-files.ts";
import {
  filesUnder,
  redJpeg,
  type SamplePackage,
  SampleSource,
  samplePackage,
} from "../../../test/support/feedback-packages.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { exportFeedback } from "./export-feedback.ts";
import { ReusedMemory } from "./reused-memory.ts";

const mebibyte = 1024 * 1024;

test("what is given until the next reuse never overlaps", () => {
  const memory = new ReusedMemory();
  for (let round = 0; round < 2; round++) {
    memory.reuse();
    const given = [3, 5, 1, 8, 9, 0, 7, 2].map((size) => memory.allocate(size * mebibyte));
    for (const [n, bytes] of given.entries()) bytes.fill(n + 1);
    for (const [n, bytes] of given.entries()) assert.ok(bytes.every((byte) => byte === n + 1));
  }
});

test("the same memory is given again", () => {
  const memory = new ReusedMemory();
  const sizes = [3, 6, 8, 1];
  const placesOf = () =>
    sizes.map((size) => {
      const { buffer, byteOffset } = memory.allocate(size * mebibyte);
      return { buffer, byteOffset };
    });
  const first = placesOf();
  memory.reuse();
  const again = placesOf();
  for (const [n, { buffer, byteOffset }] of again.entries()) {
    assert.equal(buffer, first[n]?.buffer);
    assert.equal(byteOffset, first[n]?.byteOffset);
  }
});

/** A picture like no other: with a comment of its own. */
const jpeg = (n: number) =>
  Buffer.concat([
    redJpeg.subarray(0, 2),
    Buffer.from([0xff, 0xfe, 0, 4, 0, n]),
    redJpeg.subarray(2),
  ]);

/**
 * A disk and a source on which everything takes a while, but for the first picture. What a package that
 * is left out still reads comes when the second next one was compared, or never would be before.
 */
function slowly(packages: readonly SamplePackage[], isRotten: (n: number) => boolean) {
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await setImmediate();
  };
  const compared = packages.map(() => Promise.withResolvers<void>());
  const source = new SampleSource(packages);
  source.beforeRead = async (path) => {
    if (path.endsWith("000000.jpg")) return;
    const n = packages.findIndex(({ name }) => path.startsWith(name));
    const secondNext = compared[n + 2]?.promise;
    await (isRotten(n) ? Promise.race([secondNext, setTimeout(100)]) : turns(5));
  };
  const isWhole = source.isWhole.bind(source);
  source.isWhole = async (name, paths) => {
    const n = packages.findIndex((one) => one.name === name);
    compared[n]?.resolve();
    await turns(5);
    return isWhole(name, paths);
  };
  const disk = new SimulatedDisk();
  const open = disk.open.bind(disk);
  disk.open = async (path, how) => {
    const file = await open(path, how);
    const write = file.write.bind(file);
    file.write = async (bytes, position) => {
      await turns(200);
      return write(bytes, position);
    };
    return file;
  };
  return { source, disk };
}

/** Of a package, in what is named after it. */
const idIn = (name: string) => name.split(/_fb_|\./)[1] ?? "";

/** The pictures of each package in an export, by the package's id. */
const picturesIn = {
  async webdataset(files: ReadonlyMap<string, Buffer>) {
    const members = await tarMembers(files.get("shard-000000.tar"));
    const found: [string, Buffer[]][] = [];
    for (const [name, bytes] of members) {
      if (!name.endsWith(".frames.tar")) continue;
      found.push([idIn(name), [...(await tarMembers(bytes)).values()]]);
    }
    return new Map(found);
  },
  async "kto-vision"(files: ReadonlyMap<string, Buffer>) {
    const rows = await parquetRows(files.get("train-00000-of-00001.parquet"));
    return new Map(
      rows.map((row) => [
        row["id"] as string,
        (row["images"] as { bytes: Uint8Array }[]).map(({ bytes }) => Buffer.from(bytes)),
      ]),
    );
  },
  async imagefolder(files: ReadonlyMap<string, Buffer>) {
    const found = new Map<string, Buffer[]>();
    for (const [path, bytes] of files) {
      const [name = "", folder] = path.split("/");
      if (folder === "frames") found.set(idIn(name), [...(found.get(idIn(name)) ?? []), bytes]);
    }
    return found;
  },
};
for (const format of ["webdataset", "kto-vision", "imagefolder"] as const) {
  test(`${format} has of each package its own pictures, however slow disks are and whichever are left out`, async () => {
    const many = Array.from({ length: 7 }, (_, n) =>
      samplePackage(n, {
        frames: [1, 2, 3, 4].map(
          (frame) => [-5_000 + frame * 1_000, jpeg(n * 10 + frame)] as const,
        ),
      }),
    );
    const isRotten = (n: number) => n === 0 || n === 3;
    for (const [n, one] of many.entries()) {
      if (isRotten(n)) one.files.set("frames/000000.jpg", jpeg(99));
    }
    const { source, disk } = slowly(many, isRotten);
    const report = await exportFeedback(source, disk, "/out", { format });
    assert.deepEqual([report.rows.total, report.reasons.unverified], [5, 2]);
    const found = await picturesIn[format]((await filesUnder(disk, "/out")) ?? new Map());
    const kept = [...many.entries()].filter(([n]) => !isRotten(n));
    assert.deepEqual(
      [...found],
      kept.map(([n, { name }]) => [idIn(name), [1, 2, 3, 4].map((at) => jpeg(n * 10 + at))]),
    );
  });
}
