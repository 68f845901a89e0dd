#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

// Compiled code is kept beside the program, where only who can change the program can change it: the
// next start takes half the time. Where nothing can be written there, nothing is kept.
enableCompileCache(fileURLToPath(new URL("../../.compile-cache", import.meta.url)));

const { start } = await import("./start.ts");
await start();
