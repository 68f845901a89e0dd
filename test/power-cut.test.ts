// Every disk that a power cut could leave, at every disk operation of many workloads.
import assert from "node:assert/strict";
import { test } from "node:test";
import { forEveryCrashPoint } from "../src/testing/crash-points.ts";
import type { SimulatedDisk } from "../src/testing/simulated-disk.ts";
import {
  after,
  checkLeft,
  checkState,
  emptyModel,
  type Model,
  openOn,
  perform,
  type Step,
  stateOf,
  stepsOf,
} from "./storage-workload.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";

/** What the process had been told when it died. */
interface Told {
  readonly stored: Model;
  readonly underWay: Step | undefined;
}

let checked = 0;

function crashRun(steps: readonly Step[]) {
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

// Thousands of failed calls are part of the method: their stacks are what costs.
Error.stackTraceLimit = 2;

const workloads = isFull ? 300 : 7;
test(`nothing stored is lost, none half, none invented: power cut at every disk operation of ${workloads} workloads`, async (t) => {
  let points = 0;
  let images = 0;
  for (let seed = 1; seed <= workloads; seed++) {
    const counts = await forEveryCrashPoint({
      ...crashRun(stepsOf(seed, 6)),
      images: { seed, maxImages: isFull ? 120 : 60 },
    }).catch((cause) => {
      throw new Error(`workload ${seed}: ${JSON.stringify(stepsOf(seed, 6))}`, { cause });
    });
    points += counts.points;
    images += counts.images;
  }
  t.diagnostic(`${images} crash images from ${points} crash points`);
  assert.ok(points >= (isFull ? 8_000 : 150), `${points} points`);
  assert.ok(images >= (isFull ? 100_000 : 1_000), `${images} images`);
});

const twice = isFull ? 24 : 2;
test(`nothing stored is lost when the recovery is cut too: ${twice} workloads, two cuts in a row`, async (t) => {
  let images = 0;
  for (let seed = 1; seed <= twice; seed++) {
    const steps = stepsOf(seed + 1_000, 3);
    const counts = await forEveryCrashPoint({
      ...crashRun(steps),
      async check(image: SimulatedDisk, promised: readonly Told[], promise: (told: Told) => void) {
        // The recovery promises what held before it: a second cut may not take more.
        const told = promised.at(-1) ?? { stored: emptyModel, underWay: undefined };
        promise(told);
        const opened = await openOn(image);
        const found = await stateOf(opened);
        const allowed = [
          told.stored,
          ...(told.underWay ? [after(told.stored, told.underWay)] : []),
        ];
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
  t.diagnostic(`${images} crash images`);
});

test("kill -9 at every disk operation leaves everything stored", async (t) => {
  let points = 0;
  for (let seed = 1; seed <= (isFull ? 80 : 8); seed++) {
    const counts = await forEveryCrashPoint({
      ...crashRun(stepsOf(seed + 500, 8)),
      cut: "process",
    });
    points += counts.points;
  }
  t.diagnostic(`${points} kill points`);
});
