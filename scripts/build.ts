// npm run build: src/ as JavaScript and types in dist/, file by file, and what is no TypeScript.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);
cpSync("src/server/page", "dist/server/page", { recursive: true });
chmodSync("dist/cli/main.js", 0o755);
