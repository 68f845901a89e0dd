// npm run verify: what CI proves beside `npm test`. The suites that have a full size, at that size, and
// those that need a build, a browser or minutes. Ends with the test runner's own summary.
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";

/** Test files that do more when `THROUGHLINE_FULL` is set. All others have been run by `npm test`. */
const withFullSize = globSync(["src/**/*.test.ts", "test/*.test.ts"]).filter((path) =>
  readFileSync(path, "utf8").includes("THROUGHLINE_FULL"),
);

/** Pages in a browser, which tell the time that a machine takes: one after the other, and nothing beside. */
const pages = globSync("test/full/{browser,page-*}.test.ts");
const others = globSync("test/full/*.test.ts").filter((path) => !pages.includes(path));

const test = (concurrency: number, files: readonly string[]) => [
  ...[process.execPath, "--test", `--test-concurrency=${concurrency}`],
  ...files.toSorted(),
];
const steps: readonly (readonly [name: string, command: readonly string[]])[] = [
  ["check", ["npm", "run", "--silent", "check"]],
  ["build", [process.execPath, "scripts/build.ts"]],
  ["pages", test(1, pages)],
  ["tests at full size", test(3, [...withFullSize, ...others])],
];

for (const [name, [command = "", ...args]] of steps) {
  console.log(`verify: ${name}`);
  const started = performance.now();
  const { status } = spawnSync(command, args, {
    stdio: "inherit",
    env: {
      ...{ ...process.env, NO_COLOR: "1", THROUGHLINE_FULL: "1" },
      NODE_COMPILE_CACHE: "node_modules/.cache/throughline",
    },
  });
  const seconds = Math.round((performance.now() - started) / 1000);
  // On stderr, so that the last line on stdout is the test runner's.
  console.error(`verify: ${name} took ${seconds} s`);
  if (status !== 0) process.exit(status ?? 1);
}
