// Where the processes of tests write: a folder for each run, in which nothing may be left.
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What browsers and their drivers leave when they are killed is none of ours. */
const foreign = /^\.|^playwright|^puppeteer|chrom/i;

/** The variables of processes that write there. */
export interface ScratchVariables {
  readonly TMPDIR: string;
  /** For what several processes of a run share: names that begin with a dot are not left behind. */
  readonly THROUGHLINE_SCRATCH: string;
}

/**
 * Runs tests that take a new folder for the machine's own of temporary files, and removes it.
 *
 * @returns the status that they ended with; 1 when they left something behind.
 */
export function inScratch(runTests: (variables: ScratchVariables) => number | null): number {
  const folder = mkdtempSync(join(tmpdir(), "throughline-test-"));
  chmodSync(folder, 0o1777); // as /tmp: some processes are another user's
  try {
    const status = runTests({ TMPDIR: folder, THROUGHLINE_SCRATCH: folder }) ?? 1;
    const left = leftIn(folder);
    if (status !== 0 || left.length === 0) return status;
    console.error(`Tests left behind what they wrote: ${left.slice(0, 20).join(", ")}`);
    return 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function leftIn(folder: string): readonly string[] {
  return readdirSync(folder).filter((name) => !foreign.test(name));
}
