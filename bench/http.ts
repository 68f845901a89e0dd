// Turns over HTTP, against a handler of the same framework that stores nothing.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer as listen } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type * as ServerApi from "../src/server/server.ts";
import type { Figure } from "./figure.ts";
import type { HttpLoad } from "./http-load.ts";
import { offlineResponder, openThroughline } from "./product.ts";
import type { Run } from "./run.ts";
import { median, spread } from "./samples.ts";
import { ratioOf } from "./slices.ts";

const built = new URL("../dist/server/server.js", import.meta.url).href;
const { createServer } = (await import(built)) as typeof ServerApi;

export async function httpTurns({ dir, isFull }: Run): Promise<Figure[]> {
  const throughline = await openThroughline({ home: `${dir}/home` });
  const turns = await throughline.turns({ model: offlineResponder(), persona: "You are Nova." });
  const server = createServer({ throughline, turns, version: "0.0.0" });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  const sample = await post(`${url}/api/chats/sample/messages`);
  const bare = await bareServer(sample);
  const client = fork(fileURLToPath(new URL("./http-load.ts", import.meta.url)));
  const loads: Record<"ours" | "bare", HttpLoad[]> = { ours: [], bare: [] };
  for (let round = -1; round < (isFull ? 10 : 4); round++) {
    for (const [name, at] of Object.entries({ ours: url, bare: bare.url })) {
      client.send({ url: at, seconds: 2, connections: 16 });
      const [load] = (await once(client, "message")) as [HttpLoad];
      if (round >= 0) loads[name as keyof typeof loads].push(load); // the first is for compiled code
    }
  }
  client.disconnect();
  await server.close();
  bare.close();
  await throughline.close();
  const rates = (name: keyof typeof loads) => loads[name].map(({ perSecond }) => perSecond);
  const said = (name: keyof typeof loads) => Math.round(median(rates(name)));
  const latencies = (name: keyof typeof loads) =>
    spread(loads[name].flatMap((load) => load.latencies));
  return [
    {
      says: `turns a second over HTTP, 16 connections, ten turns to a chat, offline model (${said("ours")}), against a bare handler that stores nothing (${said("bare")})`,
      ratio: ratioOf(rates("ours"), rates("bare")).ratio,
      details: { "ours, ms": latencies("ours"), "bare, ms": latencies("bare") },
    },
  ];
}

async function post(url: string): Promise<object> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"content":"Where do the whales go in winter?"}',
  });
  if (response.status !== 200) throw new Error(`a turn was answered with ${response.status}`);
  return (await response.json()) as object;
}

/** Reads the message, and answers with what a turn is answered with. */
async function bareServer(answer: object) {
  const app = new Hono();
  app.post("/api/chats/:id/messages", async (context) => {
    const { content } = (await context.req.json()) as { content: string };
    return content === "" ? context.json({}, 400) : context.json(answer);
  });
  const server = listen(getRequestListener(app.fetch));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
