// backup.json: the list of everything in a backup, written last. docs/formats/home.md describes it.
import { join } from "node:path";
import { backupName, isOfProcess } from "../../cli/doctor/home-files.ts";
import { Failed, isErrno } from "../../cli/failure.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { readExactly } from "../../core/storage/files/batch-reader.ts";
import {
  decodeDocument,
  documentIndent,
  encodeDocument,
} from "../../core/storage/files/document-file.ts";

const formatVersion = 1;
const documentKey = "backup";

export interface BackupFile {
  /** Relative to the home, with `/` between the names. */
  readonly path: string;
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
}

export interface BackupTotals {
  readonly files: number;
  readonly bytes: number;
  readonly logs: number;
  readonly records: number;
  readonly documents: number;
  readonly packages: number;
}

/** A file of which something is said. */
export interface BackupNote {
  readonly path: string;
  readonly reason: string;
}

export interface BackupList {
  /** What was forgotten, erased or replaced before this is not in the backup. ISO 8601. */
  readonly made_at: string;
  /** Of Throughline. */
  readonly version: string;
  readonly totals: BackupTotals;
  /** What was damaged in the home already, and is copied as it was. */
  readonly damaged: readonly BackupNote[];
  /** What lay in the home and is not in the backup. */
  readonly left_out: readonly BackupNote[];
  readonly files: readonly BackupFile[];
}

export function encodeBackupList(list: BackupList): Buffer {
  const json = JSON.stringify({ format: formatVersion, ...list }, undefined, documentIndent);
  return encodeDocument(documentKey, json, 1);
}

/**
 * Reads the list of a backup.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no such directory. `THROUGHLINE_INVALID`: it
 * holds no complete backup. `THROUGHLINE_NEWER_FORMAT`, `THROUGHLINE_CORRUPT`.
 */
export async function readBackupList(disk: Disk, directory: string): Promise<BackupList> {
  const path = join(directory, backupName);
  const list = decodeDocument(await readList(disk, directory, path));
  if (list === undefined || list.key !== documentKey) throw isDamaged(path);
  const { format, ...value } = list.value;
  if (typeof format === "number" && format > formatVersion) {
    throw new Failed(
      `${path} has format ${format}. This version of Throughline reads up to ${formatVersion}`,
      {
        code: "THROUGHLINE_NEWER_FORMAT",
        wayOut: "Use the version of Throughline that made the backup, or a later one.",
      },
    );
  }
  if (format !== formatVersion || !isList(value)) throw isDamaged(path);
  return value;
}

async function readList(disk: Disk, directory: string, path: string): Promise<Buffer> {
  try {
    await disk.list(directory);
  } catch (cause) {
    if (!isErrno(cause, "ENOENT", "ENOTDIR")) throw cause;
    const wayOut = "Pass the directory that `throughline backup` made.";
    throw new Failed(`there is no directory ${directory}`, {
      code: "THROUGHLINE_NOT_FOUND",
      wayOut,
      cause,
    });
  }
  try {
    const file = await disk.open(path, "read");
    try {
      return await readExactly(file, 0, await file.size());
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (!isErrno(cause, "ENOENT")) throw cause;
    throw new Failed(`${directory} is not a complete backup: it has no ${backupName}`, {
      code: "THROUGHLINE_INVALID",
      wayOut:
        "`throughline backup` writes that file last. If you copied a stopped home by hand, put the copy " +
        "where the home was; nothing needs to be restored.",
      cause,
    });
  }
}

/** The seal of the whole document holds, so this tells only what another program sealed. */
function isList(value: JsonObject): value is JsonObject & BackupList {
  const { made_at, version, totals, damaged, left_out, files } = value;
  const isArray = [damaged, left_out, files].every((each) => Array.isArray(each));
  if (typeof made_at !== "string" || typeof version !== "string") return false;
  return isJsonObject(totals) && isArray && (files as readonly unknown[]).every(isFile);
}

function isFile(value: unknown): value is BackupFile {
  if (!isJsonObject(value)) return false;
  const { path, bytes, sha256 } = value;
  if (typeof path !== "string" || typeof bytes !== "number" || typeof sha256 !== "string") {
    return false;
  }
  // A path must not lead out of the home, nor name what no backup holds: with it the home may not open.
  const names = path.split("/");
  if (path === backupName || isOfProcess(names[0] ?? "")) return false;
  return names.every((name) => !["", ".", ".."].includes(name) && !/[\0\\]/.test(name));
}

function isDamaged(path: string): Failed {
  return new Failed(`${path} is damaged. Nothing was changed`, {
    code: "THROUGHLINE_CORRUPT",
    wayOut: "Restore another backup.",
  });
}
