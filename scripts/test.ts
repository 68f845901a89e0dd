// npm test: everything that needs Node and packages only. npm run verify adds the rest.
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildCode } from "./build-code.ts";
import { inScratch } from "./scratch.ts";

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

/**
 * Test files that want nothing of the process but its modules: a few processes run them all, where one
 * for each would load the same modules a hundred times. `npm run verify` gives each its own.
 */
const light = [
  "src/core/{chat,models,turns}/**/*.test.ts",
  "src/core/{,storage/,storage/memory/}*.test.ts",
  "src/core/storage/files/{document,file,home,journal,log,once,open-logs,reconcile,rewrite,sqlite,start,sync}*.test.ts",
  "src/{adapters/{ai-sdk,mcp,openai},app,cli,companion,interchange,moments}/**/*.test.ts",
  "src/{server,testing}/*.test.ts",
  "test/support/*.test.ts",
  "src/postgres/{checks,commands,move}/*.test.ts",
  "test/{framework-logs,server-{api,companion,feedback,input,page,touch,turns}}.test.ts",
  "dashboard/src/**/*.test.ts",
];
const processes = 4;

/** Likewise for those that want a database. */
const withDatabase =
  "src/postgres/{append-groups,database,erase-in-doubt,indexer,lease-rows,lost-replies,migrate,plans,unindexed}.test.ts";

/** How many files are run as they are, each in a process of its own. */
const few = 20;

/** Of many files the light ones are run by a few, in this folder, that import them. */
function grouped(files: readonly string[], folder: string): readonly string[] {
  if (files.length <= few) return files;
  const isLight = new Set(globSync(light));
  const wantsDatabase = new Set(globSync(withDatabase));
  const together = files.filter((path) => isLight.has(path)).sort();
  const database = files.filter((path) => wantsDatabase.has(path)).sort();
  const alone = files.filter((path) => !isLight.has(path) && !wantsDatabase.has(path));
  const parts = Array.from({ length: processes }, (_, part) =>
    together.filter((_file, index) => index % processes === part),
  );
  const groups = [database, ...parts].flatMap((own, group) => {
    if (own.length === 0) return [];
    const imports = own.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`);
    const path = join(folder, `group-${group + 1}.test.mjs`);
    writeFileSync(path, imports.join(""));
    return [path];
  });
  return [...groups, ...alone.sort()];
}

// Processes that tests start are the program that users get, which starts in half the time.
await buildCode();

const named = process.argv.slice(2);
const groups = mkdtempSync(join(tmpdir(), "throughline-groups-"));
try {
  const files = grouped(globSync(named.length > 0 ? named : everything), groups);
  if (files.length === 0) throw new Error(`no test file has such a name: ${named.join(" ")}`);
  process.exitCode = inScratch((variables) => {
    const env = {
      ...process.env,
      ...variables,
      NO_COLOR: "1",
      THROUGHLINE_BUILT: "1",
      NODE_COMPILE_CACHE: "node_modules/.cache/throughline",
    };
    const args = ["scripts/tests-in-order.ts", ...files];
    return spawnSync(process.execPath, args, { stdio: "inherit", env }).status;
  });
} finally {
  rmSync(groups, { recursive: true });
}
