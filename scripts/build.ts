// npm run build: src/ as JavaScript and types in dist/, file by file, and the page in dist/web.
import { spawnSync } from "node:child_process";
import { chmodSync, rmSync } from "node:fs";
import { buildPage } from "./build-page.ts";

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);
chmodSync("dist/cli/main.js", 0o755);
await buildPage();
