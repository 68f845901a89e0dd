// Method: run a workload again and again; make the first, then the second, then the third disk call
// fail, with every errno, once and for ever, until a run ends with nothing failing. Every step says
// what became of it; afterwards the storage, and every disk that a power cut could leave, agrees.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isThroughlineError } from "../src/errors.ts";
import { crashImages } from "../src/testing/crash-images.ts";
import { type DiskFault, diskErrors, faultyDisk } from "../src/testing/faulty-disk.ts";
import { SimulatedDisk } from "../src/testing/simulated-disk.ts";
import {
  after,
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

async function checkFault(faults: readonly DiskFault[], what: string): Promise<boolean> {
  const inner = new SimulatedDisk();
  const { opened, possible, broke, failures } = await runFaulty(inner, faults).catch((cause) => {
    throw new Error(what, { cause });
  });
  const found = await assertOneOf(opened, possible, what);
  // Works again once the fault is gone, without a restart.
  await checkLeft(opened, found, undefined);
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

const shorts = [{ fault: "short" as const }];
const faults: readonly Omit<DiskFault, "at">[] = [
  ...diskErrors.map((fault) => ({ fault })),
  ...shorts,
];
const extents = isFull ? (["nothing", "half", "all"] as const) : (["nothing", "half"] as const);
const repeats = isFull ? (["once", "forever"] as const) : (["once"] as const);
/** Without the full size, every call is failed, with the errors taking turns. */
const stride = isFull ? 1 : 11;

let cases = 0;
for (const [nth, fault] of faults.entries()) {
  for (const repeat of repeats) {
    // A file that is there and is for ever said not to be: the home is gone. The guard of the lease stops
    // such a process (lease.test.ts); nothing here could tell it from a home that is empty.
    if (fault.fault === "ENOENT" && repeat === "forever") continue;
    for (const does of extents) {
      test(`nothing stored is lost when disk call n fails with ${fault.fault}, ${repeat}, ${does} of it done`, async () => {
        for (let at = 1 + (nth % stride); ; at += stride) {
          cases++;
          const plan = [{ ...fault, at, repeat, does }];
          if (!(await checkFault(plan, `call ${at}: ${JSON.stringify(plan)}`))) break;
        }
      });
    }
  }
}

test("nothing stored is lost when the disk fills up: a short write, then ENOSPC on the rest and the cut", async () => {
  for (let at = 1; ; at++) {
    cases++;
    const plan: readonly DiskFault[] = [
      { fault: "short", at, call: "write" },
      { fault: "ENOSPC", at: at + 1, call: "write", repeat: "forever" },
    ];
    if (!(await checkFault(plan, `write ${at}`))) break;
  }
});

test("nothing stored is lost when a sync fails and the new file cannot be made either", async () => {
  let reached = 0;
  for (let at = 1; at <= 30; at++) {
    cases++;
    const plan: readonly DiskFault[] = [
      { fault: "EIO", at, call: "sync" },
      { fault: "EIO", at: 1, call: ["truncate", "open"], path: /jsonl\.tmp-/ },
    ];
    const { opened, possible, failures } = await runFaulty(new SimulatedDisk(), plan);
    await assertOneOf(opened, possible, `sync ${at}`);
    if (failures === 2) reached++;
  }
  assert.ok(reached >= 5, `${reached}`);
});

test("the cases were many enough", (t) => {
  t.diagnostic(`${cases} cases`);
  assert.ok(cases >= (isFull ? 5_000 : 250), `${cases}`);
});
