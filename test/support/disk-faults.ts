// A workload on a disk of which calls fail: every step says what became of it; afterwards the storage,
// and every disk that a power cut could leave, agrees.
import assert from "node:assert/strict";
import { isThroughlineError } from "../../src/core/errors.ts";
import { crashImages } from "./crash-images.ts";
import { type DiskFault, faultyDisk } from "./faulty-disk.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import {
  after,
  afterDeathIn,
  checkLeft,
  emptyModel,
  type Model,
  type Opened,
  openOn,
  perform,
  type Step,
  stateOf,
} from "./storage-workload.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";

/** What is done, on which disk, with how small a journal. */
export interface Scene {
  readonly says: string;
  readonly steps: readonly Step[];
  readonly segmentBytes: number;
  /** What was there before, and what of it is stored. */
  readonly start: () => Promise<{ readonly disk: SimulatedDisk; readonly stored: Model }>;
}

const emptyDisk = async () => ({ disk: new SimulatedDisk(), stored: emptyModel });

const steps: readonly Step[] = [
  { do: "append", key: "a", batch: ["m1", "m2"] },
  { do: "append", key: "a", batch: ["m3"] },
  { do: "write", key: "state", value: 1 },
  { do: "append", key: "b", batch: ["m4"] },
  { do: "write", key: "state", value: 2 },
  { do: "erase", key: "a", id: "m2" },
  { do: "append", key: "a", batch: ["m5", "m6", "m7"] },
  { do: "delete", key: "b" },
  { do: "reopen" },
  { do: "append", key: "a", batch: ["m8"] },
  { do: "append", key: "b", batch: ["m9"] },
];

/** Each append fills a segment: they are freed and used again all the time. */
const appends: readonly Step[] = [
  ...[1, 2, 3, 4, 5, 6, 7].map((n): Step => ({ do: "append", key: "a", batch: [`f${n}`] })),
  { do: "append", key: "b", batch: ["g1", "g2", "g3"] },
  { do: "erase", key: "a", id: "f2" },
  { do: "append", key: "a", batch: ["f8"] },
];

/** A disk after a power cut that took all that was not synced: the journal has more than the logs. */
async function leftByCut() {
  const disk = new SimulatedDisk();
  const opened = await openOn(disk, "power-cut", undefined, 256, undefined, undefined, 2_048);
  const before: readonly Step[] = [
    { do: "append", key: "a", batch: ["p1", "p2"] },
    { do: "append", key: "b", batch: ["p3"] },
    { do: "append", key: "a", batch: ["p4", "p5", "p6"] },
    { do: "append", key: "c", batch: ["p7"] },
  ];
  for (const step of before) await perform(opened, step);
  const images = [...crashImages(disk, { maxImages: 16 })];
  const stored = before.reduce(after, emptyModel);
  const lost = images.find(({ label }) => label.includes("jsonl lost"));
  return { disk: lost ?? assert.fail(images.map(({ label }) => label).join("\n")), stored };
}

export const scenes: Readonly<Record<"plain" | "small" | "cut", Scene>> = {
  plain: { says: "", steps, segmentBytes: 2_048, start: emptyDisk },
  small: { says: ", as segments are freed", steps: appends, segmentBytes: 600, start: emptyDisk },
  cut: {
    says: ", of a start after a power cut",
    steps: [
      { do: "append", key: "a", batch: ["q1"] },
      { do: "append", key: "c", batch: ["q2"] },
      { do: "reopen" },
    ],
    segmentBytes: 600,
    start: leftByCut,
  },
};

/** Runs the steps of a scene on a disk that fails. @returns everything that may be there afterwards. */
async function runFaulty({ steps, segmentBytes, start }: Scene, faults: readonly DiskFault[]) {
  const { disk: inner, stored } = await start();
  const disk = faultyDisk(inner, faults);
  const open = () => openOn(disk, "power-cut", undefined, 256, undefined, undefined, segmentBytes);
  let possible: readonly Model[] = [stored];
  let refusals = 0;
  let opened: Opened | undefined;
  for (const step of steps) {
    try {
      if (step.do === "reopen") {
        const closing = opened;
        opened = undefined;
        await closing?.storage.close();
      }
      opened ??= await open();
      await perform(opened, step);
      possible = possible.map((model) => after(model, step));
    } catch (error) {
      if (!isThroughlineError(error)) {
        // Only closing may say what the disk said: whatever was stored had been stored before.
        assert.equal(step.do, "reopen", String(error));
      } else if (error.code === "THROUGHLINE_OUTCOME_UNKNOWN") {
        possible = [...possible, ...possible.map((model) => after(model, step))];
      } else {
        assert.match(error.code, /UNAVAILABLE|CONFIGURATION/, String(error));
        refusals++;
      }
    }
  }
  const { broke, failures } = disk;
  disk.heal();
  opened ??= await open();
  return { opened, inner, possible, broke, failures, refusals };
}

/** Whether one of the models is what is there; erasing and deleting may have been done in part. */
async function assertOneOf(
  opened: Opened,
  possible: readonly Model[],
  what: string,
): Promise<Model> {
  const found = await stateOf(opened);
  const match = possible.find((model) => JSON.stringify(model) === JSON.stringify(found));
  if (match === undefined) assert.deepEqual(found, possible[0], what);
  return found;
}

/** @returns whether a call failed, so that there may be more of them; and how many steps were refused. */
export async function checkFault(
  faults: readonly DiskFault[],
  what: string,
  scene: Scene = scenes.plain,
): Promise<{ readonly broke: boolean; readonly refusals: number }> {
  const run = await runFaulty(scene, faults).catch((cause) => {
    throw new Error(what, { cause });
  });
  const { opened, possible, broke, failures, refusals } = run;
  const found = await assertOneOf(opened, possible, what);
  // Works again once the fault is gone, without a restart.
  await checkLeft(opened, afterDeathIn(found, undefined));
  await opened.storage.close();
  if (failures === 0) return { broke: false, refusals };
  // And what was promised since then is on the disk, whatever the cache says.
  const again = await runFaulty(scene, faults);
  for (const image of crashImages(again.inner, { maxImages: isFull ? 8 : 3 })) {
    const left = await openOn(image);
    await assertOneOf(left, again.possible, `${what}, then a power cut`);
    await left.storage.close();
  }
  return { broke, refusals };
}

/** What is stored is there, whatever failed. @returns how many calls did. */
export async function countFailures(faults: readonly DiskFault[], what: string): Promise<number> {
  const { opened, possible, failures } = await runFaulty(scenes.plain, faults);
  await assertOneOf(opened, possible, what);
  return failures;
}
