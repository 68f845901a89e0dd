// npm test: what needs Node and packages only, without the slow tests. npm run verify adds the rest.
// With THROUGHLINE_FULL=1, as in npm run nightly, the slow ones run too, and files that have a full size run at that.
import { globSync } from "node:fs";
import { buildCode } from "./build-code.ts";
import { inScratch } from "./scratch.ts";
import { slowTests } from "./slow-tests.ts";

const major = Number(process.versions.node.split(".", 1)[0]);
if (major < 24) {
  console.error(
    `npm scripts run on Node ${process.versions.node}; the project brings Node 24 as a package.\n` +
      "Run `npm ci` again, without --ignore-scripts: its install step puts that Node first.",
  );
  process.exit(1);
}

const everything = [
  "src/**/*.test.ts",
  "dashboard/src/**/*.test.ts",
  "test/{,support/,support/s3/}*.test.ts",
];

// Processes that tests start are the program that users get, which starts in half the time.
await buildCode();

const named = process.argv.slice(2);
const isAll = named.length > 0 || process.env["THROUGHLINE_FULL"] === "1";
const files = globSync(named.length > 0 ? named : everything).filter(
  (path) => isAll || !slowTests.includes(path),
);
if (files.length === 0) throw new Error(`no test file has such a name: ${named.join(" ")}`);
process.exitCode = inScratch(["scripts/tests-in-order.ts", ...files.toSorted()]);
