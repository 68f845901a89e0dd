// A workload on a disk of which calls fail: every step says what became of it; afterwards the storage,
// and every disk that a power cut could leave, agrees.
import assert from "node:assert/strict";
import type { Durability } from "../../src/core/storage/storage.ts";
import { crashImages } from "./crash-images.ts";
import { type DiskFault, faultyDisk } from "./faulty-disk.ts";
import { assertWholeLines, fileWith } from "./image-digest.ts";
import { allowedBy, forgottenIn, Ledger, nothingTold, type Told } from "./ledger.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import {
  type Act,
  checkLeft,
  checkState,
  type Opened,
  openOn,
  type Step,
  wordsOf,
} from "./storage-workload.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";

/** What is done, on which disk, with how small a journal. */
export interface Scene {
  readonly says: string;
  readonly steps: readonly Step[];
  readonly segmentBytes: number;
  /** @default "power-cut" */
  readonly durability?: Durability;
  /** What was there before, and what of it is stored. */
  readonly start: () => Promise<{ readonly disk: SimulatedDisk; readonly told: Told }>;
}

const emptyDisk = async () => ({ disk: new SimulatedDisk(), told: nothingTold });

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
  const opened = await openOn(disk);
  const before: readonly Step[] = [
    { do: "append", key: "a", batch: ["p1", "p2"] },
    { do: "append", key: "b", batch: ["p3"] },
    { do: "append", key: "a", batch: ["p4", "p5", "p6"] },
    { do: "append", key: "c", batch: ["p7"] },
  ];
  const ledger = new Ledger();
  for (const step of before) await ledger.perform(opened, step);
  const images = [...crashImages(disk, { maxImages: 16 })];
  const lost = images.find(({ label }) => label.includes("jsonl lost"));
  const { told } = ledger;
  return { disk: lost ?? assert.fail(images.map(({ label }) => label).join("\n")), told };
}

/** The journal is emptied for two logs at once while a third is appended to. */
const races: readonly Step[] = [
  { do: "append", key: "b", batch: ["r1", "r2", "r3"] },
  { do: "append", key: "c", batch: ["r4", "r5"] },
  {
    do: "together",
    queues: [
      ["r6", "r7", "r8"].map((id) => ({ do: "append", key: "a", batch: [id] })),
      [
        { do: "delete", key: "b" },
        { do: "append", key: "b", batch: ["r9"] },
      ],
      [
        { do: "append", key: "c", batch: ["s1"] },
        { do: "erase", key: "c", id: "r4" },
        { do: "append", key: "c", batch: ["s2"] },
      ],
    ],
  },
  { do: "append", key: "a", batch: ["s3", "s4"] },
];

const burst = (key: string, name: string, count: number) =>
  Array.from({ length: count }, (_, n): Act => ({ do: "append", key, batch: [`${name}${n}`] }));

/** Several appends to one log are under way, so that one that fails takes back those on top of it. */
const bursts: readonly Step[] = [
  { do: "together", queues: [burst("a", "t", 5), burst("b", "u", 1)], apart: 9 },
  { do: "append", key: "a", batch: ["v1", "v2"] },
  {
    do: "together",
    queues: [burst("a", "w", 4), [...burst("b", "x", 2), { do: "delete", key: "b" }]],
  },
  { do: "together", queues: [burst("a", "s", 6)], apart: 3 },
  { do: "reopen" },
  { do: "together", queues: [burst("a", "y", 3), burst("b", "z", 3)], apart: 20 },
];

export const scenes: Readonly<
  Record<"plain" | "small" | "races" | "bursts" | "unsynced" | "cut", Scene>
> = {
  plain: { says: "", steps, segmentBytes: 2_048, start: emptyDisk },
  small: { says: ", as segments are freed", steps: appends, segmentBytes: 600, start: emptyDisk },
  races: {
    says: ", as logs are forgotten at once",
    steps: races,
    segmentBytes: 1_200,
    start: emptyDisk,
  },
  bursts: {
    says: ", of several appends to one log under way",
    steps: bursts,
    segmentBytes: 1_200,
    start: emptyDisk,
  },
  unsynced: {
    says: ", of several appends to one log under way without syncs",
    steps: bursts,
    segmentBytes: 1_200,
    durability: "process",
    start: emptyDisk,
  },
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

/** Runs the steps of a scene on a disk that fails. */
async function runFaulty(
  { steps, segmentBytes, start, durability = "power-cut" }: Scene,
  faults: readonly DiskFault[],
) {
  const { disk: inner, told } = await start();
  const disk = faultyDisk(inner, faults);
  const open = () => openOn(disk, { durability, segmentBytes });
  const ledger = new Ledger(() => disk.failures > 0, undefined, told);
  let opened: Opened | undefined;
  for (const step of steps) {
    if (step.do === "reopen") {
      const closing = opened;
      opened = undefined;
      // Closing may say what the disk said: whatever was stored had been stored before.
      await closing?.storage.close().catch(() => undefined);
    }
    try {
      opened ??= await open();
    } catch (error) {
      ledger.refuse(step, error);
      continue;
    }
    await ledger.perform(opened, step);
  }
  const { broke, failures } = disk;
  disk.heal();
  opened ??= await open();
  await ledger.settleDeletions(opened);
  return { opened, inner, ledger, broke, failures };
}

/** Whether a storage on this disk holds what may be there, and no file what was forgotten. */
async function check(opened: Opened, { told }: Ledger, { tree }: SimulatedDisk): Promise<void> {
  await checkState(opened, allowedBy(told));
  assertWholeLines(tree);
  const words = forgottenIn(told).map(wordsOf);
  assert.equal(fileWith(tree, words), undefined, "forgotten words are in a file");
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
  const { opened, inner, ledger, broke, failures } = run;
  const { refusals } = ledger;
  await check(opened, ledger, inner).catch((cause) => {
    throw new Error(what, { cause });
  });
  // Works again once the fault is gone, without a restart.
  await checkLeft(opened, allowedBy(ledger.told));
  await opened.storage.close();
  if (failures === 0) return { broke: false, refusals };
  if (scene.durability === "process") return { broke, refusals };
  // And what was promised since then is on the disk, whatever the cache says.
  const again = await runFaulty(scene, faults);
  for (const image of crashImages(again.inner, { maxImages: isFull ? 8 : 3 })) {
    const left = await openOn(image);
    await check(left, again.ledger, image).catch((cause) => {
      throw new Error(`${what}, then a power cut: ${image.label}`, { cause });
    });
    await left.storage.close();
  }
  return { broke, refusals };
}

/** What is stored is there, whatever failed. @returns how many calls did. */
export async function countFailures(faults: readonly DiskFault[]): Promise<number> {
  const { opened, ledger, failures } = await runFaulty(scenes.plain, faults);
  await checkState(opened, allowedBy(ledger.told));
  return failures;
}
