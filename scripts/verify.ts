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
  ...[process.execPath, "--import", "./scripts/untracked-tests.ts"],
  ...["--test", `--test-concurrency=${concurrency}`],
  ...files.toSorted(),
];

interface Step {
  readonly name: string;
  readonly command: readonly string[];
  /** How often it may be tried. A browser that is starved for seconds says nothing of the page. */
  readonly attempts: number;
}

const steps: readonly Step[] = [
  { name: "check", command: ["npm", "run", "--silent", "check"], attempts: 1 },
  { name: "build", command: [process.execPath, "scripts/build.ts"], attempts: 1 },
  ...pages.toSorted().map((page) => ({ name: page, command: test(1, [page]), attempts: 2 })),
  { name: "tests at full size", command: test(3, [...withFullSize, ...others]), attempts: 1 },
];

const env = {
  ...{ ...process.env, NO_COLOR: "1", THROUGHLINE_FULL: "1", THROUGHLINE_BUILT: "1" },
  NODE_COMPILE_CACHE: "node_modules/.cache/throughline",
};

for (const { name, command, attempts } of steps) {
  const [program = "", ...args] = command;
  for (let attempt = 1; ; attempt++) {
    console.log(`verify: ${name}${attempt > 1 ? ", once more" : ""}`);
    const started = performance.now();
    const { status } = spawnSync(program, args, { stdio: "inherit", env });
    const seconds = Math.round((performance.now() - started) / 1000);
    // On stderr, so that the last line on stdout is the test runner's.
    console.error(`verify: ${name} took ${seconds} s${status === 0 ? "" : ", and failed"}`);
    if (status === 0) break;
    if (attempt === attempts) process.exit(status ?? 1);
  }
}
