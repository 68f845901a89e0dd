// The files of the journal, and the logs that depend on them.
import { dirname, join } from "node:path";
import { blockBytes, type DiskFile } from "../disk/disk.ts";
import { readExactly } from "./batch-reader.ts";
import {
  type HomePorts,
  isCode,
  isThere,
  makeDirectory,
  syncNames,
  writeAll,
} from "./file-ports.ts";
import { type Change, readSegment } from "./journal-frame.ts";

/** A log that may be open. */
export interface SyncedLog {
  /** Syncs the file through the descriptor that is open. @returns whether one is. */
  sync(): Promise<boolean>;
}

/** One file of the journal. */
export interface Segment {
  readonly path: string;
  readonly file: DiskFile;
  /** False for those of another process: a copy of the home may share them. */
  isReusable: boolean;
  /** Segments were begun in this order. */
  nth: number;
  /** Of its first byte in the journal. */
  position: number;
  /** How many bytes of it are used. */
  end: number;
  /** Space is preallocated up to here. */
  reserved: number;
  /** The logs that it changes, by their paths in the home, each as it was last open. */
  readonly logs: Map<string, SyncedLog | undefined>;
  /** The folders in which it makes new logs. */
  readonly newNamesIn: Set<string>;
  /** Settles when each of its changes was applied. */
  settled: Promise<void>;
}

export function newSegment(path: string, file: DiskFile, isReusable = true): Segment {
  const sets = { logs: new Map<string, SyncedLog | undefined>(), newNamesIn: new Set<string>() };
  const settled = Promise.resolve();
  return { path, file, isReusable, nth: 0, position: 0, end: 0, reserved: 0, ...sets, settled };
}

/** Makes the file of the journal's next segment. */
export async function createSegment(
  ports: HomePorts,
  folder: string,
  nth: number,
): Promise<Segment> {
  const { disk } = ports;
  await makeDirectory(disk, folder);
  const path = join(folder, `${String(nth).padStart(8, "0")}.journal`);
  const file = await disk.open(path, "create");
  try {
    await syncNames(ports, folder);
  } catch (error) {
    await file.close().catch(() => undefined);
    await disk.unlink(path).catch(() => undefined); // it is empty: the next start removes it
    throw error;
  }
  return newSegment(path, file);
}

/** Makes the names in the journal's folder durable; where somebody removed it, that it is gone. */
export async function syncFolder(ports: HomePorts, folder: string): Promise<void> {
  try {
    await syncNames(ports, folder);
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
    await syncNames(ports, ports.home);
    ports.unsyncedNames.delete(folder);
  }
}

/** Whether the name of a segment leads elsewhere now: a start would not find what is written to it. */
export function isMoved({ file, path }: Segment): boolean {
  const place = file.placeAt(path);
  return place === "nothing" || place === "other";
}

/** Cuts off what was written past the end of a segment. @returns whether it is gone for good. */
export async function isCutOff(segment: Segment): Promise<boolean> {
  try {
    await segment.file.truncate(segment.end);
    await segment.file.sync();
    segment.reserved = segment.end;
    return true;
  } catch {
    return false;
  }
}

/** Space is preallocated in so many steps, so that a sync seldom has to note how long the file is. */
const steps = 64;
/** The first step of a new file is shorter: a process that writes little writes no more. */
const firstBytes = 32 * 1024;

/** Without the space it takes longer, and that is all. */
export async function preallocate(segment: Segment, end: number, bytes: number): Promise<void> {
  const whole = Math.max(blockBytes, bytes / steps);
  const step = segment.reserved === 0 ? Math.min(firstBytes, whole) : whole;
  segment.reserved = Math.ceil(end / step) * step;
  const { file } = segment;
  await file.extend(end, segment.reserved).catch(async () => {
    await file.truncate(end).catch(() => undefined); // a part of it may be there, and others need it
  });
}

/** Notes in a segment what is to be synced before it is freed. */
export function noteChange(
  { logs, newNamesIn }: Segment,
  path: string,
  offset: number,
  log?: SyncedLog,
): void {
  logs.set(path, log);
  if (offset === 0) newNamesIn.add(dirname(path));
}

/** So many logs are synced at once. The journal's own syncs need a thread too. */
const syncedAtOnce = 2;

interface LogsToSync {
  /** All that there are, in order. */
  readonly segments: readonly Segment[];
  /** Logs whose sync failed, and which could not be written again since then. */
  readonly doubtful: Set<string>;
}

/** Makes the logs durable that a segment names. */
export async function syncLogs(
  ports: HomePorts,
  segment: Segment,
  all: LogsToSync,
  complete: (name: string) => Promise<void>,
): Promise<void> {
  const logs = segment.logs.entries();
  const syncSome = async () => {
    for (const [name, log] of logs) {
      await complete(name);
      await syncLog(ports, name, log, all);
    }
  };
  const syncing = Array.from({ length: syncedAtOnce }, syncSome);
  await Promise.allSettled(syncing);
  await Promise.all(syncing);
  for (const folder of segment.newNamesIn) {
    await ports.disk.syncDirectory(join(ports.home, folder));
  }
}

/** A failed sync may have thrown away what was written, and the next one would say that all is well. */
async function syncLog(
  { disk, home }: HomePorts,
  name: string,
  log: SyncedLog | undefined,
  { segments, doubtful }: LogsToSync,
): Promise<void> {
  if (!doubtful.has(name)) {
    const isSynced = await log?.sync().catch(() => void doubtful.add(name));
    if (isSynced) return;
  }
  const path = join(home, name);
  try {
    const file = await disk.open(path, "write");
    try {
      if (!doubtful.has(name)) await file.sync().catch(() => doubtful.add(name));
      if (!doubtful.has(name)) return;
      for (const { offset, bytes } of await changesOf(name, segments)) {
        await writeAll(file, bytes, offset);
      }
      await file.sync();
      doubtful.delete(name);
    } finally {
      await file.close();
    }
  } catch (error) {
    // Somebody removed it: there is nothing to sync. That is asked twice, because it is believed.
    if (!isCode(error, "ENOENT") || (await isThere(disk, path))) throw error;
  }
}

/** What of these changes of one log, in order, its file must hold; and what gave way to a later one. */
export function settle<C extends Change>(
  changes: readonly C[],
): { readonly kept: C[]; readonly replaced: C[] } {
  let kept: C[] = [];
  const replaced: C[] = [];
  for (const change of changes) {
    for (let last = kept.at(-1); last && last.offset >= change.offset; last = kept.at(-1)) {
      replaced.push(last);
      kept.pop();
    }
    const last = kept.at(-1);
    // Another program put a longer file there: what came before is of no use for it.
    if (last !== undefined && last.offset + last.bytes.length < change.offset) kept = [];
    kept.push(change);
  }
  return { kept, replaced };
}

/** All that these segments hold of one log, as it must lie in its file. */
async function changesOf(path: string, segments: readonly Segment[]): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (const { file, end } of segments) {
    const read = readSegment(await readExactly(file, 0, end));
    changes.push(...(read?.frames ?? []).filter((frame) => frame.path === path));
  }
  return settle(changes).kept;
}
