// Writes exports onto a disk in memory.
import assert from "node:assert/strict";
import { exportFeedback } from "../../src/moments/export/export-feedback.ts";
import type { FeedbackExportOptions } from "../../src/moments/export/selection.ts";
import { filesUnder, type SamplePackage, SamplePackages } from "./feedback-packages.ts";
import { SimulatedDisk } from "./simulated-disk.ts";

/** Exports onto an empty disk in memory. */
export async function exported(packages: readonly SamplePackage[], options: FeedbackExportOptions) {
  const disk = new SimulatedDisk();
  const source = new SamplePackages(packages);
  const report = await exportFeedback(source, disk, "/out", options);
  const files = await filesUnder(disk, "/out");
  assert.ok(files !== undefined);
  assert.deepEqual(JSON.parse(String(files.get("export-report.json"))), report);
  return { report, files, reads: source.reads, verified: source.verified };
}

export type Row = Record<string, unknown>;
/** Every line must be JSON by itself, and the last one must end. */
export function lines(bytes: Buffer | undefined): Row[] {
  assert.ok(bytes !== undefined);
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  assert.ok(text.endsWith("\n"));
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => JSON.parse(line));
}
