// backup.json, the list of everything in a backup, written last (docs/formats/home.md); and what proves that
// a copy is whole.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { reportsOf } from "../../cli/doctor/doctor.ts";
import {
  backupName,
  chunks,
  isOfProcess,
  packageOf,
  sha256Of,
  unlessAbsent,
} from "../../cli/doctor/home-files.ts";
import { type IndexedLogs, readInventory, takeInventory } from "../../cli/doctor/inventory.ts";
import { Failed } from "../../cli/failure.ts";
import { each, fitting, is, list, number, object, type Read, text } from "../../core/shape.ts";
import type { Disk, DiskFile } from "../../core/storage/disk/disk.ts";
import {
  decodeDocument,
  documentIndent,
  encodeDocument,
} from "../../core/storage/files/document-file.ts";
import { isDiskError, readBytes, writeAll } from "../../core/storage/files/file-ports.ts";
import { findingId } from "../../core/storage/files/quarantine.ts";

const formatVersion = 1;
const documentKey = "backup";

const any = number(0, Number.POSITIVE_INFINITY);
const file = object(
  {
    /** Relative to the home, with `/` between the names. */
    path: fitting(isPath, "must be the path of a file that a backup may hold", ""),
    bytes: any,
    /** In hex. */
    sha256: text(),
  },
  "left out",
);
export type BackupFile = Read<typeof file>;

const totals = each(
  ["files", "bytes", "logs", "records", "documents", "packages"],
  any,
  "left out",
);
export type BackupTotals = Read<typeof totals>;

/** Files of which something is said. */
const notes = list(object({ path: text(), reason: text() }, "left out"));

const backupList = object(
  {
    /** What was forgotten, erased or replaced before this is not in the backup. ISO 8601. */
    made_at: text(),
    /** Of Throughline. */
    version: text(),
    totals,
    /** What was damaged in the home already, and is copied as it was. */
    damaged: notes,
    /** What lay in the home and is not in the backup. */
    left_out: notes,
    files: list(file),
  },
  "left out",
);
export type BackupList = Read<typeof backupList>;

/** A path must not lead out of the home, nor name what no backup holds: with it the home may not open. */
function isPath(path: unknown): boolean {
  if (typeof path !== "string") return false;
  const names = path.split("/");
  if (path === backupName || isOfProcess(names[0] ?? "")) return false;
  return names.every((name) => !["", ".", ".."].includes(name) && !/[\0\\]/.test(name));
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
  const document = decodeDocument(await readList(disk, directory, path));
  if (document === undefined || document.key !== documentKey) throw isDamaged(path);
  const { format, ...value } = document.value;
  if (typeof format === "number" && format > formatVersion) {
    throw new Failed(
      `${path} has format ${format}. This version of Throughline reads up to ${formatVersion}`,
      {
        code: "THROUGHLINE_NEWER_FORMAT",
        wayOut: "Use the version of Throughline that made the backup, or a later one.",
      },
    );
  }
  // The seal of the whole document holds, so this tells only what another program sealed.
  if (format !== formatVersion || !is<BackupList>(backupList, value)) throw isDamaged(path);
  return value;
}

async function readList(disk: Disk, directory: string, path: string): Promise<Buffer> {
  if ((await disk.list(directory).catch(unlessAbsent)) === undefined) {
    throw new Failed(`there is no directory ${directory}`, {
      code: "THROUGHLINE_NOT_FOUND",
      wayOut: "Pass the directory that `throughline backup` made.",
    });
  }
  const bytes = await readBytes(disk, path);
  if (bytes !== undefined) return bytes;
  throw new Failed(`${directory} is not a complete backup: it has no ${backupName}`, {
    code: "THROUGHLINE_INVALID",
    wayOut:
      "`throughline backup` writes that file last. If you copied a stopped home by hand, put the copy " +
      "where the home was; nothing needs to be restored.",
  });
}

function isDamaged(path: string): Failed {
  return new Failed(`${path} is damaged. Nothing was changed`, {
    code: "THROUGHLINE_CORRUPT",
    wayOut: "Restore another backup.",
  });
}

/** What was copied of a home. */
export interface HomeCopy {
  /** By their paths. */
  readonly files: ReadonlyMap<string, BackupFile>;
  /** What is not in the copy, with the reason. */
  readonly leftOut: ReadonlyMap<string, string>;
  /** Files of the home that could not be read, with the reason. */
  readonly unread: ReadonlyMap<string, string>;
}

/** A backup that is made or restored. */
export interface BackupPorts {
  readonly home: string;
  /** Where the backup is, or appears. */
  readonly directory: string;
  readonly disk: Disk;
  readonly signal: AbortSignal;
  readonly progress: (says: string) => void;
}

/**
 * Takes the inventory of a copy. Damage is only what the home has too: what was removed since is none.
 *
 * @param index what the index said of the logs before they were copied to `folder`.
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: a message of the copy lacks its attachment, which the home had.
 */
export async function verifyCopy(
  { files, unread }: HomeCopy,
  folder: string,
  index: IndexedLogs,
  { disk, home, signal }: BackupPorts,
) {
  const has = (path: string) => files.has(path) || unread.has(path);
  const { found, count } = await readInventory([...files.keys()], {
    disk,
    folder,
    index,
    signal,
    has,
  });
  const live = found.length === 0 ? [] : (await takeInventory(disk, home, true, signal)).found;
  const ids = new Set(live.map(findingId));
  const ofHome = found.filter((each) => ids.has(findingId(each)));
  // A message with an attachment came and was erased while the copy was made.
  if (found.some((each) => each.kind === "missing_file" && !ofHome.includes(each))) {
    throw new Failed("messages were erased while they were copied. No backup was made", {
      code: "THROUGHLINE_UNAVAILABLE",
      wayOut: "Try again.",
    });
  }
  const all = [...files.values()];
  const packages = new Set(all.map(({ path }) => packageOf(path)));
  packages.delete(undefined);
  const totals = {
    files: all.length,
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    logs: count.logs,
    records: count.records,
    documents: count.documents,
    packages: packages.size,
  };
  /** What is wrong with the home, confirmed or not. */
  const damage = await reportsOf(home, ofHome);
  return { totals, damage };
}

/**
 * Copies a file up to `end`, syncs the copy and reads it back.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the copy is not what was written.
 */
export async function copyVerified(
  source: DiskFile,
  copy: DiskFile,
  { path, end, signal }: { path: string; end: number; signal: AbortSignal },
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash("sha256");
  let count = 0;
  for await (const { bytes, at } of chunks(source, 0, end, signal)) {
    hash.update(bytes);
    await writeAll(copy, bytes, at);
    count += bytes.length;
  }
  await copy.sync();
  const sha256 = hash.digest("hex");
  let cause: unknown;
  try {
    const isSame =
      (await copy.size()) === count && (await sha256Of(copy, count, signal)) === sha256;
    if (isSame) return { bytes: count, sha256 };
  } catch (error) {
    if (!isDiskError(error)) throw error;
    cause = error;
  }
  throw new Failed(`the disk does not hold what was written to ${path}. Nothing was kept`, {
    code: "THROUGHLINE_UNAVAILABLE",
    wayOut: "Check the disk that it is written to, then try again.",
    cause,
  });
}
