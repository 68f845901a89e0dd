import { resolve } from "node:path";
import type { Context } from "../../cli/command.ts";
import { reportsOf } from "../../cli/doctor/findings.ts";
import { backupName, isHome } from "../../cli/doctor/home-files.ts";
import { readIndex } from "../../cli/doctor/inventory.ts";
import { Exit, exitCodes, Failed, wrongUsage } from "../../cli/failure.ts";
import { bytes, counted, json } from "../../cli/format.ts";
import { assertHomeExists } from "../../cli/home.ts";
import { showProgress, tell, untilStopped, write } from "../../cli/io.ts";
import { openLog } from "../../cli/log.ts";
import { placeToHome } from "../../cli/outside-home.ts";
import { type Flags, resolveSettings } from "../../cli/settings.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { type Clock, isoTime, systemClock } from "../../core/clock.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import { type Disk, realDisk } from "../../core/storage/disk/disk.ts";
import { patientDisk } from "../../core/storage/disk/patient-disk.ts";
import { writeAll } from "../../core/storage/files/file-ports.ts";
import { takeLease } from "../../core/storage/files/lease.ts";
import { openFileStorage } from "../../core/storage/files/open-file-storage.ts";
import { isLoss } from "../../core/storage/files/quarantine.ts";
import {
  type BackupList,
  type BackupNote,
  type BackupTotals,
  encodeBackupList,
} from "./backup-file.ts";
import { HomeCopy } from "./home-copy.ts";
import { assertFree, NewFolder } from "./new-folder.ts";
import { whenRecovered } from "./recovery.ts";
import { byPath, verifyCopy } from "./verify-copy.ts";

interface BackupFlags extends Flags {
  readonly json?: boolean;
}

/** What a backup is made of and with. */
interface BackupPorts {
  readonly home: string;
  /** Where it appears. */
  readonly directory: string;
  readonly version: string;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** The home holds no logs of its own: they are in a database. */
  readonly hasStore: boolean;
  readonly progress: (says: string) => void;
}

interface MadeBackup {
  readonly list: BackupList;
  /** Another process had the home open. */
  readonly inUse: boolean;
  /** Files could not be read, or a person does not know of all damage. */
  readonly isIncomplete: boolean;
}

/** What `backup --json` prints. */
interface BackupResult extends Omit<BackupList, "files"> {
  readonly directory: string;
  readonly home: string;
  readonly in_use: boolean;
  /** The database with the messages, which are not in the backup. */
  readonly not_included: string | undefined;
}

/**
 * `throughline backup`.
 *
 * @throws Exit with 1: damage of the home is not confirmed, or a file of it could not be read and is
 *   not in the backup. With 130: stopped.
 */
export async function backup(to: string, flags: BackupFlags, context: Context): Promise<void> {
  const { io, env, version } = context;
  const { home, store, logLevel } = resolveSettings(flags, env);
  const directory = resolve(to);
  const { list, inUse, isIncomplete } = await untilStopped(io, (signal) =>
    makeBackup({
      home,
      directory,
      version,
      disk: patientDisk(realDisk),
      clock: systemClock,
      logger: openLog(logLevel, "warn"),
      signal,
      hasStore: store !== undefined,
      progress: (says) => showProgress(io, says),
    }).finally(() => showProgress(io, "")),
  );
  const { files: _, ...rest } = list;
  const result: BackupResult = {
    directory,
    home,
    in_use: inUse,
    not_included: store?.says,
    ...rest,
  };
  await write(io.output, flags.json ? json(result) : resultText(result));
  for (const { path, reason } of list.damaged) {
    await tell(io, `Damaged in the home, copied as it is: ${printableLine(path)}: ${reason}`);
  }
  for (const { path, reason } of list.left_out) {
    await tell(io, `Not in the backup: ${printableLine(path)}, which ${reason}`);
  }
  if (isIncomplete) throw new Exit(exitCodes.failed);
}

function resultText({ directory, home, in_use, not_included, totals }: BackupResult): string {
  const lines = [
    `Backed up ${home}${in_use ? " (in use)" : ""}: ${contentText(totals)}.`,
    `The backup is in ${directory}. To get it back: throughline restore ${directory} --home NEW`,
  ];
  if (not_included !== undefined) {
    lines.push(
      `The messages are NOT in it: they are in ${not_included}. Back up that database too.`,
    );
  }
  return `${lines.join("\n")}\n`;
}

/** `2 logs with 9 records, 1 document, 0 packages; 4 files, 12.3 kB`. */
export function contentText(totals: BackupTotals): string {
  const { files, logs, records, documents, packages } = totals;
  const parts = [
    `${counted(logs, "log")} with ${counted(records, "record")}`,
    counted(documents, "document"),
    counted(packages, "package"),
  ];
  return `${parts.join(", ")}; ${counted(files, "file")}, ${bytes(totals.bytes)}`;
}

/** Erasing and forgetting take a moment each: after so many passes they do not end, and are newer. */
const mostPasses = 10;

/**
 * Copies a home into a directory that appears whole, whether or not a process uses the home.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no home. `THROUGHLINE_CONFLICT`: the directory
 * is there already. `THROUGHLINE_CONFIGURATION`: the home or the directory cannot be used.
 */
export async function makeBackup(ports: BackupPorts): Promise<MadeBackup> {
  const { home, directory, disk, clock, signal } = ports;
  assertHomeExists(home);
  if (!(await isHome(disk, home))) {
    throw new Failed(`${home} is not a home: it holds nothing that Throughline writes`, {
      code: "THROUGHLINE_NOT_FOUND",
      wayOut: "Pass the directory of the companion with --home.",
    });
  }
  if ((await placeToHome(directory, home)) !== "outside") {
    throw wrongUsage(`${directory} is inside the home ${home}. Choose a place outside of it`);
  }
  await assertFree(disk, directory);
  const inUse = await isInUse(ports);
  // A home that is not in use is complete when it was closed, unless a log could not be written.
  await whenRecovered({ disk, home, clock, signal, waitMs: inUse ? undefined : 0 });
  return writeBackup(ports, inUse);
}

/** The same, when it is known whether another process uses the home. */
export async function writeBackup(ports: BackupPorts, inUse: boolean): Promise<MadeBackup> {
  const folder = await NewFolder.begin(ports.disk, ports.directory, "partial");
  try {
    return await fill(folder, inUse, ports);
  } catch (error) {
    await folder.remove().catch(() => undefined); // the next backup to this place removes it
    throw error;
  }
}

/**
 * Opens and closes a home that no process uses: that completes the logs after a crash, and empties the journal.
 * The lock is not held longer, so that a server can start beside the backup.
 */
async function isInUse({ home, hasStore, logger }: BackupPorts): Promise<boolean> {
  try {
    if (hasStore) takeLease(home, { logger }).release();
    else await (await openFileStorage({ home, logger })).close();
    return false;
  } catch (error) {
    if (!isThroughlineError(error, "THROUGHLINE_LOCKED")) throw error;
    return true;
  }
}

async function fill(folder: NewFolder, inUse: boolean, ports: BackupPorts): Promise<MadeBackup> {
  const { home, version, disk, clock, signal, progress } = ports;
  const copy = new HomeCopy({
    disk,
    home,
    folder,
    clock,
    signal,
    progress: (done, all) => progress(`Copying: ${done} of ${counted(all, "file")}`),
  });
  await copy.pass();
  let madeAt = "";
  let index = readIndex(home);
  let passes = 1;
  do {
    index = readIndex(home);
    madeAt = isoTime(clock.now());
    passes++;
  } while ((await copy.pass()) && passes < mostPasses);
  const verified = await verifyCopy(copy, {
    home,
    folder,
    signal,
    index,
    progress: (done, all) => progress(`Checking: ${done} of ${counted(all, "file")}`),
  });
  const unread = notesOf(copy.unread);
  const { totals, files } = verified;
  const reports = (await reportsOf(home, verified.found)).filter(isLoss);
  const notes = reports.map(({ file, key, reason }) => ({ path: file ?? key, reason }));
  const damaged = notes.sort(byPath);
  const list: BackupList = {
    made_at: madeAt,
    version,
    totals,
    damaged,
    left_out: [...notesOf(copy.leftOut), ...unread],
    files,
  };
  const file = await folder.create(backupName);
  try {
    await writeAll(file, encodeBackupList(list), 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await folder.appear();
  return {
    list,
    inUse,
    isIncomplete: unread.length > 0 || reports.some(({ confirmed }) => !confirmed),
  };
}

function notesOf(notes: ReadonlyMap<string, string>): readonly BackupNote[] {
  return [...notes].map(([path, reason]) => ({ path, reason }));
}
