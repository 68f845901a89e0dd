// npm run verify: what CI proves beside `npm test`. The suites that have a full size, at that size, and
// those that need a build, a browser or minutes. Ends with the test runner's own summary.
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { inScratch } from "./scratch.ts";

/** Test files that do more when `THROUGHLINE_FULL` is set. All others have been run by `npm test`. */
const withFullSize = globSync(["src/**/*.test.ts", "test/{,support/,support/s3/}*.test.ts"]).filter(
  (path) => readFileSync(path, "utf8").includes("THROUGHLINE_FULL"),
);

/**
 * One after the other, and nothing beside: they measure time in a browser, and the product without a feature runs
 * many tests at once.
 */
const alone = globSync("test/full/{page-capture*,page-transcript,page-turns,without-*}.test.ts");
const pages = globSync("test/full/{browser,page-*}.test.ts").filter(
  (path) => !alone.includes(path),
);
const others = globSync("test/full/*.test.ts").filter(
  (path) => !alone.includes(path) && !pages.includes(path),
);

/** Begun first, so that none of them runs alone at the end. */
const longest = [
  ...["test/full/kill.test.ts", "test/full/power-cut-a.test.ts", "test/full/postgres-cuts.test.ts"],
  ...["test/full/power-cut-b.test.ts", "test/full/postgres-servers.test.ts"],
  ...["test/full/seeded-bugs.test.ts", "test/reset-day.test.ts", "test/bit-rot.test.ts"],
];

const test = (files: readonly string[]) => [
  ...[process.execPath, "scripts/tests-in-order.ts"],
  ...longest.filter((path) => files.includes(path)),
  ...files.filter((path) => !longest.includes(path)).sort(),
];

const steps = [
  { name: "check", command: ["npm", "run", "--silent", "check"] },
  { name: "build", command: [process.execPath, "scripts/build.ts"] },
  { name: "pages", command: test(pages) },
  ...alone.toSorted().map((path) => ({ name: path, command: test([path]) })),
  { name: "tests at full size", command: test([...withFullSize, ...others]) },
];

const env = {
  ...process.env,
  NO_COLOR: "1",
  THROUGHLINE_FULL: "1",
  THROUGHLINE_BUILT: "1",
  NODE_COMPILE_CACHE: "node_modules/.cache/throughline",
};

for (const { name, command } of steps) {
  const [program = "", ...args] = command;
  console.log(`verify: ${name}`);
  const started = performance.now();
  const status = inScratch((variables) => {
    return spawnSync(program, args, { stdio: "inherit", env: { ...env, ...variables } }).status;
  });
  const seconds = Math.round((performance.now() - started) / 1000);
  // On stderr, so that the last line on stdout is the test runner's.
  console.error(`verify: ${name} took ${seconds} s${status === 0 ? "" : ", and failed"}`);
  if (status !== 0) process.exit(status);
}
