// How the processes of tests are run: with a folder of their own to write to, in which nothing may be left.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What browsers and their drivers leave when they are killed is none of ours. */
const foreign = /^\.|^playwright|^puppeteer|chrom/i;

/**
 * Runs a program of tests that take a new folder for the machine's own of temporary files, and removes it.
 * `THROUGHLINE_SCRATCH` is that folder for what several processes of a run share: names that begin with a
 * dot are not left behind.
 *
 * @returns the status that they ended with; 1 when they left something behind.
 */
export function inScratch(
  args: readonly string[],
  more: NodeJS.ProcessEnv = {},
  program = process.execPath,
): number {
  const folder = mkdtempSync(join(tmpdir(), "throughline-test-"));
  chmodSync(folder, 0o1777); // as /tmp: some processes are another user's
  const env = {
    ...process.env,
    NO_COLOR: "1",
    THROUGHLINE_BUILT: "1",
    NODE_COMPILE_CACHE: "node_modules/.cache/throughline",
    TMPDIR: folder,
    THROUGHLINE_SCRATCH: folder,
    ...more,
  };
  try {
    const status = spawnSync(program, args, { stdio: "inherit", env }).status ?? 1;
    const left = readdirSync(folder).filter((name) => !foreign.test(name));
    if (status !== 0 || left.length === 0) return status;
    console.error(`Tests left behind what they wrote: ${left.slice(0, 20).join(", ")}`);
    return 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs one part of many, and says on stderr how long it took: the last line on stdout is the test runner's. */
export function inTime(name: string, run: () => number): number {
  console.log(name);
  const started = performance.now();
  const status = run();
  const seconds = Math.round((performance.now() - started) / 1000);
  console.error(`${name} took ${seconds} s${status === 0 ? "" : ", and failed"}`);
  return status;
}
