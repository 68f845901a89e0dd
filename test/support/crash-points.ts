import { type CrashImageOptions, crashImages, processDeathImage } from "./crash-images.ts";
import { describeOperation, SimulatedDisk } from "./simulated-disk.ts";

// Method, after SQLite's crash tests: run one scenario again and again; let the process die before
// the first, then the second, then the third disk operation, until a run ends without dying. After
// every run take each disk that the kernel could have left and check it against what was promised.
// The check is a recovery, and a recovery can be cut too: with depth 2 the check of each image is
// the scenario of a second level that begins with that image. A death before an operation that only
// reads leaves what the death before the next one leaves, and is skipped.

/** Notes that a caller was told: this is stored. A process that has died promises nothing. */
export type PromiseStored<P> = (what: P) => void;

export interface CrashRun<P> {
  /** The workload. Makes the same disk calls each time it runs, as far as it gets. */
  readonly scenario: (disk: SimulatedDisk, promise: PromiseStored<P>) => Promise<unknown>;
  /**
   * Opens what a cut left, rejects if it is not as it must be, and may go on to store and promise
   * more. With a depth of 2 it can itself die at any operation, and meets what that left.
   */
  readonly check: (
    image: SimulatedDisk,
    promised: readonly P[],
    promise: PromiseStored<P>,
  ) => Promise<unknown>;
  /** The disk that each run begins with; it is not changed. Default: an empty one. */
  readonly start?: SimulatedDisk;
  /** `"process"`: only the process dies, so there is one image a point. @default "power" */
  readonly cut?: "power" | "process";
  /** The images of the first cut. Each point mixes with its own seed. */
  readonly images?: CrashImageOptions;
  /** How many cuts in a row, from 1. @default 1 */
  readonly depth?: number;
  /** The images of the cuts after the first. @default { maxImages: 8 } */
  readonly laterImages?: CrashImageOptions;
}

/** `points`: where the process died, plus one for each run's end. `images`: disks checked. */
export interface CrashCounts {
  readonly points: number;
  readonly images: number;
}

/**
 * Cuts a scenario at every disk operation, and in the middle of every write, and checks every disk
 * that each cut could leave.
 *
 * @returns how much was checked: compare it with a floor, so that a test cannot become empty.
 * Rejects at the first failing check, which is the `cause`; the message names operation and image.
 */
export async function forEveryCrashPoint<P>(run: CrashRun<P>): Promise<CrashCounts> {
  const counts = { points: 0, images: 0 };
  await cutEverywhere(run, [], counts);
  return counts;
}

type Counts = { -readonly [name in keyof CrashCounts]: CrashCounts[name] };

async function cutEverywhere<P>(
  run: CrashRun<P>,
  before: readonly P[],
  counts: Counts,
): Promise<void> {
  const start = run.start ?? new SimulatedDisk();
  const whole = processDeathImage(start);
  const runOn = async (disk: SimulatedDisk): Promise<readonly P[]> => {
    const promised = [...before];
    const promise: PromiseStored<P> = (what) => {
      if (disk.stoppedBefore === undefined) promised.push(what);
    };
    await disk.run(() => run.scenario(disk, promise));
    return promised;
  };
  await checkImages(run, whole, await runOn(whole), counts);
  for (let stopAt = 1; ; stopAt++) {
    if (whole.operations[stopAt - 1]?.changes === false) continue;
    const disk = processDeathImage(start, { stopAt });
    const promised = await runOn(disk);
    if (disk.stoppedBefore === undefined) return;
    await checkImages(run, disk, promised, counts);
    if (disk.stoppedBefore.call !== "write") continue;
    const halfway = processDeathImage(start, { stopAt, half: true });
    const promisedHalfway = await runOn(halfway);
    await checkImages({ ...run, cut: "process" }, halfway, promisedHalfway, counts, "within");
  }
}

async function checkImages<P>(
  run: CrashRun<P>,
  disk: SimulatedDisk,
  promised: readonly P[],
  counts: Counts,
  when: "before" | "within" = "before",
): Promise<void> {
  counts.points++;
  const seed = (run.images?.seed ?? 1) * 65_537 + disk.operations.length;
  const images =
    run.cut === "process" ? [processDeathImage(disk)] : crashImages(disk, { ...run.images, seed });
  for (const image of images) {
    counts.images++;
    try {
      await checkImage(run, image, promised, counts);
    } catch (error) {
      throw new Error(`${describeCut(disk, when)} left [${image.label}]`, { cause: error });
    }
  }
}

async function checkImage<P>(
  run: CrashRun<P>,
  image: SimulatedDisk,
  promised: readonly P[],
  counts: Counts,
): Promise<void> {
  const { depth = 1, laterImages = { maxImages: 8 } } = run;
  if (depth <= 1) {
    await run.check(image, promised, () => {});
    return;
  }
  const scenario: CrashRun<P>["scenario"] = (disk, promise) => run.check(disk, promised, promise);
  const again = { ...run, scenario, start: image, depth: depth - 1, images: laterImages };
  await cutEverywhere(again, promised, counts);
}

function describeCut({ stoppedBefore, operations }: SimulatedDisk, when: string): string {
  if (stoppedBefore === undefined) return "The end of the run";
  const number = operations.length + 1;
  return `A cut ${when} operation ${number} (${describeOperation(stoppedBefore)})`;
}
