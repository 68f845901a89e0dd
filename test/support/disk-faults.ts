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

/** Runs the steps on a disk that fails. @returns everything that may be there afterwards. */
async function runFaulty(inner: SimulatedDisk, faults: readonly DiskFault[]) {
  const disk = faultyDisk(inner, faults);
  let possible: readonly Model[] = [emptyModel];
  let opened: Opened | undefined;
  for (const step of steps) {
    try {
      if (step.do === "reopen") {
        const closing = opened;
        opened = undefined;
        await closing?.storage.close();
      }
      opened ??= await openOn(disk);
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
      }
    }
  }
  const { broke, failures } = disk;
  disk.heal();
  opened ??= await openOn(disk);
  return { opened, possible, broke, failures };
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

/** @returns whether a call failed: there may be more of them. */
export async function checkFault(faults: readonly DiskFault[], what: string): Promise<boolean> {
  const inner = new SimulatedDisk();
  const { opened, possible, broke, failures } = await runFaulty(inner, faults).catch((cause) => {
    throw new Error(what, { cause });
  });
  const found = await assertOneOf(opened, possible, what);
  // Works again once the fault is gone, without a restart.
  await checkLeft(opened, afterDeathIn(found, undefined));
  await opened.storage.close();
  if (failures === 0) return false;
  // And what was promised meanwhile is on the disk, whatever the cache says.
  const cut = new SimulatedDisk();
  const again = await runFaulty(cut, faults);
  for (const image of crashImages(cut, { maxImages: isFull ? 8 : 3 })) {
    const left = await openOn(image);
    await assertOneOf(left, again.possible, `${what}, then a power cut`);
    await left.storage.close();
  }
  return broke;
}

/** What is stored is there, whatever failed. @returns how many calls did. */
export async function countFailures(faults: readonly DiskFault[], what: string): Promise<number> {
  const { opened, possible, failures } = await runFaulty(new SimulatedDisk(), faults);
  await assertOneOf(opened, possible, what);
  return failures;
}
