import { type CrashImageOptions, crashImages, processDeathImage } from "./crash-images.ts";
import { imageDigest } from "./image-digest.ts";
import type { NameTree } from "./name-tree.ts";
import { type DiskOperation, describeOperation, SimulatedDisk } from "./simulated-disk.ts";

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
  /**
   * Given when scenario and check use nothing but the disk, and the check nothing but what was promised.
   * Then the scenario runs once, with the disk noted before every operation, and a disk that was checked
   * under the same promises is not checked again. Each digest of a disk that was checked is put there.
   */
  readonly digests?: Set<string>;
}

/**
 * `points`: where the process died, plus one for each run's end. `images`: disks checked, which can be
 * equal to each other when no digests are asked for.
 */
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
  await cutEverywhere({ ...run, seen: new Seen() }, [], counts);
  return counts;
}

type Counts = { -readonly [name in keyof CrashCounts]: CrashCounts[name] };
type Run<P> = CrashRun<P> & { readonly seen: Seen };

/** A moment at which the process died, or its end. */
interface Moment<P> {
  readonly tree: NameTree;
  readonly promised: readonly P[];
  /** How many operations were done. */
  readonly done: number;
  readonly before: DiskOperation | undefined;
  /** Half of the operation was done too, and only the process died. */
  readonly isHalf: boolean;
}

async function cutEverywhere<P>(run: Run<P>, before: readonly P[], counts: Counts): Promise<void> {
  const moments = run.digests === undefined ? repeated(run, before) : recorded(run, before);
  for await (const moment of moments) await checkImages(run, moment, counts);
}

/** Runs the scenario again for every moment: it really ends there. */
async function* repeated<P>(run: Run<P>, before: readonly P[]): AsyncGenerator<Moment<P>, void> {
  const start = run.start ?? new SimulatedDisk();
  const die = async (disk: SimulatedDisk, isHalf: boolean): Promise<Moment<P>> => {
    const promised = [...before];
    const promise: PromiseStored<P> = (what) => {
      if (disk.stoppedBefore === undefined) promised.push(what);
    };
    await disk.run(() => run.scenario(disk, promise));
    const { tree, operations, stoppedBefore } = disk;
    return { tree, promised, done: operations.length, before: stoppedBefore, isHalf };
  };
  const whole = processDeathImage(start);
  yield await die(whole, false);
  for (let stopAt = 1; stopAt <= whole.operations.length; stopAt++) {
    if (whole.operations[stopAt - 1]?.changes === false) continue;
    const moment = await die(processDeathImage(start, { stopAt }), false);
    if (moment.before === undefined) return;
    yield moment;
    if (moment.before.call !== "write") continue;
    yield await die(processDeathImage(start, { stopAt, half: true }), true);
  }
}

/** Runs the scenario once, and notes what the disk is before each operation. */
async function* recorded<P>(run: Run<P>, before: readonly P[]): AsyncGenerator<Moment<P>, void> {
  const promised = [...before];
  const notes: (Omit<Moment<P>, "promised"> & { readonly told: number })[] = [];
  const disk: SimulatedDisk = processDeathImage(run.start ?? new SimulatedDisk(), {
    watch(operation, half) {
      if (!operation.changes) return;
      const note = { told: promised.length, done: disk.operations.length, before: operation };
      notes.push({ ...note, tree: disk.tree.copy(), isHalf: false });
      if (half && operation.call === "write") notes.push({ ...note, tree: half(), isHalf: true });
    },
  });
  await run.scenario(disk, (what) => promised.push(what));
  const { tree, operations } = disk;
  yield { tree, promised, done: operations.length, before: undefined, isHalf: false };
  for (const { told, ...note } of notes) yield { ...note, promised: promised.slice(0, told) };
}

async function checkImages<P>(run: Run<P>, moment: Moment<P>, counts: Counts): Promise<void> {
  counts.points++;
  const seed = (run.images?.seed ?? 1) * 65_537 + moment.done;
  const isDeath = run.cut === "process" || moment.isHalf;
  const images = isDeath
    ? [processDeathImage(moment)]
    : crashImages(moment, { ...run.images, seed });
  for (const image of images) {
    if (!run.seen.isNew(run, image, moment.promised)) continue;
    counts.images++;
    try {
      await checkImage(run, image, moment.promised, counts);
    } catch (error) {
      throw new Error(`${describeCut(moment)} left [${image.label}]`, { cause: error });
    }
  }
}

/** What was checked already. */
class Seen {
  readonly #checked = new Set<string>();
  readonly #promises = new Map<unknown, number>();

  isNew<P>({ digests, depth }: CrashRun<P>, { tree }: SimulatedDisk, promised: readonly P[]) {
    if (digests === undefined) return true;
    const digest = imageDigest(tree);
    digests.add(digest);
    const ids = promised.map((what) => {
      const id = this.#promises.get(what) ?? this.#promises.size;
      this.#promises.set(what, id);
      return id;
    });
    const key = `${digest} ${depth} ${ids.join()}`;
    if (this.#checked.has(key)) return false;
    this.#checked.add(key);
    return true;
  }
}

async function checkImage<P>(
  run: Run<P>,
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

function describeCut<P>({ before, done, isHalf }: Moment<P>): string {
  if (before === undefined) return "The end of the run";
  const when = isHalf ? "within" : "before";
  return `A cut ${when} operation ${done + 1} (${describeOperation(before)})`;
}
