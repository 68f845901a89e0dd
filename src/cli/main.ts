#!/usr/bin/env node
import { writeSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Compiled code is kept beside the program, where only who can change the program can change it: the
// next start takes half the time. Where nothing can be written there, nothing is kept.
enableCompileCache(fileURLToPath(new URL("../../.compile-cache", import.meta.url)));

const { isDebugging } = await import("./env.ts");
const { describeFailure, exitCodes } = await import("./failure.ts");

// A rejection that nobody handles comes here too. What was being written is finished or undone by the
// next start; going on from a state that nobody knows is what could do harm.
process.on("uncaughtException", (error) => {
  writeSync(2, describeFailure(error, "", { stack: isDebugging() }).text);
  process.exit(exitCodes.failed);
});

const [{ run }, { processIo }] = await Promise.all([import("./program.ts"), import("./io.ts")]);
process.exitCode = await run(process.argv.slice(2), processIo());
