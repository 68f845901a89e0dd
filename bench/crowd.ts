// Many chats at once: each begins its next turn when the last one is stored.
import { mkdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type { Throughline } from "../src/index.ts";
import { closeAll, openContenders } from "./contenders.ts";
import type { Figure } from "./figure.ts";
import { openThroughline, roots, turn, turnSize } from "./product.ts";
import { RawFile } from "./raw-file.ts";
import type { Run } from "./run.ts";
import { median, type Spread, spread } from "./samples.ts";
import { processorTime, ratioOf, settled } from "./slices.ts";

export interface Load {
  readonly perSecond: number;
  /** Of the processor for a turn, with what it leaves for later, in microseconds; and what the main thread took. */
  readonly cpuUs: number;
  readonly threadUs: number;
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
  const used = processorTime();
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
  await settled();
  const { all, own } = processorTime();
  const [cpuUs = 0, threadUs = 0] = [all - used.all, own - used.own].map(
    (us) => us / latencies.length,
  );
  return { perSecond, cpuUs, threadUs, latencies, delay: delayOf(delay) };
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
    const place = { dir: `${dir}/${count}`, bytes };
    mkdirSync(place.dir);
    const open = await openContenders(place);
    const loads: Record<string, Load[]> = {};
    for (let round = -1; round < (isFull ? 7 : 3); round++) {
      for (const [name, contender] of Object.entries(open)) {
        const forMs = round === -1 ? 1_000 : name === "floor" || name === "sqlite" ? 2_000 : 5_000;
        const done = await load(count, forMs, (chat) => contender.append(`c${chat}`));
        if (round === -1) continue; // compiled code, and every chat is there
        loads[name] = [...(loads[name] ?? []), done];
      }
    }
    await closeAll(open);
    figures.push(...burstFigures(count, loads));
  }
  return figures;
}

function burstFigures(count: number, loads: Readonly<Record<string, readonly Load[]>>): Figure[] {
  const rates = (name: string) => (loads[name] ?? []).map(({ perSecond }) => perSecond);
  const said = (name: string) => Math.round(median(rates(name))).toLocaleString("en");
  const goal = (most: object) => (count === 200 ? most : {});
  const what = `${count} chats at once, bursts of 5 s`;
  const figures = Object.entries(loads).flatMap(([name, all]): Figure[] => {
    if (name === "lmdb") return [];
    const { ratio, between } = ratioOf(rates(name), rates("lmdb"));
    const cpuUs = median(all.map((one) => one.cpuUs));
    const own = Math.round(median(all.map((one) => one.threadUs)));
    const delay = all[all.length >> 1]?.delay;
    const row = {
      says: `${what}: turns a second of ${name} (${said(name)}) against lmdb (${said("lmdb")}); half of the rounds ${between}; ${Math.round(cpuUs)} us of the processor a turn, ${own} of them in the main thread`,
      ratio,
    };
    if (name !== "ours") return [row];
    const details = {
      "ours, ms": spread(all.flatMap(({ latencies }) => latencies)),
      ...(delay && { "ours, delay of the event loop in ms": delay }),
    };
    return [
      { ...row, ...goal({ least: 0.8 }), details },
      { says: `${what}: us of the processor a turn`, ratio: cpuUs, ...goal({ target: 65 }) },
    ];
  });
  if (roots["base"] === undefined) return figures;
  return [
    ...figures,
    {
      says: `${what}: turns a second against the base (${said("base")})`,
      ratio: ratioOf(rates("ours"), rates("base")).ratio,
      ...goal({ least: 2.5 }),
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
