// Runs contenders in alternating slices, so that the noise of the disk and of the machine hits all alike.
import { setTimeout as pause } from "node:timers/promises";
import { type Random, seededRandom } from "../src/testing/random.ts";
import { median, percentile } from "./samples.ts";

/** Blocks, or gives a promise. */
export type Work = () => unknown;

export interface Series {
  /** Of each operation, in milliseconds. */
  readonly latencies: number[];
  /** Of an operation on average, for each slice, in milliseconds. */
  readonly slices: number[];
  /** Of the processor for an operation, with what it leaves for later, in microseconds. */
  cpuUs: number;
  /** The part of it that the main thread took. */
  threadUs: number;
  /** Of the processor for an operation, in the program that is `watched`, in microseconds. */
  watchedUs: number;
}

interface Slices {
  readonly slices: number;
  readonly each: number;
  /** Tells what another program has used of the processor up to now, in microseconds. */
  readonly watched?: () => number;
}

/** What of the processor is used up to a moment, in microseconds. */
export function processorTime() {
  const all = process.cpuUsage();
  const own = process.threadCpuUsage();
  return { all: all.user + all.system, own: own.user + own.system };
}

const pauseMs = 10;
/** A process that does nothing uses less of a pause. */
const idleUs = 1_000;

/** Waits until what was left for later is done, so that no other contender pays for it: 5 s at most. */
export async function settled(): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const before = processorTime().all;
    await pause(pauseMs);
    if (processorTime().all - before < idleUs) return;
  }
}

/** Runs `slices` slices of `each` operations of every contender. */
export async function alternate<K extends string>(
  contenders: Readonly<Record<K, Work>>,
  { slices, each, watched = () => 0 }: Slices,
): Promise<Record<K, Series>> {
  const names = Object.keys(contenders) as K[];
  const none = { cpuUs: 0, threadUs: 0, watchedUs: 0 };
  const empty = (): Series => ({ latencies: [], slices: [], ...none });
  const all = Object.fromEntries(names.map((name) => [name, empty()])) as Record<K, Series>;
  const random = seededRandom(1);
  for (let slice = 0; slice < slices; slice++) {
    // Each round in an order of its own, so that none always runs in the wake of the same other.
    for (const name of shuffled(names, random)) {
      const series = all[name];
      const [used, watchedBefore] = [processorTime(), watched()];
      const began = performance.now();
      for (let i = 0; i < each; i++) {
        const started = performance.now();
        await contenders[name]();
        series.latencies.push(performance.now() - started);
      }
      series.slices.push((performance.now() - began) / each);
      await settled();
      const { all: cpu, own } = processorTime();
      series.cpuUs += (cpu - used.all) / (slices * each);
      series.threadUs += (own - used.own) / (slices * each);
      series.watchedUs += (watched() - watchedBefore) / (slices * each);
    }
  }
  return all;
}

export function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const left = [...items];
  return items.map(() => left.splice(random(left.length), 1)[0] as T);
}

/** The median of the ratios of slices that ran beside each other, and how far the ratios lie apart. */
export function ratioOf(ours: readonly number[], other: readonly number[]) {
  const ratios = ours.map((value, i) => value / (other[i] ?? Number.NaN));
  const between = `${percentile(ratios, 0.25).toFixed(2)} to ${percentile(ratios, 0.75).toFixed(2)}`;
  return { ratio: median(ratios), between };
}
