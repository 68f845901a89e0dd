import { join } from "node:path";
import { Failed, isErrno } from "../../cli/failure.ts";
import { concurrently } from "../../core/concurrently.ts";
import type { Disk, DiskFile } from "../../core/storage/disk/disk.ts";
import { batchesForward, readExactly } from "../../core/storage/files/batch-reader.ts";
import { decodeDocument } from "../../core/storage/files/document-file.ts";
import { mayBeOurs } from "../../core/storage/files/own-log.ts";
import type { BackupFile, BackupNote, BackupTotals } from "./backup-file.ts";
import { filesAtOnce, type HomeCopy } from "./home-copy.ts";
import { hashInName, isDocument, isLog, packageOf } from "./home-files.ts";
import { chunks, type NewFolder, sha256Of } from "./new-folder.ts";

interface VerifyPorts {
  readonly disk: Disk;
  readonly home: string;
  readonly folder: NewFolder;
  readonly signal: AbortSignal;
  readonly progress: (done: number, all: number) => void;
}

/** What reading a copy back found. */
interface VerifiedCopy {
  readonly files: readonly BackupFile[];
  readonly totals: BackupTotals;
  readonly damaged: readonly BackupNote[];
}

/**
 * Reads every file of a copy back, and makes it durable. Damage that the home has too is reported.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: a file is not what was read in the home.
 */
export async function verifyCopy(copy: HomeCopy, ports: VerifyPorts): Promise<VerifiedCopy> {
  const files: BackupFile[] = [];
  const damaged: BackupNote[] = [];
  const packages = new Set<string>();
  const count = { bytes: 0, logs: 0, records: 0, documents: 0 };
  await concurrently([...copy.files], filesAtOnce, async ([path, { bytes, sha256: read }]) => {
    ports.signal.throwIfAborted();
    const file = await ports.folder.open(path);
    try {
      const sha256 = await sha256Of(file, await file.size());
      if ((await file.size()) !== bytes) throw differs(path);
      if (read !== undefined && read !== sha256) throw differs(path);
      const found = await examine(path, file, { bytes, sha256 });
      if (found.damage !== undefined) {
        const isAsRead = read === sha256 || (await isInHome(ports, path, file, bytes));
        if (!isAsRead) throw differs(path);
        damaged.push({ path, reason: found.damage });
      }
      await file.sync();
      files.push({ path, bytes, sha256 });
      count.bytes += bytes;
      count.records += found.records;
    } finally {
      await file.close();
    }
    if (isLog(path)) count.logs++;
    if (isDocument(path) && path.endsWith(".json")) count.documents++;
    packages.add(packageOf(path) ?? "");
    ports.progress(files.length, copy.files.size);
  });
  packages.delete("");
  return {
    files: files.sort(byPath),
    totals: { files: files.length, packages: packages.size, ...count },
    damaged: damaged.sort(byPath),
  };
}

const byPath = (a: { readonly path: string }, b: { readonly path: string }) =>
  a.path < b.path ? -1 : 1;

interface Examined {
  readonly records: number;
  readonly damage?: string | undefined;
}

async function examine(
  path: string,
  file: DiskFile,
  { bytes, sha256 }: { readonly bytes: number; readonly sha256: string },
): Promise<Examined> {
  const hash = hashInName(path);
  if (hash !== undefined && hash !== sha256) {
    return { records: 0, damage: "is not the attachment that its name says" };
  }
  if (isLog(path)) return examineLog(file, bytes);
  if (!isDocument(path)) return { records: 0 };
  const isWhole = decodeDocument(await readExactly(file, 0, bytes)) !== undefined;
  return { records: 0, damage: isWhole ? undefined : "is not a whole document" };
}

async function examineLog(file: DiskFile, bytes: number): Promise<Examined> {
  let records = 0;
  let places = 0;
  let damagedBytes = 0;
  for await (const item of batchesForward(file, 0, bytes)) {
    if (item.kind === "batch") records += item.commit.count;
    else {
      places++;
      damagedBytes += item.end - item.start;
    }
  }
  // A file of another program is no damage.
  if (places === 0 || (records === 0 && !(await mayBeOurs(file, bytes)))) return { records };
  const says = damagedBytes > 0 ? `${damagedBytes} bytes` : "batches that do not belong together";
  return { records, damage: `${says} in ${places} ${places === 1 ? "place" : "places"}` };
}

/** Whether the home still has the same bytes. */
async function isInHome(
  { disk, home }: VerifyPorts,
  path: string,
  copy: DiskFile,
  bytes: number,
): Promise<boolean> {
  let source: DiskFile;
  try {
    source = await disk.open(join(home, path), "read");
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    return false;
  }
  try {
    for await (const { bytes: here, at } of chunks(copy, 0, bytes)) {
      if (!(await readExactly(source, at, here.length)).equals(here)) return false;
    }
    return true;
  } finally {
    await source.close();
  }
}

function differs(path: string): Failed {
  return new Failed(`the copy of ${path} is not what was read in the home. No backup was made`, {
    code: "THROUGHLINE_UNAVAILABLE",
    wayOut: "Try again. If it happens again, check the disk that the backup goes to.",
  });
}
