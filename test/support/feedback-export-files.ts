// Writes exports onto a disk in memory, and reads them by other libraries than those that wrote them.
import assert from "node:assert/strict";
import { parquetReadObjects } from "hyparquet";
import { unpackTar } from "modern-tar";
import { exportFeedback } from "../../src/moments/export/export-feedback.ts";
import type { FeedbackExportOptions } from "../../src/moments/export/options.ts";
import { filesUnder, type SamplePackage, SampleSource } from "./feedback-packages.ts";
import { SimulatedDisk } from "./simulated-disk.ts";

/** Exports onto an empty disk in memory. */
export async function exported(packages: readonly SamplePackage[], options: FeedbackExportOptions) {
  const disk = new SimulatedDisk();
  const source = new SampleSource(packages);
  const report = await exportFeedback(source, disk, "/out", options);
  const files = await filesUnder(disk, "/out");
  assert.ok(files !== undefined);
  assert.deepEqual(JSON.parse(String(files.get("export-report.json"))), report);
  return { report, files, reads: source.reads, hashes: source.hashes };
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

export function parquetBytes(bytes: Buffer | undefined): ArrayBuffer {
  assert.ok(bytes !== undefined);
  return new Uint8Array(bytes).buffer;
}
export const parquetRows = (bytes: Buffer | undefined): Promise<Row[]> =>
  parquetReadObjects({ file: parquetBytes(bytes), utf8: false });

/** By name, in their order; each must be without time and owner. */
export async function tarMembers(bytes: Uint8Array | undefined) {
  assert.ok(bytes !== undefined);
  const entries = await unpackTar(bytes);
  for (const { header } of entries) {
    assert.deepEqual([header.mtime?.getTime(), header.uid, header.gid], [0, 0, 0], header.name);
  }
  return new Map(entries.map(({ header, data }) => [header.name, Buffer.from(data ?? [])]));
}
