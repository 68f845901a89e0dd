// What a thread of many turns takes on the disk.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { bytesUnder, temporaryDirectory } from "../../../test/support/command-line.ts";
import { randomText } from "../../../test/support/random-text.ts";
import { openThroughline } from "../../core/throughline.ts";
import { ThroughlineSaver } from "./saver.ts";

/** Turns, and the megabytes that they may take; LangGraph's SQLite saver takes 23.5 and 340.7. */
const [turns, megabytes] = process.env["THROUGHLINE_FULL"] === "1" ? [400, 10] : [60, 1.5];

test(`${turns} turns of 1 kB take at most ${megabytes} MB`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const throughline = await openThroughline({ home, durability: "process" });
  t.after(() => throughline.close());
  const half = () => randomText(500);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", ({ messages }) => ({
      messages: [new AIMessage(`${messages.length} ${half()}`)],
    }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: new ThroughlineSaver(throughline) });
  const config = { configurable: { thread_id: "t" }, durability: "sync" } as const;
  let last = 0;
  for (let turn = 1; turn <= turns; turn++) {
    const began = performance.now();
    await graph.invoke({ messages: [new HumanMessage(`${turn} ${half()}`)] }, config);
    last = performance.now() - began;
  }
  const bytes = bytesUnder(join(home, "langgraph")).length;
  t.diagnostic(`${(bytes / 1e6).toFixed(2)} MB; the last turn took ${last.toFixed(0)} ms`);
  assert.ok(bytes <= megabytes * 1e6, `${bytes} bytes`);
});
