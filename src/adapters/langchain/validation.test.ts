// LangGraph's own validation suite, on memory; on files too with THROUGHLINE_FULL=1.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import "../../../test/support/langgraph-globals.ts";
import { openThroughline } from "../../core/throughline.ts";
import { ThroughlineSaver } from "./saver.ts";

const { deltaChannelHistoryTests, validate } = await import(
  "@langchain/langgraph-checkpoint-validation"
);

/** What a checkpointer of the suite is closed with. */
const closers = new WeakMap<ThroughlineSaver, () => Promise<void>>();
const destroyCheckpointer = async (saver: ThroughlineSaver) => closers.get(saver)?.();

async function inMemory(): Promise<ThroughlineSaver> {
  const throughline = await openThroughline({ storage: "memory" });
  const saver = new ThroughlineSaver(throughline);
  closers.set(saver, () => throughline.close());
  return saver;
}

async function inFiles(): Promise<ThroughlineSaver> {
  const folder = mkdtempSync(join(tmpdir(), "throughline-langgraph-"));
  const home = join(folder, "home");
  const throughline = await openThroughline({ home, durability: "process" });
  const saver = new ThroughlineSaver(throughline);
  closers.set(saver, async () => {
    await throughline.close();
    rmSync(folder, { recursive: true });
  });
  return saver;
}

for (const [checkpointerName, createCheckpointer] of [
  ["ThroughlineSaver in memory", inMemory],
  ["ThroughlineSaver in files", inFiles],
].slice(0, process.env["THROUGHLINE_FULL"] === "1" ? 2 : 1) as [string, typeof inFiles][]) {
  const initializer = { checkpointerName, createCheckpointer, destroyCheckpointer };
  validate(initializer);
  deltaChannelHistoryTests(initializer);
}
