#!/usr/bin/env node
import { writeSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";
import { isNodeEnough, neededNode } from "./node-version.ts";

// npm only warns of an older Node, which would fail somewhere inside with an unclear error.
if (!isNodeEnough(process.versions.node)) {
  writeSync(
    2,
    `throughline needs Node ${neededNode} or later. This is Node ${process.versions.node}.\n`,
  );
  process.exit(1);
}

// There Node refuses the calls that make a write durable; without a right to read, all of the program.
if ((process.permission as unknown) !== undefined) {
  writeSync(
    2,
    "throughline cannot run under node --permission: Node then refuses fdatasync, and writes would not " +
      "be durable. Start it without, and restrict it with the system instead, such as systemd's " +
      "ReadWritePaths.\n",
  );
  process.exit(1);
}

// Compiled code is kept beside the program, where only who can change the program can change it: the
// next start takes half the time. Where nothing can be written there, nothing is kept.
enableCompileCache(fileURLToPath(new URL("../../.compile-cache", import.meta.url)));

const { start } = await import("./start.ts");
await start();
