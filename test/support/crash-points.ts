import { type CrashImageOptions, crashImages, processDeathImage } from "./crash-images.ts";
import { imageDigest } from "./image-digest.ts";
import type { NameTree } from "./name-tree.ts";
import { type DiskOperation, describeOperation, SimulatedDisk } from "./simulated-disk.ts";

// Method, after SQLite's crash tests: let the process die before the first, then the second, then the
// third disk operation of a scenario, and at its end. For each death take each disk that the kernel could
// have left and check it against what was promised. A scenario uses nothing but its disk, so it runs once,
// and the disk is noted before every operation.
// The check is a recovery, and a recovery can be cut too: with depth 2 the check of each image is
// the scenario of a second level that begins with that image. A death before an operation that only
// reads leaves what the death before the next one leaves, and is skipped.

/** Notes that a caller was told: this is stored. A process that has died promises nothing. */
export type PromiseStored<P> = (what: P) => void;

export interface CrashRun<P> {
  /** The workload. Uses nothing but the disk. */
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
  /** The disk that the scenario begins with; it is not changed. Default: an empty one. */
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
   * Given when the check uses nothing but the disk and what was promised: then a disk that was checked under
   * the same promises is not checked again. Each digest of a disk that was checked is put there.
   */
  readonly digests?: Set<string>;
}

/**
 * `points`: where the process died, plus one for each scenario's end. `images`: disks checked, which can be
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

/** Runs the scenario, notes what the disk is before each operation, and checks what each cut could leave. */
async function cutEverywhere<P>(run: Run<P>, before: readonly P[], counts: Counts): Promise<void> {
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
  const end = { tree, promised, done: operations.length, before: undefined, isHalf: false };
  await checkImages(run, end, counts);
  for (const { told, ...note } of notes) {
    await checkImages(run, { ...note, promised: promised.slice(0, told) }, counts);
  }
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
