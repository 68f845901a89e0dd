import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import type { RepairReport } from "../../core/storage/storage.ts";
import { isErrno } from "../failure.ts";
import { bytes, counted } from "../format.ts";
import type { Check, Checker, KeptPiece } from "./check.ts";

/** What lies in quarantine, and the reports that were kept with it. */
export const quarantineChecks: Checker = async ({ home }) => {
  const pieces: KeptPiece[] = [];
  const reports: RepairReport[] = [];
  for (const name of await names(join(home, "quarantine"))) {
    const path = join(home, "quarantine", name);
    if (name.endsWith(".json")) {
      const report = await readReport(path);
      if (report !== undefined) reports.push(report);
    } else pieces.push({ file: `quarantine/${name}`, bytes: (await lstat(path)).size });
  }
  const sum = pieces.reduce((total, piece) => total + piece.bytes, 0);
  const check: Check =
    pieces.length === 0
      ? { id: "quarantine", status: "ok", says: "quarantine is empty" }
      : {
          id: "quarantine",
          status: "note",
          says: `${counted(pieces.length, "piece")} set aside in ${home}/quarantine, ${bytes(sum)}`,
        };
  return { checks: [check], repairs: reports, quarantine: pieces };
};

async function names(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).sort();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

/** A report that cannot be read is left out: the bytes are there all the same. */
async function readReport(path: string): Promise<RepairReport | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    return isJsonObject(value) ? (value as unknown as RepairReport) : undefined;
  } catch {
    return undefined;
  }
}
