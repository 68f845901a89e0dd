// One server process of the figure of several: takes turns in chats of its own for a while, and prints how
// many it took, for how long, and what of the processor. Waits for a line before it begins, so that all begin at once.
import { once } from "node:events";
import pg from "pg";
import { openThroughline } from "../src/core/throughline.ts";
import { openPostgresStorage } from "../src/postgres/postgres.ts";
import { createServer } from "../src/server/server.ts";
import { echo } from "./product.ts";
import { processorTime } from "./slices.ts";

const [, , connectionString = "", seconds = "", connections = ""] = process.argv;
const pool = new pg.Pool({ connectionString, max: Number(connections) + 1 });
const storage = await openPostgresStorage({ pool, durability: "process" });
const target = { provider: echo.provider, model: echo.model };
const throughline = await openThroughline({ storage, ...target });
const turns = await throughline.turns({ model: echo, persona: "You are kind." });
const server = createServer({ throughline, turns, version: "0.0.0" }); // publishes turns to the others

const names = Array.from({ length: Number(connections) }, (_, i) => `${process.pid}-${i}`);
const takeTurn = async (chat: string) => {
  const { done } = turns.submit(chat, { content: "where do the whales go in winter?" });
  await done;
};
await Promise.all(names.map(takeTurn));
process.stdout.write("ready\n");
await once(process.stdin, "data");
let count = 0;
const used = processorTime().all;
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
process.stdout.write(`${JSON.stringify({ count, tookMs, cpuUs: processorTime().all - used })}\n`);
await server.close();
await throughline.close();
await pool.end();
process.exit(0);
