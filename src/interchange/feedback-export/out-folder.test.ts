import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { filesUnder, SampleSource, samplePackage } from "../../../test/feedback-packages.ts";
import { crashImages, processDeathImage } from "../../testing/crash-images.ts";
import { faultyDisk } from "../../testing/faulty-disk.ts";
import { SimulatedDisk } from "../../testing/simulated-disk.ts";
import { exportFeedback } from "./export-feedback.ts";
import type { FeedbackExportOptions } from "./options.ts";
import type { ExportDisk } from "./ports.ts";

const earlier = [samplePackage(0)];
const later = [samplePackage(0, { frames: [-2_000, -1_000] }), samplePackage(1)];
const run = (disk: ExportDisk, packages = later, more: Partial<FeedbackExportOptions> = {}) =>
  exportFeedback(new SampleSource(packages), disk, "/out", { format: "imagefolder", ...more });
const rowsOf = async (disk: SimulatedDisk) => {
  const files = await filesUnder(disk, "/out");
  if (files === undefined) return undefined;
  const report = JSON.parse(String(files.get("export-report.json")));
  for (const { path, bytes } of report.files) assert.equal(files.get(path)?.length, bytes, path);
  return report.rows.total as number;
};
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
    await (await disk.open("/out/diary.txt", "create")).close();
    await assert.rejects(run(disk, later, { replace: true }), { code: "THROUGHLINE_CONFLICT" });
    assert.deepEqual([...((await filesUnder(disk, "/out")) ?? [])].length, 1);
  });

  test("that is a file is refused", async () => {
    const disk = new SimulatedDisk();
    await (await disk.open("/out", "create")).close();
    await assert.rejects(run(disk, later, { replace: true }), { code: "THROUGHLINE_CONFLICT" });
  });

  test("begins without what an export that died has left", async () => {
    const disk = new SimulatedDisk();
    await disk.mkdir("/out.partial");
    await disk.mkdir("/out.partial/deep");
    await (await disk.open("/out.partial/deep/old", "create")).close();
    await run(disk);
    assert.deepEqual(await names(disk), ["out"]);
    assert.equal((await filesUnder(disk, "/out"))?.get("deep/old"), undefined);
  });
});

for (const fault of ["ENOSPC", "short"] as const) {
  test(`when disk call n fails with ${fault}, no half of an export stands`, async () => {
    for (let n = 1, broke = true; broke; n++) {
      const disk = await withEarlier();
      const faulty = faultyDisk(disk, { fault, at: n });
      const ended = await run(faulty, later, { replace: true }).then(
        () => true,
        () => false,
      );
      broke = faulty.broke;
      if (ended) assert.equal(await rowsOf(disk), 2, `call ${n}`);
      else assert.ok([1, 2].includes((await rowsOf(disk)) ?? 0), `call ${n}`);
      if (fault === "short") assert.ok(ended, `call ${n}`);
    }
  });
}

for (const [format, count] of [
  ["webdataset", 2],
  ["kto-vision", 2],
  ["kto", 2],
] as const) {
  test(`a disk that is full for good ends an export of ${format} with the disk's error`, async () => {
    for (let n = 1; n < 40; n++) {
      const disk = new SimulatedDisk();
      const faulty = faultyDisk(disk, { fault: "ENOSPC", at: n, call: "write", repeat: "forever" });
      const ended = run(faulty, later, { format });
      if (!faulty.broke) await ended.catch(() => undefined);
      if (!faulty.broke) {
        assert.equal(await rowsOf(disk), count);
        return;
      }
      await assert.rejects(ended, { code: "ENOSPC" }, `write ${n}`);
      assert.deepEqual(await names(disk), [], `write ${n}`);
    }
    assert.fail("no run came to its end");
  });
}

test("a process that dies at disk call n leaves the earlier export or the new one whole", async () => {
  const before = await withEarlier();
  for (let n = 1, died = true; died; n++) {
    const disk = processDeathImage(before, { stopAt: n });
    died = !(await disk.run(() => run(disk, later, { replace: true })));
    const found = processDeathImage(disk);
    const stands = await rowsOf(found);
    // Between two renames neither has the name; the next export puts the earlier one back.
    const between = (await names(found)).includes("out.replaced") && stands === undefined;
    assert.ok(between || stands === 1 || stands === 2, `call ${n}`);
    await assert.rejects(run(found), { code: "THROUGHLINE_CONFLICT" }, `call ${n}`);
    assert.ok([1, 2].includes((await rowsOf(found)) ?? 0), `call ${n}`);
  }
});

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
    const ended = run(disk, later, { format: "webdataset", signal: stop.signal, onProgress });
    await assert.rejects(ended, { message: `stopped in ${phase}` });
    assert.deepEqual(await names(disk), []);
  }
});
