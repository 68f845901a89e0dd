// Runs the test files that it is given in three processes at a time, those that take longest first: the runner's
// own command line sorts them. A test that fails, fails the run: it is not tried again. A test that is skipped in
// CI fails the run, unless its reason is in scripts/allowed-skips.ts. Ends with the runner's own summary.
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { pathToFileURL } from "node:url";
import { isAllowedSkip } from "./allowed-skips.ts";

/** Begun first, so that none of them runs alone at the end. */
const longest = [
  ...["test/full/kill.test.ts", "test/full/power-cut-a.test.ts", "test/full/postgres-cuts.test.ts"],
  ...["test/full/power-cut-b.test.ts", "test/full/postgres-servers.test.ts"],
  ...["test/full/seeded-bugs.test.ts", "test/full/package.test.ts", "test/bit-rot.test.ts"],
  ...["test/power-cut.test.ts", "test/disk-faults.test.ts", "test/home-damage.test.ts"],
  ...["src/app/backup/backup.test.ts", "test/mcp-clients.test.ts", "test/full/page-beside.test.ts"],
];

/** How many of the other files share a process: to load what they test takes longer than most of their tests. */
const perProcess = 24;
/** Hooks before each test are those of the whole process, and so is what a process measures of itself. */
const needsOwn =
  /^(?:before|beforeEach|afterEach)\(|\b(?:memoryUsage|cpuUsage|getHeapStatistics)\(/m;

/** The runner would take what the first files have for all, and clean up, while a later one waits as it loads. */
const untilLoaded = (imports: string) => `import { test } from "node:test";
const loaded = Promise.withResolvers();
const alive = setInterval(() => undefined, 1_000);
test("the files of this process are loaded", () => loaded.promise);
${imports}clearInterval(alive);
loaded.resolve();
`;

/** Joins files that may share a process: each group is a file that imports them one after the other. */
function grouped(files: readonly string[]): readonly string[] {
  const alone = files.filter((file) => needsOwn.test(readFileSync(file, "utf8")));
  const others = files.filter((file) => !alone.includes(file));
  const folder = process.env["THROUGHLINE_SCRATCH"] ?? tmpdir();
  const groups: string[] = [];
  while (others.length > 0) {
    const group = others.splice(0, perProcess);
    const imports = group.map((file) => `await import("${pathToFileURL(file)}");\n`);
    const path = join(folder, `.tests-${groups.length}.mjs`);
    writeFileSync(path, untilLoaded(imports.join("")));
    groups.push(path);
  }
  return [...groups, ...alone];
}

const named = process.argv.slice(2);
const first = longest.filter((file) => named.includes(file));
const rest = named.filter((file) => !first.includes(file));
const isFull = process.env["THROUGHLINE_FULL"] === "1";
const files = [...first, ...(isFull ? rest : grouped(rest))].map((file) => resolve(file));
const preloads = ["./scripts/untracked-tests.ts", "./scripts/test-limit.ts"];
const execArgv = preloads.flatMap((path) => ["--import", path]);

/** What was skipped for a reason that CI does not take. */
const refused = new Set<string>();
let isSuccess = false;
const report = run({ files, concurrency: 3, execArgv })
  .on("test:summary", ({ file, success }) => {
    if (file === undefined) isSuccess = success;
  })
  .on("test:pass", ({ name, skip }) => {
    if (skip !== undefined && !isAllowedSkip(skip, name)) refused.add(`${name}: ${skip}`);
  })
  .compose(spec);
report.pipe(process.stdout, { end: false });
await finished(report);
if (!isSuccess) process.exitCode = 1;
if (process.env["CI"] === "true" && refused.size > 0) {
  console.error(`Skipped, and not in scripts/allowed-skips.ts:\n  ${[...refused].join("\n  ")}`);
  process.exitCode = 1;
}
