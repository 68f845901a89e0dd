// A workload on a disk of which calls fail: every step says what became of it; afterwards the storage,
// and every disk that a power cut could leave, agrees.
import assert from "node:assert/strict";
import { isThroughlineError } from "../../src/core/errors.ts";
import { crashImages } from "./crash-images.ts";
import { type DiskFault, faultyDisk } from "./faulty-disk.ts";
import { fileWith } from "./image-digest.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import {
  type Allowed,
  after,
  checkLeft,
  checkState,
  emptyModel,
  type LogModel,
  logAfter,
  type Model,
  type Opened,
  openOn,
  perform,
  type Step,
  wordsOf,
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
  const opened = await openOn(disk, "power-cut", undefined, 256, undefined, 2_048);
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

export const scenes: Readonly<Record<"plain" | "small" | "races" | "cut", Scene>> = {
  plain: { says: "", steps, segmentBytes: 2_048, start: emptyDisk },
  small: { says: ", as segments are freed", steps: appends, segmentBytes: 600, start: emptyDisk },
  races: {
    says: ", as logs are forgotten at once",
    steps: races,
    segmentBytes: 1_200,
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
async function runFaulty({ steps, segmentBytes, start }: Scene, faults: readonly DiskFault[]) {
  const { disk: inner, stored } = await start();
  const disk = faultyDisk(inner, faults);
  const open = () => openOn(disk, "power-cut", undefined, 256, undefined, segmentBytes);
  const outcome = new Outcome(stored);
  let opened: Opened | undefined;
  for (const step of steps) {
    try {
      if (step.do === "reopen") {
        const closing = opened;
        opened = undefined;
        await closing?.storage.close();
      }
      opened ??= await open();
    } catch (error) {
      outcome.note(step, error);
      continue;
    }
    if (step.do === "reopen") continue;
    const storage = opened;
    const queues = step.do === "together" ? step.queues : [[step]];
    await Promise.all(
      queues.map(async (acts) => {
        for (const act of acts) {
          const failure = await perform(storage, act).then(() => undefined, asError);
          outcome.note(act, failure);
        }
      }),
    );
  }
  const { broke, failures } = disk;
  disk.heal();
  opened ??= await open();
  for (const key of outcome.perhapsDeleted) {
    await opened.logs.delete(key); // as the error says: a log is refused until that is settled
    outcome.note({ do: "delete", key }, undefined);
  }
  return { opened, inner, outcome, broke, failures };
}

const asError = (error: unknown) => error ?? new Error("nothing was thrown");

/** What the calls said, and so what may be there. */
class Outcome {
  refusals = 0;
  /** Records of logs that were deleted, and erased ones: their words must be nowhere. */
  readonly forgotten = new Set<string>();
  /** Logs of which a deletion said that it is to be repeated. */
  readonly perhapsDeleted = new Set<string>();
  readonly #logs: Record<string, readonly LogModel[]>;
  #documents: readonly (number | undefined)[];
  /** Every record that was ever to be stored, by its log. */
  readonly #said = new Map<string, Set<string>>();

  constructor({ logs, document }: Model) {
    this.#logs = Object.fromEntries(Object.entries(logs).map(([key, log]) => [key, [log]]));
    this.#documents = [document];
    for (const [key, log] of Object.entries(logs)) {
      this.#said.set(key, new Set(log.map(({ id }) => id)));
    }
  }

  get allowed(): Allowed {
    return { logs: this.#logs, documents: this.#documents };
  }

  /** @param error what a step rejected with. `undefined`: it is done. */
  note(step: Step, error: unknown): void {
    const said = "key" in step ? this.#said.get(step.key) : undefined;
    if (step.do === "append") for (const id of step.batch) said?.add(id);
    if (error === undefined) {
      this.#take(step, false);
      if (step.do === "delete") for (const id of said ?? []) this.forgotten.add(id);
      if (step.do === "erase" && said?.has(step.id)) this.forgotten.add(step.id);
    } else if (!isThroughlineError(error)) {
      // Only closing may say what the disk said: whatever was stored had been stored before.
      assert.equal(step.do, "reopen", String(error));
    } else if (error.code === "THROUGHLINE_OUTCOME_UNKNOWN") {
      this.#take(step, true);
      if (step.do === "delete") this.perhapsDeleted.add(step.key);
    } else {
      assert.match(error.code, /UNAVAILABLE|CONFIGURATION/, String(error));
      this.refusals++;
    }
  }

  #take(step: Step, perhaps: boolean): void {
    if (step.do === "append" || step.do === "erase" || step.do === "delete") {
      const states = this.#logs[step.key] ?? [];
      const next = states.map((log) => logAfter(log, step));
      this.#logs[step.key] = perhaps ? [...states, ...next] : next;
    } else if (step.do === "write" || step.do === "forget document") {
      const value = step.do === "write" ? step.value : undefined;
      this.#documents = perhaps ? [...this.#documents, value] : [value];
    }
  }

  /** Whether a storage on this disk holds what may be there, and no file what was forgotten. */
  async check(opened: Opened, { tree }: SimulatedDisk): Promise<void> {
    await checkState(opened, this.allowed);
    const words = [...this.forgotten].map(wordsOf);
    assert.equal(fileWith(tree, words), undefined, "forgotten words are in a file");
  }
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
  const { opened, inner, outcome, broke, failures } = run;
  const { refusals } = outcome;
  await outcome.check(opened, inner).catch((cause) => {
    throw new Error(what, { cause });
  });
  // Works again once the fault is gone, without a restart.
  await checkLeft(opened, outcome.allowed);
  await opened.storage.close();
  if (failures === 0) return { broke: false, refusals };
  // And what was promised since then is on the disk, whatever the cache says.
  const again = await runFaulty(scene, faults);
  for (const image of crashImages(again.inner, { maxImages: isFull ? 8 : 3 })) {
    const left = await openOn(image);
    await again.outcome.check(left, image).catch((cause) => {
      throw new Error(`${what}, then a power cut: ${image.label}`, { cause });
    });
    await left.storage.close();
  }
  return { broke, refusals };
}

/** What is stored is there, whatever failed. @returns how many calls did. */
export async function countFailures(faults: readonly DiskFault[]): Promise<number> {
  const { opened, outcome, failures } = await runFaulty(scenes.plain, faults);
  await checkState(opened, outcome.allowed);
  return failures;
}
