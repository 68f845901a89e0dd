// LangGraph's validation suite on PostgreSQL, and one thread that four processes write.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HumanMessage } from "@langchain/core/messages";
import "../support/langgraph-globals.ts";
import { ThroughlineSaver } from "../../src/adapters/langchain/saver.ts";
import { openThroughline } from "../../src/core/throughline.ts";
import { openPostgresStorage } from "../../src/postgres/postgres.ts";
import { answerTo, graphWithTool } from "../support/langgraph-graph.ts";
import { noPostgres, withPostgres } from "../support/test-postgres.ts";

const { deltaChannelHistoryTests, validate } = await import(
  "@langchain/langgraph-checkpoint-validation"
);

const reason = noPostgres();
if (reason !== undefined) {
  test("LangGraph's validation suite passes on PostgreSQL", { skip: reason }, () => undefined);
} else {
  const server = await withPostgres();
  const url = await server.newDatabase();
  const closers = new WeakMap<ThroughlineSaver, () => Promise<void>>();
  let count = 0;
  const open = async (companion: string) => {
    const storage = await openPostgresStorage({
      pool: server.pool(url),
      companion,
      durability: "process",
    });
    const throughline = await openThroughline({ storage });
    const saver = new ThroughlineSaver(throughline);
    closers.set(saver, () => throughline.close());
    return saver;
  };
  const initializer = {
    checkpointerName: "ThroughlineSaver on PostgreSQL",
    createCheckpointer: () => open(`suite-${++count}`),
    destroyCheckpointer: async (saver: ThroughlineSaver) => closers.get(saver)?.(),
  };
  validate(initializer);
  deltaChannelHistoryTests(initializer);

  test("four servers that run branches of one thread at once lose no run", async () => {
    const savers = await Promise.all(Array.from({ length: 4 }, () => open("shared")));
    const runs = savers.map(async (saver, server) => {
      const graph = graphWithTool(saver);
      const config = { configurable: { thread_id: "t" }, durability: "sync" } as const;
      const ends: { readonly question: string; readonly end: object }[] = [];
      for (let n = 1; n <= 10; n++) {
        const question = `server ${server}, question ${n}`;
        // Each server continues its own branch, as servers behind a load balancer that race do.
        const from = ends.at(-1)?.end ?? config;
        await graph.invoke({ messages: [new HumanMessage(question)] }, { ...config, ...from });
        for await (const state of saver.list(config)) {
          const { messages = [] } = state.checkpoint.channel_values as {
            readonly messages?: readonly { readonly text: string }[];
          };
          if (messages.at(-1)?.text !== answerTo(question)) continue;
          ends.push({ question, end: { configurable: state.config.configurable } });
          break;
        }
      }
      assert.equal(ends.length, 10);
      const last = await graph.getState(ends.at(-1)?.end ?? {});
      const texts = last.values.messages.map(({ text }: { readonly text: string }) => text);
      for (const { question } of ends) assert.ok(texts.includes(answerTo(question)), question);
    });
    await Promise.all(runs);
    for (const saver of savers) await closers.get(saver)?.();
  });
}
