import { hash } from "node:crypto";
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

/** Whether any file of the tree holds one of these texts. @returns its path. */
export function fileWith(tree: NameTree, texts: readonly Buffer[]): string | undefined {
  const visit = (directory: DirectoryNode, path: string): string | undefined => {
    for (const [name, node] of directory.names) {
      const child = `${path}/${name}`;
      if (node.kind === "directory") {
        const found = visit(node, child);
        if (found !== undefined) return found;
      } else {
        const bytes = node.content();
        const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
        if (texts.some((text) => content.includes(text))) return child;
      }
    }
    return undefined;
  };
  return texts.length === 0 ? undefined : visit(tree.root, "");
}
