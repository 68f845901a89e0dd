// npm run verify: what CI proves beside `npm test`: the suites that need a build, a browser or minutes, and
// what `npm test` leaves to them. Ends with the test runner's own summary.
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { inScratch } from "./scratch.ts";

/** One after the other, and nothing beside: they measure time in a browser. */
const alone = globSync("test/full/{page-capture*,page-transcript,page-turns}.test.ts");
const pages = globSync("test/full/{browser,page-*}.test.ts").filter(
  (path) => !alone.includes(path),
);
/** What `npm test` does not run of these files is in their full size. */
const leftByTest = [
  "src/moments/directory/package-directory.crash.test.ts",
  "test/{cluster-anywhere,companion-restart,search-chats,take-back}.test.ts",
];
const others = globSync(["test/full/*.test.ts", ...leftByTest]).filter(
  (path) => !alone.includes(path) && !pages.includes(path),
);

const test = (files: readonly string[]) => [
  ...[process.execPath, "scripts/tests-in-order.ts"],
  ...files.toSorted(),
];

const steps = [
  { name: "check", command: ["npm", "run", "--silent", "check"] },
  { name: "build", command: [process.execPath, "scripts/build.ts"] },
  { name: "pages", command: test(pages) },
  ...alone.toSorted().map((path) => ({ name: path, command: test([path]) })),
  { name: "what takes minutes", command: test(others) },
];

const env = {
  ...process.env,
  NO_COLOR: "1",
  THROUGHLINE_FULL: "1",
  THROUGHLINE_BUGS: "some",
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
