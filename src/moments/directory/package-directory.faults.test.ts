// Method: save a moment again and again; make the first, then the second, then the third disk call
// fail, with every errno, until a save ends with nothing failing. A save that resolves left a whole
// package, also after a power cut. One that rejects said why, and the same moment can be saved once
// the disk is well: then there is one package of it, and nothing half.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crashImages } from "../../../test/support/crash-images.ts";
import { type DiskFault, diskErrors, faultyDisk } from "../../../test/support/faulty-disk.ts";
import {
  assertIsWholly,
  filesOf,
  momentOf,
  type Opened,
  openPackages,
  path,
  wholePackages,
} from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { SaveError } from "../package/package-sink.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
Error.stackTraceLimit = 2;

const moment = momentOf(1, { frames: 2, frameBytes: 80, samples: 300 });
const { name } = moment.record;

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: "disk_full",
  EDQUOT: "disk_full",
  EFBIG: "disk_full",
  EROFS: "read_only",
  EACCES: "read_only",
  EPERM: "read_only",
};

/** @returns whether the fault was reached. */
async function checkFault(faults: readonly DiskFault[], reason: string | undefined, what: string) {
  const inner = new SimulatedDisk();
  const disk = faultyDisk(inner, faults);
  let opened: Opened | undefined;
  let saved = false;
  try {
    opened = await openPackages(disk);
    assert.deepEqual(await opened.packages.save(moment), { name }, what);
    saved = true;
  } catch (error) {
    if (opened === undefined) assert.ok(isThroughlineError(error, "THROUGHLINE_UNAVAILABLE"), what);
    else {
      assert.ok(error instanceof SaveError, `${what}: ${String(error)}`);
      if (reason !== undefined) assert.equal(error.reason, reason, what);
    }
  }
  const { broke, failures } = disk;
  for (const image of crashImages(inner, { maxImages: isFull ? 8 : 2 })) {
    const left = await openPackages(image);
    const there = await wholePackages(image, left);
    if (saved)
      await assertIsWholly(left, moment).catch((cause) => {
        throw new Error(`${what}, then a power cut: ${image.label}`, { cause });
      });
    assert.ok(there.length <= 1, what);
  }
  disk.heal();
  opened ??= await openPackages(disk);
  assert.deepEqual(await opened.packages.save(moment), { name }, what);
  assert.deepEqual(await wholePackages(inner, opened), [name], what);
  await assertIsWholly(opened, moment);
  return broke && failures > 0;
}

let cases = 0;
const faults: readonly Omit<DiskFault, "at">[] = [
  ...diskErrors.map((fault) => ({ fault })),
  { fault: "short" as const },
];
const extents = isFull ? (["nothing", "half", "all"] as const) : (["nothing"] as const);
/** Without the full size every call fails, with the errors taking turns. */
const stride = isFull ? 1 : 17;

for (const [nth, fault] of faults.entries()) {
  for (const does of extents) {
    test(`a moment is saved or refused, and saved later, when disk call n fails once with ${fault.fault}, ${does} of it done`, async () => {
      for (let at = 1 + (nth % stride); ; at += stride) {
        cases++;
        const plan = { ...fault, at, does };
        if (!(await checkFault([plan], undefined, JSON.stringify(plan)))) break;
      }
    });
  }
}

// F3, case 11: on any file, the manifest among them.
for (const file of ["messages.json", "audio.wav", "000001.jpg", "feedback.json"]) {
  for (const fault of ["ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EIO"] as const) {
    test(`${fault} for ever at ${file} is ${reasons[fault] ?? "io"}; the moment is saved when it is over`, async () => {
      cases++;
      const plan = { fault, at: 1, repeat: "forever", call: ["write", "open"] } as const;
      const at = new RegExp(`${file.replace(".", "\\.")}$`);
      await checkFault([{ ...plan, path: at }], reasons[fault] ?? "io", `${fault} at ${file}`);
    });
  }
}

test("a disk that fills up in the middle of a write refuses with disk_full, and nothing half is left", async () => {
  for (let at = 1; ; at++) {
    cases++;
    const broke = await checkFault(
      [
        { fault: "short", at, call: "write" },
        { fault: "ENOSPC", at: at + 1, call: "write", repeat: "forever" },
      ],
      undefined,
      `write ${at}`,
    );
    if (!broke) break;
  }
});

// RELIABILITY rule 6.
test("a failed sync is answered with new files from the start, whichever sync it is", async () => {
  for (const call of ["sync", "syncDirectory"] as const) {
    for (let at = call === "sync" ? 1 : 4; ; at++) {
      cases++;
      const disk = new SimulatedDisk();
      const broken = faultyDisk(disk, { fault: "EIO", at, call, path: /feedback/ });
      const opened = await openPackages(broken);
      await opened.packages.save(moment).catch((error) => {
        assert.ok(error instanceof SaveError && error.reason === "io");
      });
      if (broken.broke) await opened.packages.save(moment);
      for (const image of crashImages(disk, { maxImages: isFull ? 6 : 2 })) {
        const left = await openPackages(image);
        assert.deepEqual(await wholePackages(image, left), [name], `${call} ${at}`);
      }
      if (!broken.broke) break;
    }
  }
});

test("a directory that is removed while it is open is made again", async () => {
  const disk = new SimulatedDisk();
  const opened = await openPackages(disk);
  await disk.rmdir(path);
  await opened.packages.save(moment);
  assert.deepEqual(await wholePackages(disk, opened), [name]);
});

test("a folder that cannot be recovered keeps no other from being recovered", async () => {
  const disk = new SimulatedDisk();
  const { packages } = await openPackages(disk);
  await packages.save(moment);
  const other = momentOf(2);
  await packages.save(other);
  for (const each of [moment, other]) {
    const folder = `${path}/${each.record.name}`;
    await disk.rename(folder, `${folder}.partial`);
  }
  const isLeft = async (one: string) =>
    [...(await filesOf(disk)).keys()].some((file) => file.includes(one));
  const plan = { fault: "EIO", at: 1, repeat: "forever", call: "unlink" } as const;
  const broken = faultyDisk(disk, { ...plan, path: new RegExp(name) });
  await openPackages(broken);
  assert.deepEqual([await isLeft(name), await isLeft(other.record.name)], [true, false]);
  broken.heal();
  await openPackages(broken);
  assert.equal((await filesOf(disk)).size, 0);
});

test("the cases were many enough", (t) => {
  t.diagnostic(`${cases} cases`);
  assert.ok(cases >= (isFull ? 1_000 : 50), `${cases}`);
});
