#!/usr/bin/env node
import { writeSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

/** As in `package.json`: the first Node with SQLite 3.51.3, which mends its write-ahead log. */
const neededNode = "24.15";
const [needed = 0, own = 0] = [neededNode, process.versions.node].map((version) => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major * 1_000 + minor;
});

// npm only warns of an older Node, which would fail somewhere inside with an unclear error.
if (own < needed) {
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

const { start } = await import("./program.ts");
await start();
