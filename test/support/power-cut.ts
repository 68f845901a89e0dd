// Every disk that a power cut could leave, at every disk operation of many workloads.
import assert from "node:assert/strict";
import { forEveryCrashPoint } from "./crash-points.ts";
import { fileWith } from "./image-digest.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import {
  after,
  afterDeathIn,
  checkLeft,
  checkState,
  emptyModel,
  forgottenBy,
  type Model,
  openOn as openHome,
  perform,
  type Step,
  stateOf,
  stepsOf,
  wordsOf,
} from "./storage-workload.ts";

/** What the process had been told when it died. */
interface Told {
  readonly stored: Model;
  readonly underWay: Step | undefined;
  /** How many acts of each queue of the step under way were done. */
  readonly acted: readonly number[];
  /** The records whose words must be nowhere. */
  readonly forgotten: readonly string[];
}

const nothingTold: Told = { stored: emptyModel, underWay: undefined, acted: [], forgotten: [] };

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
}

const noCounts = (): Counts => ({
  ...{ points: 0, images: 0, reused: 0, removed: 0, races: 0, searched: 0 },
});

/** Which workloads: `count` of them, from this seed on. */
export interface Workloads {
  readonly from: number;
  readonly count: number;
}

/** Small ones are full after one append, and are freed and used again all the time. */
const segmentBytes = [600, 1_200, 2_048] as const;

let checked = 0;

function crashRun(seed: number, steps: readonly Step[], counts: Counts) {
  const bytes = segmentBytes[seed % segmentBytes.length];
  const openOn = (disk: SimulatedDisk) =>
    openHome(disk, "power-cut", undefined, undefined, undefined, bytes);
  return {
    openOn,
    async scenario(disk: SimulatedDisk, promise: (told: Told) => void) {
      let told = nothingTold;
      const tell = (news: Partial<Told>) => {
        told = { ...told, ...news };
        promise(told);
      };
      let opened = await openOn(disk);
      for (const step of steps) {
        const { stored, forgotten } = told;
        const acted: number[] = [];
        tell({ underWay: step, acted: [] });
        if (step.do === "reopen") {
          await opened.storage.close();
          opened = await openOn(disk);
        }
        await perform(opened, step, (queue) => {
          acted[queue] = (acted[queue] ?? 0) + 1;
          const gone = [...forgotten, ...forgottenBy(stored, step, acted)];
          tell({ acted: [...acted], forgotten: gone });
        });
        const gone = [...forgotten, ...forgottenBy(stored, step)];
        tell({ stored: after(stored, step), underWay: undefined, acted: [], forgotten: gone });
      }
      await opened.storage.close();
      countSegments(disk, counts);
      counts.races += steps.filter(emptiesTwice).length;
    },
    async check(image: SimulatedDisk, promised: readonly Told[]) {
      const { stored, underWay, acted, forgotten } = promised.at(-1) ?? nothingTold;
      const words = forgotten.map(wordsOf);
      if (words.length > 0) counts.searched++;
      assert.equal(fileWith(image.tree, words), undefined, "forgotten words are in a file");
      const allowed = afterDeathIn(stored, underWay, acted);
      const opened = await openOn(image);
      // Every image is read whole; every eighth is also written to, closed and opened again.
      if (++checked % 8 === 0) {
        await checkLeft(opened, allowed);
        await opened.storage.close();
        const again = await openOn(image);
        assert.equal((await stateOf(again)).document, 99);
        await again.storage.close();
      } else {
        await checkState(opened, allowed);
        await opened.storage.close();
      }
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
        const words = told.forgotten.map(wordsOf);
        assert.equal(fileWith(image.tree, words), undefined, "forgotten words are in a file");
        const opened = await openOn(image);
        await checkState(opened, afterDeathIn(told.stored, told.underWay, told.acted));
        await opened.storage.close();
      },
      images: { seed, maxImages },
      laterImages: { seed, maxImages: 6 },
      depth: 2,
      digests,
    };
    const { points, images } = await inWorkload(seed, steps, forEveryCrashPoint(run));
    counts.points += points;
    counts.images += images;
  }
  return counts;
}

/** Kills the process at every disk operation: what the system was told, it keeps. */
export async function killEverywhere({ from, count, digests }: Workloads & Digests) {
  const counts = noCounts();
  for (let seed = from; seed < from + count; seed++) {
    const steps = stepsOf(seed + 500, 8);
    const run = { ...crashRun(seed, steps, counts), cut: "process" as const, digests };
    const { points, images } = await inWorkload(seed, steps, forEveryCrashPoint(run));
    counts.points += points;
    counts.images += images;
  }
  return counts;
}
