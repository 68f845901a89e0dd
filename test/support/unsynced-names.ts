import type { Random } from "../../src/testing/random.ts";
import type { FileNode } from "./file-node.ts";
import {
  apply,
  type DirectoryNode,
  type Names,
  type NameTree,
  type TreeNode,
  withNeeds,
} from "./name-tree.ts";

/** One set of names that a disk can have after a power cut. */
export interface NameState {
  readonly label: string;
  /** Equal for equal names. */
  readonly key: string;
  readonly namesOf: (directory: DirectoryNode) => Names;
  /** The files that have a name, with one of their paths. */
  readonly files: ReadonlyMap<FileNode, string>;
}

const maxChangesForSubsets = 5;

/**
 * The names that a disk can have after a power cut: any of the unsynced changes may be there, each
 * of them whole, but never one without an earlier change of the same entry.
 */
export class UnsyncedNames {
  readonly #tree: NameTree;
  readonly #states = new Map<string, NameState>();
  readonly #ids = new Map<TreeNode, number>();

  constructor(tree: NameTree) {
    this.#tree = tree;
  }

  /** All changes, none, each prefix; with at most 5 changes every possible subset. */
  systematic(): readonly NameState[] {
    const { length } = this.#tree.unsynced;
    const choices = [length, ...Array(length).keys()].map((count) => first(count, length));
    if (length <= maxChangesForSubsets) {
      for (let bits = 1; bits < 1 << length; bits++) {
        choices.push(Array.from({ length }, (_, index) => (bits & (1 << index)) !== 0));
      }
    }
    return [...new Set(choices.map((chosen) => this.#state(chosen)))];
  }

  mixed(random: Random): NameState {
    return this.#state(this.#tree.unsynced.map(() => random(2) === 1));
  }

  /** The state with these changes and what they need. The same object for the same changes. */
  #state(chosen: readonly boolean[]): NameState {
    const changes = this.#tree.unsynced;
    const settled = withNeeds(changes, chosen);
    const label = labelOf(settled);
    const known = this.#states.get(label);
    if (known !== undefined) return known;
    const altered = new Map<DirectoryNode, Map<string, TreeNode>>();
    for (const [index, change] of changes.entries()) {
      if (!settled[index]) continue;
      apply(change, (directory) => {
        const names = altered.get(directory) ?? new Map(directory.durable);
        altered.set(directory, names);
        return names;
      });
    }
    const namesOf = (directory: DirectoryNode) => altered.get(directory) ?? directory.durable;
    const state = { label, namesOf, ...this.#walk(namesOf) };
    this.#states.set(label, state);
    return state;
  }

  #walk(namesOf: NameState["namesOf"]): Pick<NameState, "key" | "files"> {
    const files = new Map<FileNode, string>();
    const lines: string[] = [];
    const visit = (directory: DirectoryNode, path: string) => {
      for (const [name, node] of namesOf(directory)) {
        const child = `${path}/${name}`;
        const id = this.#ids.get(node) ?? this.#ids.size;
        this.#ids.set(node, id);
        lines.push(`${child}=${id}`);
        if (node.kind === "file") files.set(node, child);
        else visit(node, child);
      }
    };
    visit(this.#tree.root, "");
    return { key: lines.sort().join("\n"), files };
  }
}

function first(count: number, length: number): readonly boolean[] {
  return Array.from({ length }, (_, index) => index < count);
}

function labelOf(chosen: readonly boolean[]): string {
  if (chosen.length === 0) return "all names durable";
  return `unsynced names ${chosen.map((one) => (one ? "+" : "-")).join("")}`;
}
