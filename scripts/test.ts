// npm test: everything that needs Node and packages only. npm run verify adds the rest.
import { spawnSync } from "node:child_process";

const major = Number(process.versions.node.split(".", 1)[0]);
if (major < 24) {
  console.error(
    `npm scripts run on Node ${process.versions.node}; the project brings Node 24 as a package.\n` +
      "Run `npm ci` again, without --ignore-scripts: its install step puts that Node first.",
  );
  process.exit(1);
}
// Some 200 test files are as many processes that load the same modules: compiled, they are kept.
const files = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  [
    "--test",
    "--test-concurrency=3",
    ...(files.length > 0
      ? files
      : ["src/**/*.test.ts", "dashboard/src/**/*.test.ts", "test/*.test.ts"]),
  ],
  {
    stdio: "inherit",
    env: { ...process.env, NO_COLOR: "1", NODE_COMPILE_CACHE: "node_modules/.cache/throughline" },
  },
);
process.exit(status ?? 1);
