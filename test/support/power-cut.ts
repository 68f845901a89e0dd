// Every disk that a power cut could leave, at every disk operation of many workloads.
import assert from "node:assert/strict";
import type { Durability } from "../../src/core/storage/storage.ts";
import { seededRandom } from "../../src/testing/random.ts";
import { forEveryCrashPoint } from "./crash-points.ts";
import { type DiskFault, type FaultyDisk, faultyDisk } from "./faulty-disk.ts";
import { assertWholeLines, fileWith } from "./image-digest.ts";
import { allowedBy, forgottenIn, Ledger, nothingTold, type Told } from "./ledger.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import {
  checkLeft,
  checkState,
  openOn as openHome,
  type Step,
  stateOf,
  stepsOf,
  wordsOf,
} from "./storage-workload.ts";

/** What the workloads came to. A run that never did one of these proves nothing about it. */
export interface Counts {
  points: number;
  /** Disks that were checked, for each state of what had been promised. */
  images: number;
  /** Segments of the journal that were used again, and that were removed. */
  reused: number;
  removed: number;
  /** Steps in which the journal was emptied for two logs at once, while a third was appended to. */
  races: number;
  /** Images that were looked through for forgotten words. */
  searched: number;
  /** Calls of the disk that failed. */
  failures: number;
}

const noCounts = (): Counts => ({
  ...{ points: 0, images: 0, reused: 0, removed: 0, races: 0, searched: 0, failures: 0 },
});

/** Which workloads: `count` of them, from this seed on. */
export interface Workloads {
  readonly from: number;
  readonly count: number;
}

/** Small ones are full after one append, and are freed and used again all the time. */
const segmentBytes = [600, 1_200, 2_048] as const;

let checked = 0;

/** In two workloads of three a write or a sync fails, so that appends on top of it are taken back. */
function faultsOf(seed: number): readonly DiskFault[] {
  const random = seededRandom(seed);
  const one = (): DiskFault => ({
    fault: random(2) === 0 ? "EIO" : "ENOSPC",
    at: 1 + random(16),
    call: random(2) === 0 ? "sync" : "write",
    path: random(4) === 0 ? /chats/ : /journal/,
    does: (["nothing", "half", "all"] as const)[random(3)] ?? "nothing",
  });
  return Array.from({ length: seed % 3 }, one);
}

/** Opens a home on a disk of which a call may fail once, so that the next try succeeds. */
async function openAgain<T>(open: () => Promise<T>, disk: FaultyDisk): Promise<T> {
  for (;;) {
    const { failures } = disk;
    try {
      return await open();
    } catch (error) {
      if (disk.failures === failures) throw error;
    }
  }
}

function crashRun(
  seed: number,
  steps: readonly Step[],
  counts: Counts,
  durability: Durability = "power-cut",
) {
  const bytes = segmentBytes[seed % segmentBytes.length];
  const openOn = (disk: Parameters<typeof openHome>[0]) =>
    openHome(disk, { durability, segmentBytes: bytes });
  return {
    openOn,
    async scenario(disk: SimulatedDisk, promise: (told: Told) => void) {
      const faulty = faultyDisk(disk, faultsOf(seed));
      const ledger = new Ledger(() => faulty.failures > 0, promise);
      const open = () => openAgain(() => openOn(faulty), faulty);
      let opened = await open();
      const close = () =>
        opened.storage.close().catch((error) => {
          if (faulty.failures === 0) throw error;
        });
      for (const step of steps) {
        if (step.do === "reopen") {
          await close();
          opened = await open();
        } else await ledger.perform(opened, step);
      }
      await close();
      countSegments(disk, counts);
      counts.races += steps.filter(emptiesTwice).length;
      counts.failures += faulty.failures;
    },
    async check(image: SimulatedDisk, promised: readonly Told[]) {
      const told = promised.at(-1) ?? nothingTold;
      const words = forgottenIn(told).map(wordsOf);
      if (words.length > 0) counts.searched++;
      assert.equal(fileWith(image.tree, words), undefined, "forgotten words are in a file");
      const opened = await openOn(image);
      // Every image is read whole; every eighth is also written to, closed and opened again.
      if (++checked % 8 === 0) {
        await checkLeft(opened, allowedBy(told));
        await opened.storage.close();
        const again = await openOn(image);
        assert.equal((await stateOf(again)).document, 99);
        await again.storage.close();
      } else {
        await checkState(opened, allowedBy(told));
        await opened.storage.close();
      }
      assertWholeLines(image.tree);
      assert.equal(fileWith(image.tree, words), undefined, "forgotten words are back in a file");
    },
  };
}

function emptiesTwice(step: Step): boolean {
  if (step.do !== "together") return false;
  const emptying = step.queues.filter((acts) => acts.some((act) => act.do !== "append"));
  return emptying.length >= 2 && emptying.length < step.queues.length;
}

function countSegments({ operations }: SimulatedDisk, counts: Counts): void {
  const begun = new Set<string>();
  for (const { call, path, position } of operations) {
    if (!path.endsWith(".journal")) continue;
    if (call === "unlink") {
      counts.removed++;
      begun.delete(path);
    } else if (call === "write" && position === 0) {
      if (begun.has(path)) counts.reused++;
      begun.add(path);
    }
  }
}

async function inWorkload<T>(seed: number, steps: readonly Step[], run: Promise<T>): Promise<T> {
  try {
    return await run;
  } catch (cause) {
    throw new Error(`workload ${seed}: ${JSON.stringify(steps)}`, { cause });
  }
}

interface Digests {
  /** The digest of every disk that was checked is put there. */
  readonly digests: Set<string>;
}

/** Cuts the power at every disk operation, and opens what the disk could then hold. */
export async function cutEverywhere({
  from,
  count,
  maxImages,
  digests,
}: Workloads & Digests & { readonly maxImages: number }): Promise<Counts> {
  const counts = noCounts();
  for (let seed = from; seed < from + count; seed++) {
    const steps = stepsOf(seed, 6);
    const run = { ...crashRun(seed, steps, counts), images: { seed, maxImages }, digests };
    const { points, images } = await inWorkload(seed, steps, forEveryCrashPoint(run));
    counts.points += points;
    counts.images += images;
  }
  return counts;
}

/** Cuts the power at every disk operation, and again at every operation of the recovery. */
export async function cutTwice({
  from,
  count,
  digests,
  maxImages = 12,
}: Workloads & Digests & { readonly maxImages?: number }): Promise<Counts> {
  const counts = noCounts();
  for (let seed = from; seed < from + count; seed++) {
    const steps = stepsOf(seed + 1_000, 3);
    const { openOn, scenario } = crashRun(seed, steps, counts);
    const run = {
      scenario,
      async check(image: SimulatedDisk, promised: readonly Told[], promise: (told: Told) => void) {
        // The recovery promises what held before it: a second cut may not take more.
        const told = promised.at(-1) ?? nothingTold;
        promise(told);
        const words = forgottenIn(told).map(wordsOf);
        assert.equal(fileWith(image.tree, words), undefined, "forgotten words are in a file");
        const opened = await openOn(image);
        await checkState(opened, allowedBy(told));
        await opened.storage.close();
      },
      images: { seed, maxImages },
      laterImages: { seed, maxImages: Math.min(6, maxImages) },
      depth: 2,
      digests,
    };
    const { points, images } = await inWorkload(seed, steps, forEveryCrashPoint(run));
    counts.points += points;
    counts.images += images;
  }
  return counts;
}

/** Kills the process at every disk operation, at both levels: what the system was told, it keeps. */
export async function killEverywhere({ from, count, digests }: Workloads & Digests) {
  const counts = noCounts();
  for (let seed = from; seed < from + count; seed++) {
    const steps = stepsOf(seed + 500, 8);
    const durability = seed % 2 === 0 ? "process" : "power-cut";
    const run = {
      ...crashRun(seed, steps, counts, durability),
      cut: "process" as const,
      digests,
    };
    const { points, images } = await inWorkload(seed, steps, forEveryCrashPoint(run));
    counts.points += points;
    counts.images += images;
  }
  return counts;
}
