// LangGraph's own validation suite in memory; on PostgreSQL: test/full/langgraph-postgres.test.ts.
import "../../../test/support/langgraph-globals.ts";
import { openThroughline } from "../../core/throughline.ts";
import { ThroughlineSaver } from "./saver.ts";

const { deltaChannelHistoryTests, validate } = await import(
  "@langchain/langgraph-checkpoint-validation"
);

const initializer = {
  checkpointerName: "ThroughlineSaver in memory",
  createCheckpointer: async () =>
    new ThroughlineSaver(await openThroughline({ storage: "memory" })),
};
validate(initializer);
deltaChannelHistoryTests(initializer);
