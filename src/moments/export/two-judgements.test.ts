import assert from "node:assert/strict";
import { test } from "node:test";
import { momentOf, openPackages, path } from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { exportFeedback } from "./export-feedback.ts";

/** Two judgements of one answer; what became of the later one is written, or torn. */
async function exported(later: "as saved" | "retracted" | "torn") {
  const disk = new SimulatedDisk();
  const { packages } = await openPackages(disk);
  const moments = [2, 4].map((number) => momentOf(number, { frames: 0, samples: 0 }));
  for (const moment of moments) await packages.save(moment);
  const [earlier = "", name = ""] = moments.map(({ record }) => record.name);
  if (later !== "as saved") await packages.retract(name, { by: null, reason: null });
  if (later === "torn") {
    const file = await disk.open(`${path}/${name}.status.json`, "write");
    await file.truncate(20);
    await file.close();
  }
  const { rows, skipped } = await exportFeedback(packages, disk, "/out", { format: "kto" });
  const reasonOf = (one: string) => skipped.find((each) => each.name === one)?.reason;
  return { rows: rows.total, earlier: reasonOf(earlier), later: reasonOf(name) };
}

for (const [later, wanted] of [
  ["as saved", { rows: 1, earlier: "later_judgement", later: undefined }],
  ["retracted", { rows: 1, earlier: undefined, later: "retracted" }],
  ["torn", { rows: 0, earlier: "later_judgement", later: "unverified" }],
] as const) {
  test(`of two judgements of one answer, the later ${later}, ${wanted.rows} is exported`, async () => {
    assert.deepEqual(await exported(later), wanted);
  });
}
