// One turn after the other, in one chat.
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { askChild, fillChat } from "./child.ts";
import { closeAll, homeOf, namesAt, openContenders, openProduct } from "./contenders.ts";
import { type Figure, ms } from "./figure.ts";
import type { FirstTurns } from "./first-turns.ts";
import { echo, roots, turnSize } from "./product.ts";
import type { Run } from "./run.ts";
import { median, spread } from "./samples.ts";
import { alternate, ratioOf, type Series, type Work } from "./slices.ts";

const products = Object.keys(roots);
const isOurs = (name: string) => name.startsWith("ours");
const mid = ({ slices }: Series) => ms(median(slices));

/** What the time of a turn against the floor, and its processor time, may be. */
interface Goals {
  readonly target?: number;
  readonly mostUs?: number;
}

/** A row for each contender: its time against the floor's. And one for its processor time, where that has a goal. */
function rowsOf(
  what: string,
  all: Readonly<Record<string, Series>>,
  { target, mostUs }: Goals,
): Figure[] {
  const { floor, ...others } = all;
  if (floor === undefined) return [];
  return Object.entries(others).flatMap(([name, series]) => {
    const { ratio, between } = ratioOf(series.slices, floor.slices);
    const cpu = `${Math.round(series.cpuUs)} us of the processor, ${Math.round(series.threadUs)} of them in the main thread`;
    return [
      {
        says: `${what}, ${name} (${mid(series)}), against the floor (${mid(floor)}); half of the slices ${between}; ${cpu}`,
        ratio,
        ...(isOurs(name) && target !== undefined && { target }),
        ...(isOurs(name) && { details: { [`${name}, ms`]: spread(series.latencies) } }),
      },
      ...(mostUs !== undefined && isOurs(name)
        ? [{ says: `${what}, ${name}: us of the processor`, ratio: series.cpuUs, target: mostUs }]
        : []),
    ];
  });
}

/** A durable turn in a warm process; flat at any length of the chat. */
export async function durableTurn({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const sizes = isFull ? [0, 20_000, 1_000_000] : [0, 20_000];
  for (const name of products) {
    for (const size of sizes.slice(1)) await fillChat(homeOf(name, dir), `c${size}`, size, name);
  }
  const open = await openContenders({ dir, bytes });
  const contenders: Record<string, Work> = {};
  for (const [name, contender] of Object.entries(open)) {
    const counts = products.includes(name) ? sizes : [0];
    for (const size of counts) {
      contenders[products.includes(name) ? `${name} at ${size} messages` : name] = () =>
        contender.append(`c${size}`);
    }
  }
  await alternate(contenders, { slices: 6, each: 50 }); // compiled code
  const all = await alternate(contenders, { slices: isFull ? 120 : 40, each: 25 });
  await closeAll(open);
  const last = sizes.at(-1);
  const of = (size = 0) =>
    ratioOf(all[`ours at ${size} messages`]?.slices ?? [], all["floor"]?.slices ?? []).ratio;
  const flat = ratioOf(
    all[`ours at ${last} messages`]?.slices ?? [],
    all["ours at 0 messages"]?.slices ?? [],
  );
  return [
    ...rowsOf("durable turn", all, { target: 1, mostUs: 110 }),
    {
      says: `durable turn at ${last} messages against 0 messages`,
      ratio: flat.ratio,
      target: 1.05,
      headline: `a durable turn costs ${of().toFixed(2)} times the floor with 0 messages in the chat, ${of(last).toFixed(2)} times with ${last}`,
    },
  ];
}

/** The first turns of a process, with code that is not compiled yet. */
export async function firstTurns({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const names = namesAt("power-cut").filter((name) => name !== "floor");
  const all: Record<string, FirstTurns[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < (isFull ? 31 : 11); round++) {
    for (const name of names) {
      const args = [`${dir}/${name}${round}`, String(bytes), name];
      all[name]?.push(await askChild(new URL("./first-turns.ts", import.meta.url), args));
    }
  }
  return names.map((name) => {
    const of = (what: keyof FirstTurns) => (all[name] ?? []).map((one) => one[what]);
    const { ratio, between } = ratioOf(of("own"), of("floor"));
    return {
      says: `durable turn, first 125 of a process, ${name} (${ms(median(of("own")))}), against the floor (${ms(median(of("floor")))}); half of the processes ${between}; the very first ${ms(median(of("first")))}`,
      ratio,
      ...(isOurs(name) && { target: 1.4 }),
    };
  });
}

/** Without a sync, against one write. */
export async function unsyncedTurn({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const open = await openContenders({ dir, bytes, durability: "process" });
  const contenders = Object.fromEntries(
    Object.entries(open).map(([name, contender]) => [name, () => contender.append("a")]),
  );
  await alternate(contenders, { slices: 10, each: 100 });
  const all = await alternate(contenders, { slices: isFull ? 200 : 60, each: 100 });
  await closeAll(open);
  return rowsOf('turn at level "process"', all, { target: 6 });
}

/** A chat that does not exist yet, with its first turn. */
export async function newChat({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const { floor, ...open } = await openContenders({ dir, bytes });
  const content = Buffer.alloc(bytes, 97);
  let count = 0;
  const contenders: Record<string, Work> = {
    ...Object.fromEntries(
      Object.entries(open).map(([name, each]) => [name, () => each.append(`c${count++}`)]),
    ),
    floor: () => {
      const fd = openSync(`${dir}/raw${count++}`, "wx");
      writeSync(fd, content);
      fdatasyncSync(fd);
      closeSync(fd);
    },
  };
  await alternate(contenders, { slices: 4, each: 50 });
  const all = await alternate(contenders, { slices: isFull ? 80 : 30, each: 20 });
  await floor?.close();
  await closeAll(open);
  return rowsOf("a new chat with its first turn, durable", all, { target: 0.8 });
}

/**
 * A whole turn with a model that costs nothing: the question is durable before the model is asked, and the
 * model gets the history.
 */
export async function submittedTurn({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const sizes = [0, 1_000, 20_000];
  const floor = (await openContenders({ dir, bytes }, ["floor"]))["floor"];
  const contenders: Record<string, Work> = {
    floor: () => {
      floor?.append("a");
      floor?.append("a");
    },
  };
  const opened: { close(): unknown }[] = [];
  for (const name of products) {
    for (const size of sizes.slice(1)) await fillChat(homeOf(name, dir), `c${size}`, size, name);
    const throughline = await openProduct(name, { dir });
    const turns = await throughline.turns({ model: echo, persona: "You are Nova." });
    opened.push(throughline);
    let fresh = 0;
    for (const size of sizes) {
      // Ten turns to a chat that begins empty: it stays a short one.
      const chat = () => (size === 0 ? `fresh${Math.floor(fresh++ / 10)}` : `c${size}`);
      const content = "Where do the whales go in winter?";
      contenders[`${name} at ${size} messages`] = () => turns.submit(chat(), { content }).done;
    }
  }
  await alternate(contenders, { slices: 4, each: 10 });
  const all = await alternate(contenders, { slices: isFull ? 60 : 20, each: 5 });
  for (const throughline of opened) await throughline.close();
  await floor?.close();
  const what = "turns.submit with a model that costs nothing (the floor: two writes and syncs)";
  const { floor: two, ...others } = all;
  return Object.entries(others).flatMap(([name, series]) =>
    rowsOf(
      what,
      { floor: two as Series, [name]: series },
      name.includes("1000 ") ? { mostUs: 1_500 } : {},
    ),
  );
}
