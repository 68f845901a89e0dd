// Turns per second against the number of server processes on one database.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Figure } from "./figure.ts";
import { openPostgres } from "./postgres-world.ts";
import { median } from "./samples.ts";

const seconds = 2;
const connections = 8;
const rounds = 3;
const script = fileURLToPath(new URL("./postgres-server.ts", import.meta.url));

/** Whole turns: the lease of the chat, the words, the answer, and what they tell the other processes. */
export async function postgresServers(): Promise<Figure[]> {
  const world = await openPostgres("synced", 1);
  const rates: Record<number, number[]> = { 1: [], 2: [], 4: [] };
  for (let round = 0; round < rounds; round++) {
    for (const count of [1, 2, 4]) rates[count]?.push(await turnsPerSecond(world.url, count));
  }
  await world.close();
  const one = median(rates[1] ?? []);
  return [2, 4].map((count) => {
    const rate = median(rates[count] ?? []);
    return {
      says: `turns per second of 1 server process (${Math.round(one)}) against ${count} (${Math.round(rate)}), database and servers on one machine`,
      ratio: one / rate,
    };
  });
}

async function turnsPerSecond(url: string, count: number): Promise<number> {
  const servers = Array.from({ length: count }, () => {
    const args = [script, url, String(seconds), String(connections)];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  });
  for (const { lines } of servers) await lines.next();
  for (const { child } of servers) child.stdin.write("go\n");
  let rate = 0;
  for (const { lines } of servers) {
    const { value } = await lines.next();
    const { count: turns, tookMs } = JSON.parse(String(value)) as { count: number; tookMs: number };
    rate += turns / (tookMs / 1_000);
  }
  return rate;
}
