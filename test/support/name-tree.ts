import { sep } from "node:path";
import type { FilePlace } from "../../src/core/storage/disk/disk.ts";
import { FileNode } from "./file-node.ts";
import { type Errno, systemError } from "./system-error.ts";

export type TreeNode = FileNode | DirectoryNode;
export type Names = ReadonlyMap<string, TreeNode>;

/** A directory: the names that the kernel shows, and those that a power cut cannot take. */
export class DirectoryNode {
  readonly kind = "directory";
  readonly names: Map<string, TreeNode>;
  readonly durable: Map<string, TreeNode>;

  /** A directory whose names are durable. */
  constructor(names: Iterable<readonly [string, TreeNode]> = []) {
    this.names = new Map(names);
    this.durable = new Map(this.names);
  }
}

export interface Entry {
  readonly directory: DirectoryNode;
  readonly name: string;
}

/** A change of names that the kernel knows of and the disk may not. A rename sets and clears. */
export interface NameChange {
  readonly sets: (Entry & { readonly node: TreeNode }) | undefined;
  readonly clears: Entry | undefined;
}

/** Where a path leads: the last directory, the name in it, and what has that name. */
interface Place extends Entry {
  readonly node: TreeNode | undefined;
  /** Every directory on the way, the root first. */
  readonly way: readonly DirectoryNode[];
}

/** The files and directories of a tree that was copied, each once: two names of one file stay two names. */
export class Copies {
  readonly #files = new Map<FileNode, FileNode>();
  readonly #directories = new Map<DirectoryNode, DirectoryNode>();

  file(node: FileNode): FileNode {
    const copy = this.#files.get(node) ?? node.copy();
    this.#files.set(node, copy);
    return copy;
  }

  directory(node: DirectoryNode): DirectoryNode {
    const known = this.#directories.get(node);
    if (known !== undefined) return known;
    const copy = new DirectoryNode();
    this.#directories.set(node, copy);
    for (const [name, child] of node.names) copy.names.set(name, this.node(child));
    for (const [name, child] of node.durable) copy.durable.set(name, this.node(child));
    return copy;
  }

  node(node: TreeNode): TreeNode {
    return node.kind === "file" ? this.file(node) : this.directory(node);
  }

  change({ sets, clears }: NameChange): NameChange {
    return {
      sets: sets && { ...this.entry(sets), node: this.node(sets.node) },
      clears: clears && this.entry(clears),
    };
  }

  entry({ directory, name }: Entry): Entry {
    return { directory: this.directory(directory), name };
  }
}

const separator = sep === "\\" ? /[\\/]/ : "/";
const maxNameBytes = 255; // NAME_MAX of Linux

/** The names of a disk: directories, hard links, and the changes that are not durable yet. */
export class NameTree {
  readonly root: DirectoryNode;
  #unsynced: NameChange[] = [];

  constructor(root: DirectoryNode = new DirectoryNode()) {
    this.root = root;
  }

  /** The same names and data, for a disk that goes another way from here. */
  copy(copies = new Copies()): NameTree {
    const tree = new NameTree(copies.directory(this.root));
    tree.#unsynced = this.#unsynced.map((change) => copies.change(change));
    return tree;
  }

  /** Changes that no sync of their directory made durable, oldest first. */
  get unsynced(): readonly NameChange[] {
    return this.#unsynced;
  }

  /** The file or directory with this path. `ENOENT`, `ENOTDIR`. */
  get(path: string, call: string): TreeNode {
    const { node } = this.#find(path, fail(call, path));
    if (node === undefined) throw fail(call, path)("ENOENT");
    return node;
  }

  /** What a path leads to, compared with this file. */
  placeOf(node: TreeNode, path: string): FilePlace {
    let there: TreeNode | undefined;
    try {
      there = this.#find(path, fail("lstat", path)).node;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    if (there === undefined) return "nothing";
    if (there !== node) return "other";
    return linksIn(this.root, node) === 1 ? "own" : "linked";
  }

  directory(path: string, call: string): DirectoryNode {
    const node = this.get(path, call);
    if (node.kind === "file") throw fail(call, path)("ENOTDIR");
    return node;
  }

  /** A new, empty file. `EEXIST` when the name is taken. */
  create(path: string): FileNode {
    const node = new FileNode();
    this.#add(path, node, fail("open", path));
    return node;
  }

  mkdir(path: string): void {
    this.#add(path, new DirectoryNode(), fail("mkdir", path));
  }

  link(from: string, to: string): void {
    const error = fail("link", from, to);
    const { node } = this.#find(from, error);
    if (node === undefined) throw error("ENOENT");
    const place = this.#find(to, error);
    if (place.node !== undefined) throw error("EEXIST");
    if (node.kind === "directory") throw error("EPERM");
    this.#change({ sets: { ...entry(place), node }, clears: undefined });
  }

  unlink(path: string): void {
    const error = fail("unlink", path);
    const place = this.#find(path, error);
    if (place.node === undefined) throw error("ENOENT");
    if (place.node.kind === "directory") throw error("EISDIR");
    this.#change({ sets: undefined, clears: entry(place) });
  }

  rmdir(path: string): void {
    const error = fail("rmdir", path);
    const place = this.#find(path, error);
    if (place.node === undefined) throw error("ENOENT");
    if (place.node.kind === "file") throw error("ENOTDIR");
    if (place.node === this.root) throw error("EBUSY");
    if (place.node.names.size > 0) throw error("ENOTEMPTY");
    this.#change({ sets: undefined, clears: entry(place) });
  }

  rename(from: string, to: string): void {
    const error = fail("rename", from, to);
    const source = this.#find(from, error);
    const target = this.#find(to, error);
    if (source.node === this.root || target.node === this.root) throw error("EBUSY");
    if (source.node === undefined) throw error("ENOENT");
    if (target.way.some((directory) => directory === source.node)) throw error("EINVAL");
    if (source.way.some((directory) => directory === target.node)) throw error("ENOTEMPTY");
    if (source.node === target.node) return; // two names of one file: both stay
    if (target.node !== undefined) {
      if (target.node.kind !== source.node.kind) {
        throw error(target.node.kind === "directory" ? "EISDIR" : "ENOTDIR");
      }
      if (target.node.kind === "directory" && target.node.names.size > 0) throw error("ENOTEMPTY");
    }
    this.#change({ sets: { ...entry(target), node: source.node }, clears: entry(source) });
  }

  /** Makes the changes in one directory durable, and those that they cannot be without. */
  sync(directory: DirectoryNode): void {
    const settled = withNeeds(
      this.#unsynced,
      this.#unsynced.map(({ sets, clears }) => (sets ?? clears)?.directory === directory),
    );
    const rest: NameChange[] = [];
    for (const [index, change] of this.#unsynced.entries()) {
      if (settled[index]) apply(change, (changing) => changing.durable);
      else rest.push(change);
    }
    this.#unsynced = rest;
  }

  #add(path: string, node: TreeNode, error: Fail): void {
    const place = this.#find(path, error);
    if (place.node !== undefined) throw error("EEXIST");
    this.#change({ sets: { ...entry(place), node }, clears: undefined });
  }

  #change(change: NameChange): void {
    apply(change, (directory) => directory.names);
    this.#unsynced.push(change);
  }

  #find(path: string, error: Fail): Place {
    let node: TreeNode | undefined = this.root;
    let name = "";
    const way: DirectoryNode[] = [];
    for (const part of partsOf(path)) {
      if (node === undefined) throw error("ENOENT");
      if (node.kind === "file") throw error("ENOTDIR");
      if (part.length * 3 > maxNameBytes && Buffer.byteLength(part) > maxNameBytes)
        throw error("ENAMETOOLONG");
      way.push(node);
      name = part;
      node = node.names.get(part);
    }
    return { directory: way.at(-1) ?? this.root, name, node, way };
  }
}

const known = new Map<string, readonly string[]>();

/** The names in a path. Thousands of calls have the same path. */
function partsOf(path: string): readonly string[] {
  const found = known.get(path);
  if (found !== undefined) return found;
  const parts = path.split(separator).filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw new TypeError(`The simulated disk does not go up: ${path}`);
  if (known.size > 10_000) known.clear();
  known.set(path, parts);
  return parts;
}

/** Makes a change in the names that `namesOf` gives for a directory. */
export function apply(
  { sets, clears }: NameChange,
  namesOf: (directory: DirectoryNode) => Map<string, TreeNode>,
): void {
  if (clears !== undefined) namesOf(clears.directory).delete(clears.name);
  if (sets !== undefined) namesOf(sets.directory).set(sets.name, sets.node);
}

/**
 * `chosen`, and every earlier change without which a chosen one makes no sense: one of the same
 * entry, since no file system reorders those, and the making of the directory that a file moves to,
 * since that move would destroy the file.
 */
export function withNeeds(
  changes: readonly NameChange[],
  chosen: readonly boolean[],
): readonly boolean[] {
  const result = [...chosen];
  for (let later = changes.length - 1; later > 0; later--) {
    const change = changes[later];
    if (!result[later] || change === undefined) continue;
    for (const [index, earlier] of changes.slice(0, later).entries()) {
      if (needs(change, earlier)) result[index] = true;
    }
  }
  return result;
}

function needs(later: NameChange, earlier: NameChange): boolean {
  const { sets, clears } = later;
  const moves = clears !== undefined && clears.directory !== sets?.directory;
  if (moves && sets !== undefined && sets.directory === earlier.sets?.node) return true;
  return [sets, clears].some(
    (one) => one !== undefined && (isSame(one, earlier.sets) || isSame(one, earlier.clears)),
  );
}

function linksIn({ names }: DirectoryNode, node: TreeNode): number {
  let links = 0;
  for (const each of names.values()) {
    if (each === node) links++;
    else if (each.kind === "directory") links += linksIn(each, node);
  }
  return links;
}

function isSame(one: Entry, other: Entry | undefined): boolean {
  return one.directory === other?.directory && one.name === other.name;
}

function entry({ directory, name }: Place): Entry {
  return { directory, name };
}

type Fail = (errno: Errno) => Error;

function fail(name: string, path: string, to?: string): Fail {
  return (errno) => systemError(errno, { name, path, ...(to === undefined ? {} : { to }) });
}
