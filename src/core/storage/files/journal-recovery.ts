// What a process left of the journal: every log is made to end as the journal says.
import { dirname, join } from "node:path";
import type { DiskFile } from "../disk/disk.ts";
import { batchAt, batchesBackward, batchesForward, readExactly } from "./batch-reader.ts";
import { isCode, makeDirectory, rethrow, unlinkIfThere, writeAll } from "./file-ports.ts";
import type { JournalPorts } from "./journal.ts";
import { type Change, type Frame, readSegment, type SegmentHeader } from "./journal-frame.ts";

/** One file of the journal. */
export interface Segment {
  readonly path: string;
  readonly file: DiskFile;
  /** Made by this process: only such a file is written again. A copy of the home may share the others. */
  readonly isOwn: boolean;
  /** Of its first byte in the journal. */
  position: number;
  /** How many bytes of it are used. */
  end: number;
  /** Space is preallocated up to here. */
  reserved: number;
  /** The logs that it changes, by their paths in the home. */
  readonly logs: Set<string>;
  /** The folders in which it makes new logs. */
  readonly newNamesIn: Set<string>;
  /** Settles when each of its changes was applied. */
  settled: Promise<void>;
}

export function newSegment(path: string, file: DiskFile, isOwn = true): Segment {
  const sets = { logs: new Set<string>(), newNamesIn: new Set<string>() };
  const settled = Promise.resolve();
  return { path, file, isOwn, position: 0, end: 0, reserved: 0, ...sets, settled };
}

export interface RecoveredJournal {
  readonly segments: readonly Segment[];
  readonly end: number;
  readonly lastNumber: number;
  readonly isUnsynced: boolean;
  /** What it holds of each log, by the path of its file. */
  readonly logs: Map<string, readonly Change[]>;
}

interface ReadSegment {
  readonly segment: Segment;
  readonly header: SegmentHeader;
  readonly frames: readonly Frame[];
}

/** So many logs are looked at together. */
const atOnce = 16;

/**
 * Reads the journal and writes to each log what it lacks. Nothing is synced but the journal: the segments
 * are kept until their logs are.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`, `THROUGHLINE_UNAVAILABLE` (the disk refuses).
 */
export async function recoverJournal(
  ports: JournalPorts,
  folder: string,
): Promise<RecoveredJournal> {
  const read: ReadSegment[] = [];
  let lastNumber = 0;
  let logs: Map<string, readonly Change[]>;
  try {
    for (const name of await segmentNames(ports, folder)) {
      lastNumber = Math.max(lastNumber, Number.parseInt(name, 10));
      const found = await openSegment(ports, join(folder, name));
      if (found !== undefined) read.push(found);
    }
    logs = await applyAll(ports, read);
  } catch (error) {
    for (const { segment } of read) await segment.file.close().catch(() => undefined);
    return rethrow("the journal", error);
  }
  const isUnsynced = read.some(({ header }) => header.unsynced);
  const segments = read.map(({ segment }) => segment);
  const end = Math.max(0, ...segments.map((segment) => segment.position + segment.end));
  return { segments, end, lastNumber, isUnsynced, logs };
}

async function segmentNames({ disk }: JournalPorts, folder: string): Promise<readonly string[]> {
  try {
    const names = (await disk.list(folder)).map(({ name }) => name);
    return names.filter((name) => /^\d{8,}\.journal$/.test(name)).sort();
  } catch (error) {
    if (isCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** @returns `undefined`, and the file is gone, when nothing in it was ever acknowledged. */
async function openSegment(ports: JournalPorts, path: string): Promise<ReadSegment | undefined> {
  const file = await ports.disk.open(path, "write"); // some systems sync only what is open for it
  try {
    const bytes = await readExactly(file, 0, await file.size());
    const read = readSegment(bytes);
    if (read === undefined) {
      ports.guard();
      await unlinkIfThere(ports.disk, path);
      await file.close();
      return undefined;
    }
    // What is believed now must still be there after the next power cut. A sync of the last group may have
    // failed, and thrown it away: so it is written once more.
    const { position } = read.header;
    const applied = Math.max(position, ...read.frames.slice(-1).map((frame) => frame.applied));
    const last = bytes.subarray(applied - position, read.end - position);
    ports.guard();
    await writeAll(file, last, applied - position);
    await file.sync();
    const segment = newSegment(path, file, false);
    segment.position = position;
    segment.end = read.end - segment.position;
    return { segment, header: read.header, frames: read.frames };
  } catch (error) {
    await file.close().catch(() => undefined); // what failed before is the news
    throw error;
  }
}

/** Leaves in each segment the frames that count, notes their logs, and applies what is not applied. */
async function applyAll(
  ports: JournalPorts,
  read: ReadSegment[],
): Promise<Map<string, readonly Change[]>> {
  // One without frames was given up before another began at the same place.
  read.sort((a, b) => a.header.position - b.header.position || a.frames.length - b.frames.length);
  const logs = new Map<string, Frame[]>();
  let applied = 0;
  for (const [i, { segment, frames: all }] of read.entries()) {
    // What lies at or after the beginning of the next segment was given up when that one was begun.
    const end = read[i + 1]?.header.position ?? Number.POSITIVE_INFINITY;
    segment.end = Math.min(segment.end, end - segment.position);
    for (const frame of all) {
      if (frame.position >= end) continue;
      applied = Math.max(applied, frame.applied);
      const { path, offset } = frame;
      segment.logs.add(path);
      if (offset === 0) segment.newNamesIn.add(dirname(path));
      const frames = logs.get(path);
      if (frames === undefined) logs.set(path, [frame]);
      else frames.push(frame);
    }
  }
  // In the same run of the machine the kernel still has all that was written to the logs.
  const isSameBoot = read.every(
    ({ header: { bootId } }) => bootId !== undefined && bootId === ports.bootId,
  );
  const from = isSameBoot ? applied : 0;
  const left = [...logs].filter(([, frames]) => frames.some(({ position }) => position >= from));
  for (let i = 0; i < left.length; i += atOnce) {
    const some = left.slice(i, i + atOnce);
    await Promise.all(some.map(([path, frames]) => applyTo(ports, path, frames)));
  }
  return new Map([...logs].map(([path, frames]) => [path, settle(frames).kept]));
}

/** What of these changes of one log, in order, its file must hold; and what gave way to a later one. */
function settle(changes: readonly Change[]): {
  readonly kept: Change[];
  readonly replaced: Change[];
} {
  let kept: Change[] = [];
  const replaced: Change[] = [];
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
export async function changesOf(
  path: string,
  segments: readonly Segment[],
): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (const { file, end } of segments) {
    const read = readSegment(await readExactly(file, 0, end));
    changes.push(...(read?.frames ?? []).filter((frame) => frame.path === path));
  }
  return settle(changes).kept;
}

/** Makes one log end as the journal says. A file that somebody put in its place is left alone. */
async function applyTo(
  ports: JournalPorts,
  name: string,
  changes: readonly Change[],
): Promise<void> {
  const { kept, replaced } = settle(changes);
  const [first] = kept;
  if (first === undefined) return;
  const path = join(ports.home, name);
  const file = await openLog(ports, path, first.offset === 0 && first.bytes.length > 0);
  if (file === undefined) return; // somebody removed it
  try {
    const size = await file.size();
    let at = 0;
    for (const change of kept) {
      if (!(await holds(file, change))) break;
      at++;
    }
    const next = kept[at];
    if (next !== undefined) {
      if (at === 0 && !(await follows(file, first))) return;
      if (await goesOnOtherwise(file, next.offset, replaced)) return;
      const missing = kept.slice(at);
      await cutBack(ports, path, file, next.offset, missing);
      for (const { bytes, offset } of missing) await writeAll(file, bytes, offset);
      return;
    }
    const last = kept.at(-1);
    if (last === undefined || last.bytes.length > 0 || size === last.offset) return;
    // It was to be cut back there, which perhaps did not happen.
    const undone = replaced.filter(({ offset }) => offset === last.offset);
    if (undone.length === 0 || (await goesOnOtherwise(file, last.offset, replaced))) return;
    await cutBack(ports, path, file, last.offset, undone);
  } finally {
    await file.close();
  }
}

/** Cuts a file back. What is not a part of these changes, with gaps of NUL bytes, is set aside first. */
async function cutBack(
  ports: JournalPorts,
  path: string,
  file: DiskFile,
  from: number,
  changes: readonly Change[],
): Promise<void> {
  const found = await readExactly(file, from, (await file.size()) - from);
  const expected = Buffer.concat(changes.map(({ bytes }) => bytes));
  const isOurs = found.every((byte, i) => byte === 0 || byte === expected[i]);
  ports.guard();
  if (!isOurs) await ports.setAside(path, file, from);
  await file.truncate(from);
}

async function openLog(
  { disk, guard }: JournalPorts,
  path: string,
  isNew: boolean,
): Promise<DiskFile | undefined> {
  try {
    return await disk.open(path, "write");
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
    if (!isNew) return undefined;
    guard();
    await makeDirectory(disk, dirname(path));
    return disk.open(path, "create");
  }
}

async function holds(file: DiskFile, { offset, bytes }: Change): Promise<boolean> {
  return (await readExactly(file, offset, bytes.length)).equals(bytes);
}

/** Whether a whole batch begins there of which the journal does not know: the file is the newer one. */
async function goesOnOtherwise(
  file: DiskFile,
  offset: number,
  replaced: readonly Change[],
): Promise<boolean> {
  for await (const item of batchesForward(file, offset, await file.size())) {
    if (item.kind === "damage" || item.start !== offset) return false;
    for (const change of replaced) {
      if (change.offset === offset && (await holds(file, change))) return false;
    }
    return true;
  }
  return false;
}

/** Whether this change continues what the file holds before it. */
async function follows(file: DiskFile, { offset, bytes }: Change): Promise<boolean> {
  if (offset === 0) return true;
  for await (const item of batchesBackward(file, offset)) {
    return (
      item.kind === "batch" &&
      item.end === offset &&
      item.commit.crc === batchAt(bytes, offset)?.commit.prev
    );
  }
  return false;
}
