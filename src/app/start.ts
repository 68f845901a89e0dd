import { writeSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from "node:v8";
import { isDebugging, isYoungHeapSized, useMoreThreads } from "../cli/env.ts";
import { describeFailure, exitCodes } from "../cli/failure.ts";
import { processIo } from "../cli/io.ts";
import { run } from "./program.ts";

/** The process's own command line, to its end or its failure. */
export async function start(): Promise<void> {
  useMoreThreads();
  boundYoungHeap(isYoungHeapSized());
  // Unhandled rejections come here too. The next start finishes or undoes what was being written;
  // continuing from an unknown state could do harm.
  process.on("uncaughtException", (error) => {
    writeSync(2, describeFailure(error, "", { stack: isDebugging() }).text);
    process.exit(exitCodes.failed);
  });
  process.exitCode = await run(process.argv.slice(2), processIo());
}

/** Both halves of it together, as V8 counts it. */
const enoughBytes = 32 * 1024 * 1024;
const shareOfHeap = 16;

/**
 * Lets V8's space for new objects grow to 32 MB, or a sixteenth of the heap's limit, and no further. V8
 * alone lets it grow to 128 MB, whatever the limit is: with `--max-old-space-size=128` a busy server then
 * collects garbage without end. Does nothing where the person who started the process has sized it.
 */
export function boundYoungHeap(isSized: boolean): void {
  if (isSized) return;
  const enough = Math.min(enoughBytes, getHeapStatistics().heap_size_limit / shareOfHeap);
  const observer = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    if ((young?.space_size ?? 0) < enough) return;
    // The size itself can be set only on the command line.
    setFlagsFromString("--semi-space-growth-factor=1");
    observer.disconnect();
  });
  observer.observe({ entryTypes: ["gc"] });
}
