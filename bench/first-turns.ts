// node bench/first-turns.ts DIR BYTES: the first 125 turns of this process, in slices of 5 beside the floor.
import { mkdirSync } from "node:fs";
import { openThroughline, turn } from "./product.ts";
import { RawFile } from "./raw-file.ts";
import { alternate, type Series } from "./slices.ts";
import { SqliteTable } from "./sqlite-table.ts";

/** Milliseconds of a turn on average; and of the very first. */
export type FirstTurns = Readonly<Record<"ours" | "floor" | "table" | "first", number>>;

const [, , dir = "", bytes] = process.argv;
mkdirSync(dir);
const throughline = await openThroughline({ home: `${dir}/home` });
const raw = new RawFile(`${dir}/raw`, Number(bytes));
const sqlite = new SqliteTable(`${dir}/table.db`);
const contenders = {
  ours: () => throughline.chats.append("a", turn()),
  floor: () => raw.writeDurably(),
  table: () => sqlite.append("a"),
};
const { ours, floor, table } = await alternate(contenders, { slices: 25, each: 5 });
await throughline.close();
raw.close();
sqlite.close();
const mean = ({ slices }: Series) => slices.reduce((sum, slice) => sum + slice, 0) / slices.length;
const first = ours.latencies[0] ?? Number.NaN;
process.send?.({ ours: mean(ours), floor: mean(floor), table: mean(table), first });
process.disconnect?.();
