// Runs the test files that it is given three at a time, in that order: the runner's own command line
// sorts them. In CI a file that fails is run once more with nothing beside it, and both runs are told:
// on a machine that others load, a starved process says nothing of the program. Ends with the runner's
// own summary.
import { resolve } from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";

/** @returns the files in which something failed. */
async function runFiles(files: readonly string[], concurrency: number): Promise<readonly string[]> {
  const failed = new Set<string>();
  let isSuccess = false;
  const execArgv = ["--import", "./scripts/untracked-tests.ts"];
  const told = run({ files, concurrency, execArgv })
    .on("test:summary", ({ file, success }) => {
      if (file === undefined) isSuccess = success;
      else if (!success) failed.add(file);
    })
    // A file whose process died fails as a test of its name.
    .on("test:fail", ({ name }) => files.includes(name) && failed.add(name))
    .compose(spec);
  told.pipe(process.stdout, { end: false });
  await finished(told);
  return isSuccess || failed.size > 0 ? [...failed] : files;
}

let failed = await runFiles(
  process.argv.slice(2).map((file) => resolve(file)),
  3,
);
if (failed.length > 0 && process.env["CI"] === "true") {
  console.log(`Once more, with nothing beside: ${failed.join(" ")}`);
  failed = await runFiles(failed, 1);
}
if (failed.length > 0) process.exitCode = 1;
