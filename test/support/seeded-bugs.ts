// Safeguards, each with the edit that takes it away and the test that must turn red then. A new
// safeguard adds its entry to the `.bugs.json` beside its module. Without a `test` that is the test beside
// it. Kept by hand: mutation testing does not know which calls are safeguards.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface SeededBug {
  readonly id: string;
  readonly file: string;
  /** Text that is in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  readonly test: string;
  /** A pattern of the names of the tests that are run; all tests of the file when absent. */
  readonly named?: string;
  /** Only the full size of the test sees it. */
  readonly isFull?: true;
}

/** `x.bugs.json` has the bugs of the `x.ts` beside it. */
function bugsBesideModules(): readonly SeededBug[] {
  const root = join(import.meta.dirname, "../..");
  return globSync("src/**/*.bugs.json", { cwd: root })
    .toSorted()
    .flatMap((path) => {
      const own = path.slice(0, -".bugs.json".length);
      const text = readFileSync(join(root, path), "utf8");
      const bugs = JSON.parse(text) as (Omit<SeededBug, "file" | "test"> & { test?: string })[];
      return bugs.map((bug) => ({
        ...bug,
        file: `${own}.ts`,
        test: bug.test ?? `${own}.test.ts`,
      }));
    });
}

export const seededBugs = bugsBesideModules();
