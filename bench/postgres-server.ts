// One server process of the figure of several: takes turns in chats of its own for a while, and prints how
// many it took and for how long. Waits for a line before it begins, so that all begin at once.
import { once } from "node:events";
import pg from "pg";
import type { Responder } from "../src/core/models/responder.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { openPostgresStorage } from "../src/postgres/postgres.ts";

const [, , connectionString = "", seconds = "", connections = ""] = process.argv;
const model: Responder = {
  provider: "bench",
  model: "bench-1",
  window: undefined,
  async *respond() {
    yield { type: "text", text: "the grey whale swims to the warm bays each winter ".repeat(10) };
    yield { type: "end", finish: "stop", usage: { inputTokens: 1, outputTokens: 1, costUsd: 0 } };
  },
};
const pool = new pg.Pool({ connectionString, max: Number(connections) + 1 });
const storage = await openPostgresStorage({ pool, durability: "process" });
const target = { provider: model.provider, model: model.model };
const throughline = await openThroughline({ storage, ...target });
const turns = await throughline.turns({ model, persona: "You are kind." });

const names = Array.from({ length: Number(connections) }, (_, i) => `${process.pid}-${i}`);
const takeTurn = async (chat: string) => {
  const { done } = turns.submit(chat, { content: "where do the whales go in winter?" });
  await done;
};
await Promise.all(names.map(takeTurn));
process.stdout.write("ready\n");
await once(process.stdin, "data");
let count = 0;
const began = performance.now();
const until = began + 1_000 * Number(seconds);
await Promise.all(
  names.map(async (chat) => {
    while (performance.now() < until) {
      await takeTurn(chat);
      count++;
    }
  }),
);
const tookMs = performance.now() - began;
process.stdout.write(`${JSON.stringify({ count, tookMs })}\n`);
await throughline.close();
await pool.end();
process.exit(0);
