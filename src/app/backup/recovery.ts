import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { unlessAbsent } from "../../cli/doctor/home-files.ts";
import { Failed } from "../../cli/failure.ts";
import type { Clock } from "../../core/clock.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { readExactly } from "../../core/storage/files/batch-reader.ts";
import { journalFolder } from "../../core/storage/files/journal.ts";
import {
  type Change,
  type Frame,
  type ReadSegment,
  readSegment,
  segmentName,
  validFrames,
} from "../../core/storage/files/journal-frame.ts";
import { settle } from "../../core/storage/files/journal-segment.ts";

const limits = { waitMs: 10_000, pauseMs: 25 } as const;

interface RecoveryPorts {
  readonly disk: Disk;
  readonly home: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long to wait. @default 10_000 */
  readonly waitMs?: number | undefined;
}

/**
 * Waits until the logs of a home in use hold what its journal holds now. They always do, with one exception:
 * after a power cut, a process that starts takes some time to complete the logs from the journal.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: they still do not.
 */
export async function whenRecovered(ports: RecoveryPorts): Promise<void> {
  const { clock, waitMs = limits.waitMs } = ports;
  const began = clock.monotonic();
  // What is appended from now on need not be in the backup.
  let end = Number.POSITIVE_INFINITY;
  for (;;) {
    ports.signal.throwIfAborted();
    const frames = await readFrames(ports);
    if (end === Number.POSITIVE_INFINITY) end = frames.at(-1)?.end ?? 0;
    const left = await unapplied(ports, frames, end);
    if (left === undefined) return;
    if (clock.monotonic() - began > waitMs) throw notRecovered(left);
    await wait(limits.pauseMs);
  }
}

function notRecovered(log: string): Failed {
  return new Failed(`${log} lacks messages that the home's journal still holds`, {
    code: "THROUGHLINE_UNAVAILABLE",
    wayOut:
      "If a program has just been started on this home, wait until it is ready and try again. Otherwise " +
      "stop the program first: a backup of a home that is not in use completes the logs itself.",
  });
}

/** The frames that count, in order. */
async function readFrames({ disk, home }: RecoveryPorts): Promise<readonly Frame[]> {
  const folder = join(home, journalFolder);
  const segments: ReadSegment[] = [];
  for (const { name } of (await disk.list(folder).catch(unlessAbsent)) ?? []) {
    if (!segmentName.test(name)) continue;
    const file = await disk.open(join(folder, name), "read").catch(unlessAbsent);
    if (file === undefined) continue; // its logs are synced: it is not needed any more
    try {
      const segment = readSegment(await readExactly(file, 0, await file.size()));
      if (segment !== undefined) segments.push(segment);
    } finally {
      await file.close();
    }
  }
  return validFrames(segments.sort((a, b) => a.header.nth - b.header.nth)).flat();
}

/** @returns the first log that lacks what these frames hold before `end`. */
async function unapplied(
  { disk, home }: RecoveryPorts,
  frames: readonly Frame[],
  end: number,
): Promise<string | undefined> {
  const old = new Set<Change>(frames.filter(({ position }) => position < end));
  for (const [path, changes] of Map.groupBy(frames, (frame) => frame.path)) {
    const wanted = settle(changes).kept.filter((change) => old.has(change));
    if (wanted.length === 0) continue;
    const log = await disk.open(join(home, path), "read").catch(unlessAbsent);
    if (log === undefined) return path;
    try {
      for (const { offset, bytes } of wanted) {
        if (!(await readExactly(log, offset, bytes.length)).equals(bytes)) return path;
      }
    } finally {
      await log.close();
    }
  }
  return undefined;
}
