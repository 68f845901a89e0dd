import { type Random, seededRandom } from "../../src/testing/random.ts";
import { FileNode } from "./file-node.ts";
import { DirectoryNode, type Names, NameTree, type TreeNode } from "./name-tree.ts";
import { SimulatedDisk, type SimulatedDiskOptions } from "./simulated-disk.ts";
import { type DataVariant, type Fate, sample, UnsyncedData } from "./unsynced-data.ts";
import { type NameState, UnsyncedNames } from "./unsynced-names.ts";

// Method, after SQLite's crash tests: whatever was not synced may be there or not, in any
// combination. First come the systematic images: each possible set of names with all unsynced data
// kept, lost, zeroed or garbage (half of the bound); then all names, and one file broken at a
// sector or between two writes (a quarter); then seeded mixtures of it all. Where there are more
// than the bound has room for, the seed chooses. What would give the same files with the same data
// again is left out.

export interface CrashImageOptions {
  /** Decides garbage, mixtures, and what is left out at the bound. @default 1 */
  readonly seed?: number;
  /** Never more images than this, from 1. @default 64 */
  readonly maxImages?: number;
  /** The sizes in bytes at which writes are torn. @default [64, 512, 4096] */
  readonly sectorSizes?: readonly number[];
}

const defaults = {
  seed: 1,
  maxImages: 64,
  sectorSizes: [64, 512, 4096],
} as const satisfies Required<CrashImageOptions>;

/** So many of the images with one fate for all data come first, if the bound is twice as much. */
const alwaysFirst = 8;
const fates: readonly Fate[] = ["kept", "lost", "zeroed", "garbage"];

/** What a power cut left of the names, and of each file with unsynced data. */
interface Remains {
  readonly names: NameState;
  readonly data: ReadonlyMap<FileNode, DataVariant>;
}

/**
 * The disks that the kernel could leave after a power cut at this moment, each different and with
 * everything on it durable. The same disk, seed and bound give the same images in the same order.
 * The disk itself must not change while they are taken, and never does by it.
 */
export function* crashImages(
  disk: Pick<SimulatedDisk, "tree">,
  options: CrashImageOptions = {},
): Generator<SimulatedDisk, void> {
  const resolved = resolveOptions(options);
  const seen = new Set<string>();
  for (const remains of allRemains(disk.tree, resolved, () => seen.size)) {
    const key = keyOf(remains);
    if (seen.has(key)) continue;
    seen.add(key);
    yield imageOf(
      disk.tree.root,
      remains.names.namesOf,
      (file) => remains.data.get(file)?.content ?? file.durable,
      { label: labelOf(remains) },
    );
    if (seen.size === resolved.maxImages) return;
  }
}

/** The disk that kill -9 leaves: everything that the kernel was told, as if it were durable. */
export function processDeathImage(
  disk: Pick<SimulatedDisk, "tree">,
  options: SimulatedDiskOptions = {},
): SimulatedDisk {
  return imageOf(
    disk.tree.root,
    (directory) => directory.names,
    (file) => file.content(),
    { label: "what the kernel had", ...options },
  );
}

function resolveOptions(options: CrashImageOptions): Required<CrashImageOptions> {
  const resolved = { ...defaults, ...options };
  if (!Number.isSafeInteger(resolved.maxImages) || resolved.maxImages < 1) {
    throw new TypeError("maxImages must be a whole number from 1");
  }
  if (resolved.sectorSizes.length === 0 || !resolved.sectorSizes.every((bytes) => bytes >= 1)) {
    throw new TypeError("sectorSizes must name one size or more, each from 1");
  }
  return resolved;
}

/** `found` says how many different images came of what was yielded so far. */
function* allRemains(
  tree: NameTree,
  { seed, maxImages, sectorSizes }: Required<CrashImageOptions>,
  found: () => number,
): Generator<Remains> {
  const random = seededRandom(seed);
  const names = new UnsyncedNames(tree);
  const files = new Map<FileNode, UnsyncedData>();
  const unsynced = (state: NameState) => unsyncedIn(state, files, seed);

  const states = names.systematic();
  const whole = states
    .flatMap((state, row) => fates.map((fate, column) => ({ state, fate, rank: row + column })))
    .toSorted((one, other) => one.rank - other.rank);
  const certain = Math.min(alwaysFirst, Math.ceil(maxImages / 2));
  yield* [
    ...whole.slice(0, certain),
    ...sample(whole.slice(certain), maxImages / 2 - certain, random),
  ].map(({ state, fate }) => remainsOf(state, unsynced(state), (data) => data.whole(fate)));

  const [complete] = states;
  if (complete === undefined) return;
  const broken = unsynced(complete).flatMap(([file, data]) => [
    ...data.prefixes().map((variant) => ({ file, variant: () => variant })),
    ...data.tears(sectorSizes, random).map((tear) => ({ file, variant: () => data.torn(tear) })),
  ]);
  for (const { file, variant } of sample(broken, (maxImages * 3) / 4 - found(), random)) {
    const kept = remainsOf(complete, unsynced(complete), (data) => data.whole("kept"));
    yield { names: complete, data: new Map([...kept.data, [file, variant()]]) };
  }

  for (let missing = 2 * (maxImages - found()); missing > 0; missing--) {
    const state = names.mixed(random);
    yield remainsOf(state, unsynced(state), (data) => mixed(data, sectorSizes, random));
  }
}

/** The files with a name and with unsynced data, with what can become of that data. */
function unsyncedIn(
  state: NameState,
  known: Map<FileNode, UnsyncedData>,
  seed: number,
): readonly (readonly [FileNode, UnsyncedData])[] {
  const dirty = [...state.files.keys()].filter((file) => file.unsynced.length > 0);
  return dirty.map((file) => {
    const data = known.get(file) ?? new UnsyncedData(file, seed);
    known.set(file, data);
    return [file, data];
  });
}

function remainsOf(
  names: NameState,
  files: readonly (readonly [FileNode, UnsyncedData])[],
  choose: (data: UnsyncedData) => DataVariant,
): Remains {
  return { names, data: new Map(files.map(([file, data]) => [file, choose(data)])) };
}

function mixed(data: UnsyncedData, sectorSizes: readonly number[], random: Random): DataVariant {
  const fate = fates[random(2 * fates.length)];
  return fate === undefined ? data.mixed(sectorSizes, random) : data.whole(fate);
}

function keyOf({ names, data }: Remains): string {
  const contents = Array.from(data, ([file, { id }]) => `${names.files.get(file)}:${id}`);
  return [names.key, ...contents].join("\n");
}

function labelOf({ names, data }: Remains): string {
  const files = Array.from(data, ([file, { label }]) => `${names.files.get(file)} ${label}`);
  return [names.label, ...files].join("; ");
}

function imageOf(
  root: DirectoryNode,
  namesOf: (directory: DirectoryNode) => Names,
  contentOf: (file: FileNode) => Uint8Array,
  options: SimulatedDiskOptions,
): SimulatedDisk {
  const files = new Map<FileNode, FileNode>(); // two names of one file stay two names of one file
  const copyFile = (file: FileNode): FileNode => {
    const copy = files.get(file) ?? new FileNode(contentOf(file));
    files.set(file, copy);
    return copy;
  };
  const copyDirectory = (directory: DirectoryNode): DirectoryNode =>
    new DirectoryNode(
      Array.from(namesOf(directory), ([name, node]): [string, TreeNode] => [
        name,
        node.kind === "file" ? copyFile(node) : copyDirectory(node),
      ]),
    );
  return new SimulatedDisk(options, new NameTree(copyDirectory(root)));
}
