// Every disk that a power cut could leave, at every disk operation of many workloads.
import assert from "node:assert/strict";
import { forEveryCrashPoint } from "./crash-points.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import {
  after,
  afterDeathIn,
  checkLeft,
  checkState,
  emptyModel,
  type Model,
  openOn as openHome,
  perform,
  type Step,
  stateOf,
  stepsOf,
} from "./storage-workload.ts";

/** What the process had been told when it died. */
interface Told {
  readonly stored: Model;
  readonly underWay: Step | undefined;
}

let checked = 0;

function crashRun(steps: readonly Step[], boot?: string) {
  const openOn = (disk: SimulatedDisk) =>
    openHome(disk, "power-cut", undefined, undefined, undefined, boot);
  return {
    async scenario(disk: SimulatedDisk, promise: (told: Told) => void) {
      let stored = emptyModel;
      let opened = await openOn(disk);
      for (const step of steps) {
        promise({ stored, underWay: step });
        if (step.do === "reopen") {
          await opened.storage.close();
          opened = await openOn(disk);
        }
        await perform(opened, step);
        stored = after(stored, step);
        promise({ stored, underWay: undefined });
      }
      await opened.storage.close();
    },
    async check(image: SimulatedDisk, promised: readonly Told[]) {
      const { stored, underWay } = promised.at(-1) ?? { stored: emptyModel, underWay: undefined };
      const opened = await openOn(image);
      // Every image is read whole; every eighth is also written to, closed and opened again.
      if (++checked % 8 !== 0) {
        await checkState(opened, stored, underWay);
        await opened.storage.close();
        return;
      }
      await checkLeft(opened, stored, underWay);
      await opened.storage.close();
      const again = await openOn(image);
      assert.equal((await stateOf(again)).document, 99);
      await again.storage.close();
    },
  };
}

/** Which workloads: `count` of them, from this seed on. */
export interface Workloads {
  readonly from: number;
  readonly count: number;
}

/** Cuts the power at every disk operation, and opens what the disk could then hold. */
export async function cutEverywhere({
  from,
  count,
  maxImages,
}: Workloads & { readonly maxImages: number }): Promise<{
  readonly points: number;
  readonly images: number;
}> {
  let points = 0;
  let images = 0;
  for (let seed = from; seed < from + count; seed++) {
    const counts = await forEveryCrashPoint({
      ...crashRun(stepsOf(seed, 6)),
      images: { seed, maxImages },
    }).catch((cause) => {
      throw new Error(`workload ${seed}: ${JSON.stringify(stepsOf(seed, 6))}`, { cause });
    });
    points += counts.points;
    images += counts.images;
  }
  return { points, images };
}

/** Cuts the power at every disk operation, and again at every operation of the recovery. */
export async function cutTwice({ from, count }: Workloads): Promise<{ readonly images: number }> {
  let images = 0;
  for (let seed = from; seed < from + count; seed++) {
    const steps = stepsOf(seed + 1_000, 3);
    const counts = await forEveryCrashPoint({
      ...crashRun(steps),
      async check(image: SimulatedDisk, promised: readonly Told[], promise: (told: Told) => void) {
        // The recovery promises what held before it: a second cut may not take more.
        const told = promised.at(-1) ?? { stored: emptyModel, underWay: undefined };
        promise(told);
        const opened = await openHome(image);
        const found = await stateOf(opened);
        const allowed = afterDeathIn(told.stored, told.underWay);
        assert.ok(
          allowed.some((model) => JSON.stringify(model) === JSON.stringify(found)),
          JSON.stringify([found, told]),
        );
        await opened.storage.close();
      },
      images: { seed, maxImages: 12 },
      laterImages: { seed, maxImages: 6 },
      depth: 2,
    });
    images += counts.images;
  }
  return { images };
}

/** Kills the process at every disk operation: what the system was told, it keeps. */
export async function killEverywhere({
  from,
  count,
}: Workloads): Promise<{ readonly points: number }> {
  let points = 0;
  for (let seed = from; seed < from + count; seed++) {
    const counts = await forEveryCrashPoint({
      ...crashRun(stepsOf(seed + 500, 8), "the same"),
      cut: "process",
    });
    points += counts.points;
  }
  return { points };
}
