import { writeSync } from "node:fs";
import { isDebugging, isYoungHeapSized, useMoreThreads } from "../cli/env.ts";
import { describeFailure, exitCodes } from "../cli/failure.ts";
import { processIo } from "../cli/io.ts";
import { run } from "./program.ts";
import { boundYoungHeap } from "./young-heap.ts";

/** The process's own command line, to its end or its failure. */
export async function start(): Promise<void> {
  useMoreThreads();
  boundYoungHeap(isYoungHeapSized());
  // A rejection that nobody handles comes here too. What was being written is finished or undone by
  // the next start; going on from a state that nobody knows is what could do harm.
  process.on("uncaughtException", (error) => {
    writeSync(2, describeFailure(error, "", { stack: isDebugging() }).text);
    process.exit(exitCodes.failed);
  });
  process.exitCode = await run(process.argv.slice(2), processIo());
}
