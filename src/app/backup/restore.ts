import { join, resolve } from "node:path";
import type { Context } from "../../cli/command.ts";
import { Failed, isErrno, wrongUsage } from "../../cli/failure.ts";
import { counted, json } from "../../cli/format.ts";
import { findHome } from "../../cli/home.ts";
import { showProgress, tell, untilStopped, write } from "../../cli/io.ts";
import { placeToHome } from "../../cli/out-path.ts";
import type { Flags } from "../../cli/settings.ts";
import { concurrently } from "../../core/concurrently.ts";
import { type Disk, type DiskFile, realDisk } from "../../core/storage/disk/disk.ts";
import { create } from "../../core/storage/files/new-folder.ts";
import { contentText, filesAtOnce } from "./copy.ts";
import { assertFree, newFolder } from "./new-folder.ts";
import {
  type BackupFile,
  type BackupList,
  type BackupPorts,
  copyVerified,
  readBackupList,
} from "./verify.ts";

/** Runs `throughline restore`. @throws Exit with 130: stopped; there is no home then. */
export async function restore(from: string, flags: Flags, context: Context): Promise<void> {
  const { io, env } = context;
  const directory = resolve(from);
  const home = findHome(flags.home, env);
  const list = await untilStopped(io, (signal) =>
    restoreBackup({
      directory,
      home,
      disk: realDisk,
      signal,
      progress: (says) => showProgress(io, says),
    }).finally(() => showProgress(io, "")),
  );
  const { files: _, ...rest } = list;
  const lines = [
    `Restored ${home}: ${contentText(list.totals)}.`,
    `It is as it was at ${list.made_at}. What was forgotten after that is back: forget it again.`,
    "Consent that was withdrawn after that holds again: withdraw it again.",
    `Check it: throughline doctor --home ${home}`,
  ];
  const text = `${lines.join("\n")}\n`;
  await write(io.output, flags.json ? json({ directory, home, ...rest }) : text);
  if (list.damaged.length > 0) {
    const what = counted(list.damaged.length, "file");
    await tell(io, `The backup was made of a damaged home. Damaged: ${what}; doctor shows which.`);
  }
}

/**
 * Makes a home of a backup. The home appears whole, after every file was compared with its checksum.
 *
 * @throws ThroughlineError as `readBackupList` does. `THROUGHLINE_CORRUPT`: a file is missing or is not the
 * one that was backed up. `THROUGHLINE_CONFLICT`: the home exists.
 */
export async function restoreBackup(ports: BackupPorts): Promise<BackupList> {
  const { directory, home, disk } = ports;
  const list = await readBackupList(disk, directory);
  if ((await placeToHome(home, directory)) !== "outside") {
    throw wrongUsage(`the home ${home} is inside the backup ${directory}. Choose another --home`);
  }
  await assertFree(disk, home);
  await newFolder(disk, home, "restoring", async (folder) => {
    let done = 0;
    await concurrently(list.files, filesAtOnce, async (file) => {
      ports.signal.throwIfAborted();
      await restoreFile(file, folder, ports);
      ports.progress(`Restoring: ${++done} of ${counted(list.files.length, "file")}`);
    });
  });
  return list;
}

async function restoreFile(
  { path, bytes, sha256 }: BackupFile,
  folder: string,
  { disk, directory, signal }: BackupPorts,
): Promise<void> {
  const place = join(directory, path);
  const source = await openBacked(disk, place);
  try {
    const size = await source.size();
    if (size !== bytes) throw isWrong(place, `has ${size} bytes instead of ${bytes}`);
    const copied = await create(disk, folder, path, (file) =>
      copyVerified(source, file, { path, end: bytes, signal }),
    );
    if (copied.sha256 !== sha256) throw isWrong(place, "is not the file that was backed up");
  } finally {
    await source.close();
  }
}

async function openBacked(disk: Disk, path: string): Promise<DiskFile> {
  try {
    return await disk.open(path, "read");
  } catch (cause) {
    if (!isErrno(cause, "ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "ENXIO")) throw cause;
    throw isWrong(path, "is missing", cause);
  }
}

function isWrong(path: string, says: string, cause?: unknown): Failed {
  return new Failed(`the backup is damaged: ${path} ${says}. Nothing was restored`, {
    code: "THROUGHLINE_CORRUPT",
    wayOut: "Restore another backup.",
    cause,
  });
}
