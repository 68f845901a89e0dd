// npm run build: what is published, in dist, from nothing: the JavaScript, its types and the page.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { buildCode } from "./build-code.ts";
import { buildPage } from "./build-page.ts";
import { dropUnreachableTypes } from "./types.ts";

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);
dropUnreachableTypes();
await buildCode();
await buildPage();
