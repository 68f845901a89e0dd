import assert from "node:assert/strict";
import { test } from "node:test";
import { crashImages } from "../../../test/support/crash-images.ts";
import {
  assertIsWholly,
  blocking,
  filesOf,
  momentOf,
  openPackages,
  path,
  wholePackages,
} from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { SaveError } from "../package/package-format.ts";
import { partsOf } from "./content.ts";
import { spillPieces } from "./spill.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const moment = momentOf(1, { frames: 3, frameBytes: 100, samples: 20_000 });
const { name } = moment.record;
const spillPath = `${path}/${name}.spill`;

async function spilled(moments = [moment]) {
  const disk = new SimulatedDisk();
  const { packages } = await openPackages(disk, { blockingDisk: blocking(disk) });
  packages.spillSync(moments);
  return { disk, packages };
}

// F1, case 13.
test("moments that are spilled are packages at the next start, after any power cut", async () => {
  const other = momentOf(2);
  const { disk } = await spilled([moment, other]);
  for (const image of crashImages(disk)) {
    const opened = await openPackages(image);
    const names = [name, other.record.name].sort();
    assert.deepEqual(await wholePackages(image, opened), names);
    for (const each of [moment, other]) {
      const { manifest } = await opened.packages.read(each.record.name);
      assert.deepEqual([manifest.spilled, manifest.salvaged], [true, false]);
    }
    await assertIsWholly(opened, moment);
    assert.equal(opened.reports.length, 2);
  }
});

test("a moment that was spilled and saved too is one package, and no report", async () => {
  const { disk, packages } = await spilled();
  packages.spillSync([moment]);
  await packages.save(moment);
  const opened = await openPackages(disk);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
  assert.deepEqual(opened.reports, []);
});

test("the bytes of a spill begin and end with TLSPILL1, and hold a length, JSON and the parts", async () => {
  const { disk } = await spilled();
  const bytes = (await filesOf(disk)).get(spillPath)!;
  assert.equal(bytes.toString("latin1", 0, 8), "TLSPILL1");
  assert.equal(bytes.toString("latin1", bytes.length - 8), "TLSPILL1");
  const length = bytes.readUInt32LE(8);
  const header = JSON.parse(bytes.toString("utf8", 12, 12 + length));
  assert.deepEqual(header.record, moment.record);
  const parts = partsOf(moment);
  const sum = parts.reduce((total, part) => total + part.bytes, 0);
  assert.equal(bytes.length, 8 + 4 + length + sum + 8);
});

test("a spill that is cut anywhere is set aside and reported, and nothing is listed", async () => {
  const whole = Buffer.concat(spillPieces(moment.record, partsOf(moment)));
  const step = isFull ? 97 : 4_999;
  const lengths = [0, 7, 11, 12, 500, whole.length - 8, whole.length - 1];
  for (let length = step; length < whole.length; length += step) lengths.push(length);
  for (const length of lengths) {
    const disk = new SimulatedDisk();
    await openPackages(disk);
    const file = await disk.open(spillPath, "create");
    await file.write(whole.subarray(0, length), 0);
    const opened = await openPackages(disk);
    assert.deepEqual(await wholePackages(disk, opened), [], `${length} bytes`);
    const [report] = opened.reports;
    assert.deepEqual([report?.kind, report?.bytes], ["unfinished_package", length]);
    const kept = (await filesOf(disk)).get(`/home/quarantine/feedback-${name}.spill`);
    assert.deepEqual(kept, whole.subarray(0, length));
  }
});

test("one flipped bit anywhere in a spill, and it is set aside", async () => {
  const whole = Buffer.concat(spillPieces(moment.record, partsOf(moment)));
  const step = isFull ? 61 : 3_001;
  for (let at = 0; at < whole.length; at += at < 16 ? 1 : step) {
    const disk = new SimulatedDisk();
    await openPackages(disk);
    const file = await disk.open(spillPath, "create");
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
    await file.write(bytes, 0);
    const opened = await openPackages(disk);
    assert.deepEqual(await wholePackages(disk, opened), [], `byte ${at}`);
    assert.equal(opened.reports.length, 1);
  }
});

test("a spill of another moment under the name of a package is set aside, not dropped", async () => {
  const { disk, packages } = await spilled();
  const { uuid } = moment.record;
  const twin = { ...moment.record, uuid: `019c7500${uuid.slice(8)}` };
  await disk.unlink(spillPath);
  await packages.save({ ...moment, record: twin });
  const file = await disk.open(spillPath, "create");
  await file.write(Buffer.concat(spillPieces(moment.record, partsOf(moment))), 0);
  const opened = await openPackages(disk);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
  assert.equal(opened.reports[0]?.quarantined, `quarantine/feedback-${name}.spill`);
});

for (const most of [1, 7, 100, 4_096]) {
  test(`a kernel that takes at most ${most} bytes a call gets every byte`, async () => {
    const disk = new SimulatedDisk();
    const inner = blocking(disk);
    const short = {
      ...inner,
      write: (file: number, pieces: readonly Uint8Array[], position: number) =>
        inner.write(file, [Buffer.concat(pieces).subarray(0, most)], position),
    };
    const { packages } = await openPackages(disk, { blockingDisk: short });
    const small = momentOf(1, { frames: 1, frameBytes: 40, samples: most === 1 ? 0 : 500 });
    packages.spillSync([small]);
    const opened = await openPackages(disk);
    await assertIsWholly(opened, small);
  });
}

for (const call of ["create", "write", "sync", "close", "syncDirectory"] as const) {
  test(`when ${call} fails for one moment, spillSync throws, keeps the others, and leaves nothing half`, async () => {
    const disk = new SimulatedDisk();
    const inner = blocking(disk);
    let calls = 0;
    const broken = {
      ...inner,
      [call](...given: never[]) {
        if (++calls === 1) throw new Error("ENOSPC");
        return (inner[call] as (...all: never[]) => unknown)(...given);
      },
    };
    const { packages } = await openPackages(disk, { blockingDisk: broken as typeof inner });
    const other = momentOf(2);
    assert.throws(() => packages.spillSync([moment, other]), /ENOSPC/);
    const opened = await openPackages(disk);
    assert.deepEqual(await wholePackages(disk, opened), [other.record.name]);
  });
}

test("a redaction that takes time cannot be waited for: spillSync refuses, and writes nothing", async () => {
  const disk = new SimulatedDisk();
  const { packages } = await openPackages(disk, {
    blockingDisk: blocking(disk),
    redact: async (given) => given,
  });
  const failed = (error: unknown) =>
    error instanceof SaveError && error.reason === "redaction_failed";
  assert.throws(() => packages.spillSync([moment]), failed);
  assert.equal((await filesOf(disk)).size, 0);
});
