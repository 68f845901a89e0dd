// A process that runs a LangGraph thread until it is killed. Arguments: the home, the thread, a name for its
// questions. It prints each question that was answered.
import { HumanMessage } from "@langchain/core/messages";
import { ThroughlineSaver } from "../../src/adapters/langchain/saver.ts";
import { openThroughline } from "../../src/core/throughline.ts";
import { graphWithTool } from "./langgraph-graph.ts";

const [home = "", thread = "", name = ""] = process.argv.slice(2);
const graph = graphWithTool(new ThroughlineSaver(await openThroughline({ home })));
const config = { configurable: { thread_id: thread }, durability: "sync" } as const;
for (let n = 1; ; n++) {
  await graph.invoke({ messages: [new HumanMessage(`${name} ${n}`)] }, config);
  process.stdout.write(`${name} ${n}\n`);
}
