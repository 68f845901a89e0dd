// npm run verify: what CI proves beside `npm test`: the suites that need a build, a browser or minutes, and
// what `npm test` leaves to them. Ends with the test runner's own summary.
import { globSync } from "node:fs";
import { inScratch, inTime } from "./scratch.ts";
import { slowTests } from "./slow-tests.ts";

/** One after the other, and nothing beside: they measure time in a browser. */
const alone = globSync("test/full/{page-capture*,page-long}.test.ts");
const pages = globSync("test/full/page-*.test.ts").filter((path) => !alone.includes(path));
/** What `npm test` does not run of these files is in their full size. */
const leftByTest = [
  "src/moments/directory/package-directory.crash.test.ts",
  "test/{cluster-anywhere,companion-restart,search-chats,take-back}.test.ts",
];
const others = globSync(["test/full/*.test.ts", ...leftByTest]).filter(
  (path) => !alone.includes(path) && !pages.includes(path),
);

const slow = slowTests.filter((path) => !others.includes(path));

const full = { THROUGHLINE_FULL: "1", THROUGHLINE_BUGS: "some" };
const node = (...args: readonly string[]) => inScratch(args, full);
const test = (files: readonly string[]) => node("scripts/tests-in-order.ts", ...files.toSorted());

const steps: readonly (readonly [name: string, run: () => number])[] = [
  ["check", () => inScratch(["run", "--silent", "check"], full, "npm")],
  ["slow tests", () => inScratch(["scripts/tests-in-order.ts", ...slow.toSorted()])],
  ["build", () => node("scripts/build.ts")],
  ["pages", () => test(pages)],
  ...alone.toSorted().map((path) => [path, () => test([path])] as const),
  ["what takes minutes", () => test(others)],
];

for (const [name, run] of steps) {
  const status = inTime(`verify: ${name}`, run);
  if (status !== 0) process.exit(status);
}
