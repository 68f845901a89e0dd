import assert from "node:assert/strict";
import { hash } from "node:crypto";
import type { FileNode } from "./file-node.ts";
import type { DirectoryNode, NameTree } from "./name-tree.ts";

/** Temporary files and quarantine have names that differ from process to process. */
const ofProcess = /\b\d+x(?=\d)/g;

/**
 * A digest of a disk on which everything is durable: equal for equal names and bytes. Names that only
 * say which process made them count as equal. 96 bits: a million disks have no two alike by chance.
 */
export function imageDigest({ root }: NameTree): string {
  const lines: string[] = [];
  const visit = (directory: DirectoryNode, path: string) => {
    for (const [name, node] of directory.names) {
      const child = `${path}/${name.replace(ofProcess, "#")}`;
      if (node.kind === "directory") {
        lines.push(`${child}/`);
        visit(node, child);
      } else lines.push(`${child} ${hash("sha1", node.content(), "base64")}`);
    }
  };
  visit(root, "");
  return hash("sha1", lines.sort().join("\n"), "base64").slice(0, 16);
}

/** Every file of a tree, with its path. */
function* filesIn(directory: DirectoryNode, path = ""): Generator<readonly [string, FileNode]> {
  for (const [name, node] of directory.names) {
    if (node.kind === "directory") yield* filesIn(node, `${path}/${name}`);
    else yield [`${path}/${name}`, node];
  }
}

/** Whether any file of the tree holds one of these texts. @returns its path. */
export function fileWith(tree: NameTree, texts: readonly Buffer[]): string | undefined {
  if (texts.length === 0) return undefined;
  for (const [path, node] of filesIn(tree.root)) {
    const bytes = node.content();
    const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    if (texts.some((text) => content.includes(text))) return path;
  }
  return undefined;
}

/** Checks that each chat's file is whole lines of JSON. */
export function assertWholeLines(tree: NameTree): void {
  for (const [path, node] of filesIn(tree.root)) {
    if (!/\/chats\/[^/]+\.jsonl$/.test(path)) continue;
    const lines = Buffer.from(node.content()).toString().split("\n");
    assert.equal(lines.pop(), "", `${path} ends in the middle of a line`);
    for (const line of lines) assert.equal(typeof JSON.parse(line), "object", path);
  }
}
