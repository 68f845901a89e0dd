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
  /** Of the processor for an operation, in microseconds, with what it leaves for the next pause. */
  cpuUs: number;
}

/** After a slice what a contender left for later is done, so that no other contender pays for it. */
const pauseMs = 10;

/** Runs `slices` slices of `each` operations of every contender. */
export async function alternate<K extends string>(
  contenders: Readonly<Record<K, Work>>,
  { slices, each }: { readonly slices: number; readonly each: number },
): Promise<Record<K, Series>> {
  const names = Object.keys(contenders) as K[];
  const empty = (): Series => ({ latencies: [], slices: [], cpuUs: 0 });
  const all = Object.fromEntries(names.map((name) => [name, empty()])) as Record<K, Series>;
  const random = seededRandom(1);
  for (let slice = 0; slice < slices; slice++) {
    // Each round in an order of its own, so that none always runs in the wake of the same other.
    for (const name of shuffled(names, random)) {
      const series = all[name];
      const cpu = process.cpuUsage();
      const began = performance.now();
      for (let i = 0; i < each; i++) {
        const started = performance.now();
        await contenders[name]();
        series.latencies.push(performance.now() - started);
      }
      series.slices.push((performance.now() - began) / each);
      await pause(pauseMs);
      const { user, system } = process.cpuUsage(cpu);
      series.cpuUs += (user + system) / (slices * each);
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
