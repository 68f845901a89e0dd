// What several server processes on one database get done, and what they cost each other.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createServer } from "../src/server/server.ts";
import { type Figure, ms } from "./figure.ts";
import { openPostgres, type PostgresWorld, usedBy } from "./postgres-world.ts";
import { echo } from "./product.ts";
import type { Run } from "./run.ts";
import { median } from "./samples.ts";
import { ratioOf } from "./slices.ts";

const seconds = 2;
const connections = 8;
const rounds = 5;
const script = fileURLToPath(new URL("./postgres-server.ts", import.meta.url));

/** Whole turns: the lease of the chat, the words, the answer, and what they tell the other processes. */
export async function postgresServers(): Promise<Figure[]> {
  const world = await openPostgres("synced", 1);
  const all: Record<number, Served[]> = { 1: [], 2: [], 4: [] };
  for (let round = 0; round < rounds; round++) {
    for (const count of [1, 2, 4]) all[count]?.push(await serve(world, count));
  }
  await world.close();
  const of = (count: number, what: keyof Served) =>
    median((all[count] ?? []).map((served) => served[what]));
  const whole = ({ wholeUs }: Served) => wholeUs;
  const where = "database and servers on one machine";
  return [2, 4].flatMap((count) => {
    const parts = ([1, count] as const).map(
      (n) => `${Math.round(of(n, "serverUs"))} + ${Math.round(of(n, "databaseUs"))}`,
    );
    return [
      {
        says: `turns per second of 1 server process (${Math.round(of(1, "perSecond"))}) against ${count} (${Math.round(of(count, "perSecond"))}), ${where}`,
        ratio: of(1, "perSecond") / of(count, "perSecond"),
      },
      {
        says: `processor time of a turn, us of servers + database, of ${count} server processes (${parts[1]}) against 1 (${parts[0]}), ${where}`,
        ratio: ratioOf(all[count]?.map(whole) ?? [], all[1]?.map(whole) ?? []).ratio,
        target: 1 + 0.05 * (count - 1),
      },
    ];
  });
}

interface Served {
  readonly perSecond: number;
  /** Of the processor for a turn, in microseconds: the servers, the database, and both. */
  readonly serverUs: number;
  readonly databaseUs: number;
  readonly wholeUs: number;
}

async function serve({ url, usedUs }: PostgresWorld, count: number): Promise<Served> {
  const servers = Array.from({ length: count }, () => {
    const args = [script, url, String(seconds), String(connections)];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  });
  for (const { lines } of servers) await lines.next();
  const before = usedUs();
  for (const { child } of servers) child.stdin.write("go\n");
  let [turns, perSecond, cpuUs] = [0, 0, 0];
  for (const { lines } of servers) {
    const { value } = await lines.next();
    const did = JSON.parse(String(value)) as { count: number; tookMs: number; cpuUs: number };
    turns += did.count;
    perSecond += did.count / (did.tookMs / 1_000);
    cpuUs += did.cpuUs;
  }
  const [serverUs, databaseUs] = [cpuUs / turns, (usedUs() - before) / turns];
  return { perSecond, serverUs, databaseUs, wholeUs: serverUs + databaseUs };
}

/** What the program that serves, and has nothing to do, uses of the processor for each turn that another process takes. */
export async function idleServer({ dir }: Run): Promise<Figure[]> {
  const world = await openPostgres("synced", 2);
  const { throughline, url } = world;
  const turns = await throughline.turns({ model: echo });
  const server = createServer({ throughline, turns, version: "0.0.0" }); // publishes turns to the others
  const takeTurn = () => turns.submit("a", { content: "Where do the whales go in winter?" }).done;
  const args = [
    "dist/app/main.js",
    "serve",
    "--home",
    `${dir}/home`,
    "--store",
    url,
    "--port",
    "0",
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    for await (const line of createInterface({ input: child.stdout }))
      if (line.includes("listening on")) break;
    const used = usedBy(child.pid ?? Number.NaN);
    const during = async (work: () => Promise<unknown>) => {
      const [before, began] = [used(), performance.now()];
      await work();
      return { us: used() - before, tookMs: performance.now() - began };
    };
    for (let i = 0; i < 500; i++) await takeTurn(); // compiled code, in both
    const [idle, taken]: [number[], number[]] = [[], []];
    for (let round = 0; round < 7; round++) {
      const quiet = await during(() => pause(2_000));
      const busy = await during(async () => {
        for (let i = 0; i < each; i++) await takeTurn();
        await pause(200); // it gets the last of them, too
      });
      idle.push(quiet.us / quiet.tookMs);
      taken.push((busy.us - (quiet.us * busy.tookMs) / quiet.tookMs) / each);
    }
    const us = median(taken);
    return [
      {
        says: `an idle server uses ${us.toFixed(0)} us of the processor for each turn of another process, beside ${ms(median(idle))} a second for itself; against 100 us`,
        ratio: us / 100,
        target: 1,
      },
    ];
  } finally {
    child.kill("SIGTERM");
    await ended;
    await server.close();
    await world.close();
  }
}

const each = 300;
