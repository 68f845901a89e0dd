// Which seeded bugs a run tries: all of them take half an hour.
import { spawnSync } from "node:child_process";
import type { SeededBug } from "./seeded-bugs.ts";

/** The bugs in changed modules or with changed tests, and a twentieth of all: another one each day. */
export function chooseBugs(
  bugs: readonly SeededBug[],
  changed: ReadonlySet<string>,
  day: number,
): readonly SeededBug[] {
  return bugs.filter(
    ({ file, test }, i) => changed.has(file) || changed.has(test) || (i + day) % 20 === 0,
  );
}

/** Lists the files that differ from the parent commit. @returns undefined if git knows no parent. */
export function changedFiles(root: string): ReadonlySet<string> | undefined {
  const args = ["diff", "--name-only", "--no-renames", "HEAD^"];
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? new Set(stdout.split("\n")) : undefined;
}
