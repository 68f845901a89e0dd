import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { crashImages, processDeathImage } from "../../../test/support/crash-images.ts";
import { faultyDisk } from "../../../test/support/faulty-disk.ts";
import {
  filesUnder,
  SamplePackages,
  samplePackage,
} from "../../../test/support/feedback-packages.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { type Disk, realDisk } from "../../core/storage/disk/disk.ts";
import { exportFeedback } from "./export-feedback.ts";
import type { FeedbackExportOptions } from "./selection.ts";

/** At every call, or at each fourth. */
const step = process.env["THROUGHLINE_FULL"] === "1" ? 1 : 4;

const earlier = [samplePackage(0)];
const later = [samplePackage(0, { frames: [-2_000, -1_000] }), samplePackage(1)];
const run = (disk: Disk, packages = later, more: Partial<FeedbackExportOptions> = {}) =>
  exportFeedback(new SamplePackages(packages), disk, "/out", { format: "imagefolder", ...more });
const rowsOf = async (disk: SimulatedDisk) => {
  const files = await filesUnder(disk, "/out");
  if (files === undefined) return undefined;
  const report = JSON.parse(String(files.get("export-report.json")));
  for (const { path, bytes } of report.files) assert.equal(files.get(path)?.length, bytes, path);
  return report.rows.total as number;
};
/** What a dead export left; with a number, an export of that process. */
const left = (pid = process.pid) => `/out.partial-${pid}-0123456789abcdefgh`;
const put = async (disk: SimulatedDisk, path: string) =>
  await (await disk.open(path, "create")).close();
const names = async (disk: SimulatedDisk) =>
  (await disk.list("/")).map(({ name }) => name).toSorted();

async function withEarlier(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  await run(disk, earlier);
  return disk;
}

describe("the folder of an export", () => {
  test("that is there already stays as it is, and the export is refused", async () => {
    const disk = await withEarlier();
    await assert.rejects(run(disk), { code: "THROUGHLINE_CONFLICT" });
    assert.equal(await rowsOf(disk), 1);
    assert.deepEqual(await names(disk), ["out"]);
  });

  test("is replaced when that is asked for, and nothing is left of the earlier one", async () => {
    const disk = await withEarlier();
    await run(disk, later, { replace: true });
    assert.equal(await rowsOf(disk), 2);
    assert.deepEqual(await names(disk), ["out"]);
  });

  test("is not replaced when it is no export, asked or not", async () => {
    const disk = new SimulatedDisk();
    await disk.mkdir("/out");
    await put(disk, "/out/diary.txt");
    await assert.rejects(run(disk, later, { replace: true }), { code: "THROUGHLINE_CONFLICT" });
    assert.deepEqual([...((await filesUnder(disk, "/out")) ?? [])].length, 1);
  });

  test("that is a file is refused", async () => {
    const disk = new SimulatedDisk();
    await put(disk, "/out");
    const message = "a file stands where the folder /out, or one above it, goes";
    const refusal = { code: "THROUGHLINE_CONFLICT", message };
    await assert.rejects(run(disk, later, { replace: true }), refusal);
  });

  test("begins without what an export that died has left", async () => {
    const disk = new SimulatedDisk();
    for (const folder of [left(), `${left()}/deep`]) await disk.mkdir(folder);
    await put(disk, `${left()}/deep/old`);
    await run(disk);
    assert.deepEqual(await names(disk), ["out"]);
    assert.equal((await filesUnder(disk, "/out"))?.get("deep/old"), undefined);
  });
});

test("what others have beside an export stays, whatever its name begins with", async () => {
  const disk = await withEarlier();
  const theirs = [
    "out.partial",
    "out.partial-mine",
    left(process.ppid).slice(1), // it runs
    `out${left().slice(4)}.bak`,
  ];
  for (const name of theirs) {
    await disk.mkdir(`/${name}`);
    await put(disk, `/${name}/export-report.json`);
  }
  await run(disk, later, { replace: true });
  assert.deepEqual(await names(disk), ["out", ...theirs].toSorted());
  for (const name of theirs) assert.equal((await filesUnder(disk, `/${name}`))?.size, 1);
});

test("what somebody puts at out while an export is written stays", async () => {
  const disk = new SimulatedDisk();
  const source = new SamplePackages(later);
  source.beforeRead = async () => {
    source.beforeRead = undefined;
    await disk.mkdir("/out");
    await put(disk, "/out/thesis.txt");
  };
  const ended = exportFeedback(source, disk, "/out", { format: "imagefolder" });
  await assert.rejects(ended, { code: "THROUGHLINE_CONFLICT" });
  assert.ok((await filesUnder(disk, "/out"))?.has("thesis.txt"));
  assert.deepEqual(await names(disk), ["out"]);
});

test("a link at out is refused, and what it leads to stays", async (t) => {
  const folder = temporaryDirectory(t);
  const real = join(folder, "real");
  const write = (out: string) =>
    exportFeedback(new SamplePackages(later), realDisk, out, { format: "kto", replace: true });
  await write(real);
  const before = fs.readdirSync(real);
  fs.symlinkSync(real, join(folder, "out"));
  const refusal = { code: "THROUGHLINE_CONFLICT", message: /is a link/ };
  await assert.rejects(write(join(folder, "out")), refusal);
  assert.deepEqual(fs.readdirSync(real), before);
  assert.deepEqual(fs.readdirSync(folder).toSorted(), ["out", "real"]);
});

for (const fault of ["ENOSPC", "short"] as const) {
  test(`when disk call n fails with ${fault}, no half of an export stands`, async () => {
    for (let n = 1, broke = true; broke; n += step) {
      const disk = await withEarlier();
      const faulty = faultyDisk(disk, { fault, at: n });
      const running = run(faulty, later, { replace: true });
      const ended = (await Promise.allSettled([running]))[0].status === "fulfilled";
      broke = faulty.broke;
      if (ended) assert.equal(await rowsOf(disk), 2, `call ${n}`);
      else assert.ok([1, 2].includes((await rowsOf(disk)) ?? 0), `call ${n}`);
      if (fault === "short") assert.ok(ended, `call ${n}`);
    }
  });
}

for (const format of ["imagefolder", "kto"] as const) {
  test(`a disk that is full for good ends an export of ${format} with the disk's error`, async () => {
    for (let n = 1; n < 40; n++) {
      const disk = new SimulatedDisk();
      const faulty = faultyDisk(disk, { fault: "ENOSPC", at: n, call: "write", repeat: "forever" });
      const ended = run(faulty, later, { format });
      if (!faulty.broke) await ended.catch(() => undefined);
      if (!faulty.broke) {
        assert.equal(await rowsOf(disk), 2);
        return;
      }
      await assert.rejects(ended, { code: "ENOSPC" }, `write ${n}`);
      assert.deepEqual(await names(disk), [], `write ${n}`);
    }
    assert.fail("no run came to its end");
  });
}

for (const begins of ["nothing", "an earlier export"] as const) {
  test(`a kill or a power cut at disk call n over ${begins} leaves no half, and nothing that the next export keeps`, async () => {
    const before = begins === "nothing" ? new SimulatedDisk() : await withEarlier();
    for (let n = 1, died = true; died; n += step) {
      const disk = processDeathImage(before, { stopAt: n });
      died = !(await disk.run(() => run(disk, later, { replace: true })));
      for (const image of [processDeathImage(disk), ...crashImages(disk, { maxImages: 4 })]) {
        const at = `call ${n}: ${image.label}`;
        // Between two renames neither has the name.
        const stands = await rowsOf(image);
        assert.ok(stands === undefined || stands === 1 || stands === 2, at);
        await run(image, later, { replace: true });
        assert.deepEqual([await rowsOf(image), await names(image)], [2, ["out"]], at);
      }
    }
  });
}

test("a power cut after the export keeps every byte of it", async () => {
  const disk = new SimulatedDisk();
  await run(disk);
  for (const image of crashImages(disk)) assert.equal(await rowsOf(image), 2);
});

test("an abort rejects with its reason and leaves nothing", async () => {
  for (const phase of ["select", "write"] as const) {
    const disk = new SimulatedDisk();
    const stop = new AbortController();
    const onProgress = (step: { readonly phase: string }) => {
      if (step.phase === phase) stop.abort(new Error(`stopped in ${phase}`));
    };
    const ended = run(disk, later, { signal: stop.signal, onProgress });
    await assert.rejects(ended, { message: `stopped in ${phase}` });
    assert.deepEqual(await names(disk), []);
  }
});
