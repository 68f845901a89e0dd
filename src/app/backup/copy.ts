import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Context } from "../../cli/command.ts";
import {
  backupName,
  endOfLog,
  hashInName,
  isHome,
  isLog,
  listHome,
  packageOf,
  realPlace,
  unlessAbsent,
} from "../../cli/doctor/home-files.ts";
import { readIndex } from "../../cli/doctor/inventory.ts";
import { Exit, exitCodes, Failed, wrongUsage } from "../../cli/failure.ts";
import { bytes, counted, json } from "../../cli/format.ts";
import { assertHomeExists } from "../../cli/home.ts";
import { showProgress, tell, untilStopped, write } from "../../cli/io.ts";
import { openLog } from "../../cli/log.ts";
import { placeToHome } from "../../cli/out-path.ts";
import { type Flags, resolveSettings } from "../../cli/settings.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { type Clock, isoTime, systemClock } from "../../core/clock.ts";
import { concurrently } from "../../core/concurrently.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { randomId } from "../../core/ids.ts";
import type { Logger } from "../../core/logger.ts";
import { type Disk, realDisk } from "../../core/storage/disk/disk.ts";
import { readBytes, readFrom, writeAll } from "../../core/storage/files/file-ports.ts";
import {
  type Change,
  type Frame,
  readSegment,
  segmentName,
  validFrames,
} from "../../core/storage/files/journal-frame.ts";
import { settle } from "../../core/storage/files/journal-segment.ts";
import { noteBackup } from "../../core/storage/files/last-backup.ts";
import { takeLease } from "../../core/storage/files/lease.ts";
import { create } from "../../core/storage/files/new-folder.ts";
import { openFileStorage } from "../../core/storage/files/open-file-storage.ts";
import { isLoss } from "../../core/storage/files/quarantine.ts";
import { journalFolder } from "../../core/storage/files/segments.ts";
import { assertFree, newFolder } from "./new-folder.ts";
import {
  type BackupFile,
  type BackupList,
  type BackupPorts,
  type BackupTotals,
  copyVerified,
  encodeBackupList,
  type HomeCopy,
  verifyCopy,
} from "./verify.ts";

interface MakingPorts extends BackupPorts {
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The home holds no logs of its own: they are in a database. */
  readonly hasStore: boolean;
}

/** Number of files that are copied at once. */
export const filesAtOnce = 8;

/** Waiting for a home that is being recovered: 10 seconds. */
const recovery = { looks: 400, pauseMs: 25 } as const;

/**
 * Runs `throughline backup`.
 *
 * @throws Exit with 1: damage of the home is not confirmed, or a file of it could not be read and is
 *   not in the backup. With 130: stopped.
 */
export async function backup(to: string, flags: Flags, context: Context): Promise<void> {
  const { io, env, version } = context;
  const { home, store, logLevel } = resolveSettings(flags, env);
  const directory = resolve(to);
  const { list, inUse, isIncomplete } = await untilStopped(io, (signal) =>
    makeBackup({
      home,
      directory,
      version,
      disk: realDisk,
      clock: systemClock,
      logger: openLog(logLevel, "warn"),
      signal,
      hasStore: store !== undefined,
      progress: (says) => showProgress(io, says),
    }).finally(() => showProgress(io, "")),
  );
  const { files: _, made_at, ...rest } = list;
  const whole = list.damaged.length === 0 && list.left_out.length === 0;
  await noteBackup(realDisk, home, { made_at, directory, whole }, randomId).catch(() =>
    tell(io, `Not noted in ${home}: its doctor and metrics do not know of this backup.`),
  );
  const place = { directory, home, in_use: inUse, not_included: store?.says };
  const lines = [
    `Backed up ${home}${inUse ? " (in use)" : ""}: ${contentText(list.totals)}.`,
    `The backup is in ${directory}. To get it back: throughline restore ${directory} --home NEW`,
  ];
  if (store !== undefined) {
    lines.push(`The messages are NOT in it: they are in ${store.says}. Back up that database too.`);
  }
  const text = `${lines.join("\n")}\n`;
  await write(io.output, flags.json ? json({ ...place, made_at, ...rest }) : text);
  for (const { path, reason } of list.damaged) {
    await tell(io, `Damaged in the home, copied as it is: ${printableLine(path)}: ${reason}`);
  }
  for (const { path, reason } of list.left_out) {
    await tell(io, `Not in the backup: ${printableLine(path)}, which ${reason}`);
  }
  if (isIncomplete) throw new Exit(exitCodes.failed);
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

/**
 * Copies a home into a directory that appears whole, whether or not a process uses the home.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no home. `THROUGHLINE_CONFLICT`: the directory
 * is there already. `THROUGHLINE_CONFIGURATION`: the home or the directory cannot be used.
 */
export async function makeBackup(ports: MakingPorts) {
  const { home, directory, disk } = ports;
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
  await whenRecovered(ports);
  return writeBackup(ports, inUse);
}

/** Does the same, once it is known whether another process uses the home. */
export function writeBackup(ports: MakingPorts, inUse: boolean) {
  const { disk, directory, version } = ports;
  return newFolder(disk, directory, "partial", async (folder) => {
    const copy = await copyWhole(folder, ports);
    const { damage, totals } = copy;
    const lost = damage.filter(isLoss);
    const damaged = lost.map(({ file, key, reason }) => ({ path: file ?? key, reason }));
    const list: BackupList = {
      made_at: copy.madeAt,
      version,
      totals,
      damaged: damaged.sort(byPath),
      left_out: [...copy.leftOut, ...copy.unread].map(([path, reason]) => ({ path, reason })),
      files: [...copy.files.values()].sort(byPath),
    };
    await create(disk, folder, backupName, async (file) => {
      await writeAll(file, encodeBackupList(list), 0);
      await file.sync();
    });
    /** Files could not be read, or a person does not know of all damage. */
    const isIncomplete = copy.unread.size > 0 || lost.some(({ confirmed }) => !confirmed);
    return { list, inUse, isIncomplete };
  });
}

const byPath = (a: { readonly path: string }, b: { readonly path: string }) =>
  a.path < b.path ? -1 : 1;

/**
 * Opens and closes a home that no process uses: that completes the logs after a crash, and empties the journal.
 * The lock is not held longer, so that a server can start beside the backup.
 */
async function isInUse({ home, hasStore, logger }: MakingPorts): Promise<boolean> {
  try {
    if (hasStore) takeLease(home, { logger }).release();
    else await (await openFileStorage({ home, logger })).close();
    return false;
  } catch (error) {
    if (!isThroughlineError(error, "THROUGHLINE_LOCKED")) throw error;
    return true;
  }
}

/** Copies and verifies a home. */
async function copyWhole(folder: string, ports: MakingPorts) {
  const madeAt = isoTime(ports.clock.now());
  const index = readIndex(ports.home);
  const copy = await copyHome(folder, ports);
  ports.progress(`Checking: ${counted(copy.files.size, "file")}`);
  return { ...copy, ...(await verifyCopy(copy, folder, index, ports)), madeAt };
}

/**
 * Copies a home that another process may be changing: each file as the home has it at some moment of the copy.
 * So what was forgotten, erased or replaced before is not in it.
 */
async function copyHome(folder: string, ports: MakingPorts): Promise<HomeCopy> {
  const { disk, home, progress, signal } = ports;
  const files = new Map<string, BackupFile>();
  const unread = new Map<string, string>();
  const { paths, others } = await listHome(disk, home);
  const copy = async (path: string) => {
    signal.throwIfAborted();
    try {
      const copied = await copyFile(path, folder, ports);
      if (copied !== undefined) files.set(path, { path, ...copied });
      progress(`Copying: ${files.size} of ${counted(paths.length, "file")}`);
    } catch (error) {
      // What is wrong with the backup's own files ends the command.
      const { path: place, syscall, code } = error as NodeJS.ErrnoException;
      const isOfHome = syscall === "read" || place?.startsWith(folder) === false;
      if (code === undefined || !isOfHome) throw error;
      if (code !== "ENOENT") unread.set(path, `cannot be read (${code})`);
    }
  };
  for (const group of groupsOf(paths)) await concurrently(group, filesAtOnce, copy);
  // A message is stored after its attachments: those that came since the list was made may be in a log.
  const now = new Set((await listHome(disk, home)).paths);
  const known = new Set(paths);
  const later = [...now].filter((path) => hashInName(path) !== undefined && !known.has(path));
  await concurrently(later, filesAtOnce, copy);
  // A package that was removed is in no backup, not in part either.
  const isGone = (path: string) => packageOf(path) !== undefined && !now.has(path);
  const gone = new Set(paths.filter(isGone).map(packageOf));
  for (const path of files.keys()) {
    if (!gone.has(packageOf(path))) continue;
    await disk.unlink(join(folder, path));
    files.delete(path);
  }
  return { files, leftOut: others, unread };
}

/**
 * Puts the files into the order in which they are copied. The marks of what was forgotten come first: what a mark
 * calls removed is then looked at after it was removed. Logs come last: no document speaks of records that the copy lacks.
 */
function groupsOf(paths: readonly string[]): readonly (readonly string[])[] {
  const isMark = (path: string) => path.startsWith("forgotten/");
  return [
    paths.filter(isMark),
    paths.filter((path) => !isMark(path) && !isLog(path)),
    paths.filter((path) => !isMark(path) && isLog(path)),
  ];
}

/** @returns `undefined`: it was removed since it was listed. */
async function copyFile(path: string, folder: string, { disk, home, signal }: MakingPorts) {
  return readFrom(disk, await realPlace(home, path), async (source) => {
    const end = (isLog(path) ? await endOfLog(source) : undefined) ?? (await source.size());
    return create(disk, folder, path, (target) =>
      copyVerified(source, target, { path, end, signal }),
    );
  });
}

/**
 * Waits until the logs of a home hold what its journal holds now. They always do, with one exception: after a
 * power cut, a process that starts takes some time to complete the logs from the journal.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: they still do not.
 */
export async function whenRecovered(
  { disk, home, signal }: Pick<MakingPorts, "disk" | "home" | "signal">,
  looks: number = recovery.looks,
): Promise<void> {
  // What is appended from now on need not be in the backup.
  let end = Number.POSITIVE_INFINITY;
  for (let look = 1; ; look++) {
    signal.throwIfAborted();
    const frames = await journalOf(disk, home);
    end = Math.min(end, frames.at(-1)?.end ?? 0);
    const log = await firstIncomplete(disk, home, frames, end);
    if (log === undefined) return;
    if (look === looks) {
      throw new Failed(`${log} lacks messages that the home's journal still holds`, {
        code: "THROUGHLINE_UNAVAILABLE",
        wayOut:
          "If a program has just been started on this home, wait until it is ready and try again. Otherwise " +
          "stop the program first: a backup of a home that is not in use completes the logs itself.",
      });
    }
    await wait(recovery.pauseMs);
  }
}

/** Reads the frames of the journal that count, in order. */
async function journalOf(disk: Disk, home: string): Promise<readonly Frame[]> {
  const folder = join(home, journalFolder);
  const names = ((await disk.list(folder).catch(unlessAbsent)) ?? []).map(({ name }) => name);
  const segments = [];
  for (const name of names.filter((each) => segmentName.test(each))) {
    // A segment that is gone is not needed any more: its logs are synced.
    const bytes = await readBytes(disk, join(folder, name));
    const segment = bytes && readSegment(bytes);
    if (segment !== undefined) segments.push(segment);
  }
  return validFrames(segments.sort((a, b) => a.header.nth - b.header.nth)).flat();
}

/** Finds a log that lacks what these frames hold before `end`. */
async function firstIncomplete(
  disk: Disk,
  home: string,
  frames: readonly Frame[],
  end: number,
): Promise<string | undefined> {
  const old = new Set<Change>(frames.filter(({ position }) => position < end));
  for (const [path, changes] of Map.groupBy(frames, (frame) => frame.path)) {
    for (const change of settle(changes).kept.filter((each) => old.has(each))) {
      const { offset, bytes: wanted } = change;
      if (wanted.length === 0) continue; // cut back to there, where perhaps no file is
      const there = await readBytes(disk, join(home, path), offset, wanted.length);
      if (there?.equals(wanted) !== true) return path;
    }
  }
  return undefined;
}
