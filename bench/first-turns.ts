// node bench/first-turns.ts DIR BYTES NAME: the first 125 turns of a contender in this process, in slices of 5
// beside the floor.
import { mkdirSync } from "node:fs";
import { closeAll, openContenders } from "./contenders.ts";
import { alternate, type Series } from "./slices.ts";

/** Milliseconds of a turn on average; and of the very first. */
export type FirstTurns = Readonly<Record<"own" | "floor" | "first", number>>;

const [, , dir = "", bytes, name = ""] = process.argv;
mkdirSync(dir);
const open = await openContenders({ dir, bytes: Number(bytes) }, ["floor", name]);
const all = await alternate(
  { floor: () => open["floor"]?.append("a"), own: () => open[name]?.append("a") },
  { slices: 25, each: 5 },
);
await closeAll(open);
const mean = ({ slices }: Series) => slices.reduce((sum, slice) => sum + slice, 0) / slices.length;
const first = all.own.latencies[0] ?? Number.NaN;
process.send?.({ own: mean(all.own), floor: mean(all.floor), first });
process.disconnect?.();
