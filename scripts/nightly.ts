// npm run nightly [PART …]: what takes too long for every change. It needs Linux, and for the file systems
// root with xfsprogs and btrfs-progs. Goes through all parts, and fails if one did.
import { spawnSync } from "node:child_process";
import { inScratch, inTime } from "./scratch.ts";

/**
 * The size of each part is an environment variable, which a shorter run may set. CI runs a tenth of each: the
 * tests' own sizes.
 */
const parts = [
  { name: "full-size", test: "scripts/test.ts", size: ["FULL", "1"] },
  { name: "power-cuts", test: "test/nightly/power-cut.test.ts", size: ["IMAGES", "1000000"] },
  { name: "kills", test: "test/full/kill.test.ts", size: ["KILLS", "1000"] },
  { name: "system-calls", test: "test/full/system-call-kill.test.ts", size: ["CUTS", "150"] },
  { name: "failovers", test: "test/full/postgres-failover.test.ts", size: ["FAILOVERS", "30"] },
  { name: "turns", test: "test/full/page-turns.test.ts", size: ["TURNS", "200"] },
  { name: "bit-rot", test: "test/bit-rot.test.ts", size: ["FLIPS", "all"] },
  { name: "seeded-bugs", test: "test/full/seeded-bugs.test.ts", size: ["BUGS", "all"] },
  { name: "file-systems", test: "test/nightly/file-systems.test.ts", size: ["CLONES", "100"] },
] as const;

const named = process.argv.slice(2);
const unknown = named.filter((name) => !parts.some((part) => part.name === name));
if (unknown.length > 0) {
  const names = parts.map(({ name }) => name).join(", ");
  console.error(`there is no part ${unknown.join(", ")}: the parts are ${names}`);
  process.exit(1);
}

const built = spawnSync(process.execPath, ["scripts/build.ts"], { stdio: "inherit" });
if (built.status !== 0) process.exit(1);

for (const { name, test, size } of parts) {
  if (named.length > 0 && !named.includes(name)) continue;
  const [what, most] = size;
  const variable = `THROUGHLINE_${what}`;
  const env = { THROUGHLINE_FULL: "1", [variable]: process.env[variable] ?? most };
  const args = ["--import", "./scripts/untracked-tests.ts", test];
  if (inTime(`nightly: ${name}`, () => inScratch(args, env)) !== 0) process.exitCode = 1;
}
