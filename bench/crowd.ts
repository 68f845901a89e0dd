// Many chats at once: each begins its next turn when the last one is stored.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type { Throughline } from "../src/index.ts";
import type { Figure } from "./figure.ts";
import { LmdbStore } from "./lmdb-store.ts";
import { openThroughline, turn, turnSize } from "./product.ts";
import { RawFile } from "./raw-file.ts";
import type { Run } from "./run.ts";
import { median, type Spread, spread } from "./samples.ts";
import { ratioOf } from "./slices.ts";
import { SqliteTable } from "./sqlite-table.ts";

export interface Load {
  readonly perSecond: number;
  readonly latencies: readonly number[];
  readonly delay: Spread;
}

/** What `chats` chats at once get done in so many milliseconds. */
export async function load(
  chats: number,
  forMs: number,
  once: (chat: number) => unknown,
): Promise<Load> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const latencies: number[] = [];
  delay.enable();
  const began = performance.now();
  const until = began + forMs;
  await Promise.all(
    Array.from({ length: chats }, async (_, chat) => {
      while (performance.now() < until) {
        const started = performance.now();
        await once(chat);
        latencies.push(performance.now() - started);
      }
    }),
  );
  const perSecond = (1_000 * latencies.length) / (performance.now() - began);
  delay.disable();
  return { perSecond, latencies, delay: delayOf(delay) };
}

/** In milliseconds. A loop with nothing to do has 1: that is how often it is looked at. */
export function delayOf(delay: ReturnType<typeof monitorEventLoopDelay>): Spread {
  const at = (share: number) => delay.percentile(share) / 1e6;
  return { p50: at(50), p95: at(95), p99: at(99), max: delay.max / 1e6 };
}

let marks = 0;

/** Stores a message with a word of its own. @returns how long a search takes until it finds it. */
export async function findNewest({ chats }: Throughline) {
  const word = `mark${++marks}of${process.pid}`;
  await chats.append("marks", turn(word));
  const acknowledged = performance.now();
  for (let tries = 1; ; tries++) {
    const started = performance.now();
    const [hit] = await chats.search(word, { limit: 1 });
    const ended = performance.now();
    const isFound = hit?.message.content.includes(word) === true;
    const sinceMs = ended - acknowledged;
    if (isFound || sinceMs > 60_000) return { isFound, tries, tookMs: ended - started, sinceMs };
    await pause(20);
  }
}

/** 200 chats and 2,000 chats in bursts, in turn with the floor and the peers. */
export async function bursts({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const figures: Figure[] = [];
  for (const count of [200, 2_000]) {
    const throughline = await openThroughline({ home: `${dir}/home${count}` });
    const lmdb = new LmdbStore(`${dir}/lmdb${count}`);
    const table = new SqliteTable(`${dir}/table${count}.db`);
    const files = Array.from({ length: count }, (_, i) => {
      return new RawFile(`${dir}/raw${count}-${i}`, bytes);
    });
    const ours = (chat: number) => throughline.chats.append(`c${chat}`, turn());
    const contenders: Record<string, [forMs: number, once: (chat: number) => unknown]> = {
      floor: [2_000, (chat) => files[chat]?.writeDurably()],
      ours: [5_000, ours],
      "through the thread pool": [2_000, (chat) => files[chat]?.writeAside()],
      "sqlite table": [2_000, (chat) => table.append(`c${chat}`)],
      lmdb: [5_000, (chat) => lmdb.append(`c${chat}`)],
    };
    await load(count, 1_000, ours); // compiled code, and every chat is there
    const loads: Record<string, Load[]> = {};
    const caughtUp: number[] = [];
    for (let round = 0; round < (isFull ? 7 : 3); round++) {
      for (const [name, [forMs, once]] of Object.entries(contenders)) {
        const done = await load(count, forMs, once);
        loads[name] = [...(loads[name] ?? []), done];
        if (name === "ours") caughtUp.push((await findNewest(throughline)).sinceMs);
        await pause(500);
      }
    }
    await throughline.close();
    await lmdb.close();
    for (const open of [table, ...files]) open.close();
    figures.push(...burstFigures(count, loads, caughtUp));
  }
  return figures;
}

function burstFigures(
  count: number,
  loads: Readonly<Record<string, readonly Load[]>>,
  caughtUp: readonly number[],
): Figure[] {
  const rates = (name: string) => (loads[name] ?? []).map(({ perSecond }) => perSecond);
  const said = (name: string) => Math.round(median(rates(name))).toLocaleString("en");
  const { ratio, between } = ratioOf(rates("ours"), rates("floor"));
  const details = Object.entries(loads).flatMap(([name, all]) => [
    [`${name}, turns a second`, Math.round(median(rates(name)))],
    [`${name}, ms`, spread(all.flatMap(({ latencies }) => latencies))],
    // What blocks all the time leaves the loop no moment in which its delay could be looked at.
    ...(all.some(({ delay }) => delay.max > 0)
      ? [[`${name}, delay of the event loop in ms`, all[all.length >> 1]?.delay]]
      : []),
  ]);
  return [
    {
      says: `${count} chats at once, bursts of 5 s: turns a second (${said("ours")}) against blocking write + fdatasync (${said("floor")}); half of the rounds ${between}`,
      ratio,
      ...(count === 200 ? { least: 8 } : {}),
      details: {
        ...Object.fromEntries(details),
        "after a burst until a search finds the newest message, ms": median(caughtUp),
      },
    },
    {
      says: `${count} chats at once, bursts of 5 s: turns a second against lmdb (${said("lmdb")})`,
      ratio: ratioOf(rates("ours"), rates("lmdb")).ratio,
      ...(count === 200 ? { least: 1 } : {}),
    },
  ];
}

/** 500 turns a second over 200 chats: what that leaves of the event loop. */
export async function paced({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const throughline = await openThroughline({ home: `${dir}/home` });
  const files = Array.from({ length: 200 }, (_, i) => new RawFile(`${dir}/raw${i}`, bytes));
  const contenders = {
    ours: (i: number) => throughline.chats.append(`c${i % 200}`, turn()),
    bare: async (i: number) => files[i % 200]?.writeAside(),
  };
  const delays: Record<keyof typeof contenders, Spread[]> = { ours: [], bare: [] };
  const latencies: Record<keyof typeof contenders, number[]> = { ours: [], bare: [] };
  for (let round = -1; round < (isFull ? 15 : 5); round++) {
    for (const name of ["ours", "bare"] as const) {
      const took: number[] = [];
      const delay = await pacedDelay(async (i) => {
        const started = performance.now();
        await contenders[name](i);
        took.push(performance.now() - started);
      });
      if (round === -1) continue; // compiled code
      delays[name].push(delay);
      latencies[name].push(...took);
    }
  }
  await throughline.close();
  for (const file of files) file.close();
  const p99s = (name: keyof typeof contenders) => delays[name].map(({ p99 }) => p99);
  const { ratio, between } = ratioOf(p99s("ours"), p99s("bare"));
  return [
    {
      says: `delay of the event loop, p99, at 500 turns a second (${median(p99s("ours")).toFixed(2)} ms) against bare asynchronous writes (${median(p99s("bare")).toFixed(2)} ms); half of the rounds ${between}`,
      ratio,
      target: 1.1,
      details: {
        "ours, ms": spread(latencies.ours),
        "bare, ms": spread(latencies.bare),
        "ours, longest delay of the event loop in ms": Math.max(...delays.ours.map((d) => d.max)),
        "bare, longest delay of the event loop in ms": Math.max(...delays.bare.map((d) => d.max)),
      },
    },
  ];
}

async function pacedDelay(once: (i: number) => Promise<void>): Promise<Spread> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const pending: Promise<void>[] = [];
  const started = performance.now();
  delay.enable();
  for (let i = 0; i < 1_000; i++) {
    pending.push(once(i));
    const wait = started + (i + 1) * 2 - performance.now();
    if (wait > 0) await pause(wait);
  }
  delay.disable();
  await Promise.all(pending);
  return delayOf(delay);
}
