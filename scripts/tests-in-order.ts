// Runs the test files that it is given three at a time, those that take longest first: the runner's own
// command line sorts them. In CI a file that fails is run once more with nothing beside it, and both runs are told:
// on a machine that others load, a starved process says nothing of the program. A test that is skipped in
// CI fails the run, unless its reason is in scripts/allowed-skips.ts. Ends with the runner's own summary.
import { resolve } from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { isAllowedSkip } from "./allowed-skips.ts";
import { removeLeft } from "./scratch.ts";

/** Begun first, so that none of them runs alone at the end. */
const longest = [
  ...["test/full/kill.test.ts", "test/full/power-cut-a.test.ts", "test/full/postgres-cuts.test.ts"],
  ...["test/full/power-cut-b.test.ts", "test/full/postgres-servers.test.ts"],
  ...["test/full/seeded-bugs.test.ts", "test/reset-day.test.ts", "test/bit-rot.test.ts"],
];

/** What was skipped for a reason that CI does not take. */
const refused = new Set<string>();

/** @returns the files in which something failed, and those whose process ended before it told. */
async function runFiles(files: readonly string[], concurrency: number): Promise<readonly string[]> {
  const passed = new Set<string>();
  const died = new Set<string>();
  let isSuccess = false;
  const preloads = ["./scripts/untracked-tests.ts", "./scripts/test-limit.ts"];
  const execArgv = preloads.flatMap((path) => ["--import", path]);
  const told = run({ files, concurrency, execArgv })
    .on("test:summary", ({ file, success }) => {
      if (file === undefined) isSuccess = success;
      else if (success) passed.add(file);
    })
    // A file without tests is told of as a test of its name, and so is one whose process failed.
    .on("test:pass", ({ name, skip }) => {
      passed.add(name);
      if (skip !== undefined && !isAllowedSkip(skip, name)) refused.add(`${name}: ${skip}`);
    })
    .on("test:fail", ({ name }) => died.add(name))
    .compose(spec);
  told.pipe(process.stdout, { end: false });
  await finished(told);
  if (isSuccess) return [];
  const failed = files.filter((file) => died.has(file) || !passed.has(file));
  return failed.length > 0 ? failed : files;
}

const named = process.argv.slice(2);
const first = longest.filter((file) => named.includes(file));
const inOrder = [...first, ...named.filter((file) => !first.includes(file))];
let failed = await runFiles(
  inOrder.map((file) => resolve(file)),
  3,
);
const isCi = process.env["CI"] === "true";
if (failed.length > 0 && isCi) {
  console.log(`Once more, with nothing beside: ${failed.join(" ")}`);
  const scratch = process.env["THROUGHLINE_SCRATCH"];
  if (scratch !== undefined) removeLeft(scratch);
  failed = await runFiles(failed, 1);
}
if (failed.length > 0) process.exitCode = 1;
if (isCi && refused.size > 0) {
  console.error(`Skipped, and not in scripts/allowed-skips.ts:\n  ${[...refused].join("\n  ")}`);
  process.exitCode = 1;
}
