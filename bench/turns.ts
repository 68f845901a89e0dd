// One turn after the other, in one chat.
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { askChild, fillChat } from "./child.ts";
import { type Figure, ms } from "./figure.ts";
import type { FirstTurns } from "./first-turns.ts";
import { LmdbStore } from "./lmdb-store.ts";
import { offlineResponder, openThroughline, turn, turnSize } from "./product.ts";
import { RawFile } from "./raw-file.ts";
import type { Run } from "./run.ts";
import { median, spread } from "./samples.ts";
import { alternate, ratioOf, type Series } from "./slices.ts";
import { SqliteTable } from "./sqlite-table.ts";

const mid = ({ slices }: Series) => ms(median(slices));

function detailsOf(all: Readonly<Record<string, Series>>) {
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, { latencies, cpuUs }]) => [
      [`${name}, ms`, spread(latencies)],
      [`${name}, processor time in us`, Math.round(cpuUs)],
    ]),
  );
}

/** A durable turn in a warm process, against the floor, a table by hand and LMDB; flat at any length. */
export async function durableTurn({ dir, isFull }: Run): Promise<Figure[]> {
  const home = `${dir}/home`;
  const { bytes } = await turnSize(dir);
  const sizes = isFull ? [0, 20_000, 200_000, 1_000_000] : [0, 20_000, 200_000];
  for (const size of sizes.slice(1)) {
    await fillChat(home, `c${size}`, size);
  }
  const throughline = await openThroughline({ home });
  const floor = new RawFile(`${dir}/raw`, bytes);
  const aside = new RawFile(`${dir}/aside`, bytes);
  const table = new SqliteTable(`${dir}/table.db`);
  const lmdb = new LmdbStore(`${dir}/lmdb`);
  const ours = Object.fromEntries(
    sizes.map((size) => [`c${size}`, () => throughline.chats.append(`c${size}`, turn())]),
  );
  const contenders = {
    ...ours,
    floor: () => floor.writeDurably(),
    "through the thread pool": () => aside.writeAside(),
    "sqlite table": () => table.append("a"),
    lmdb: () => lmdb.append("a"),
  };
  await alternate(contenders, { slices: 6, each: 50 }); // compiled code
  const all: Readonly<Record<string, Series>> = await alternate(contenders, {
    slices: isFull ? 120 : 40,
    each: 25,
  });
  await throughline.close();
  await lmdb.close();
  for (const open of [floor, aside, table]) open.close();
  const against = (name: string, other: string) =>
    ratioOf(all[name]?.slices ?? [], all[other]?.slices ?? []);
  const say = (name: string) => mid(all[name] as Series);
  const figures = sizes.map((size): Figure => {
    const { ratio, between } = against(`c${size}`, "floor");
    return {
      says: `durable turn, ${size} messages in the chat (${say(`c${size}`)}), against write + fdatasync (${say("floor")}); half of the slices ${between}`,
      ratio,
      target: 1,
      ...(size === 0 ? { details: detailsOf(all) } : {}),
      ...(size === 200_000 ? { headline: headlineOf(against("c0", "floor").ratio, ratio) } : {}),
    };
  });
  for (const size of sizes.slice(1)) {
    figures.push({
      says: `durable turn at ${size} messages against 0 messages`,
      ratio: against(`c${size}`, "c0").ratio,
      target: 1.05,
    });
  }
  figures.push({
    says: `durable turn against a hand-written sqlite table, synchronous FULL (${say("sqlite table")})`,
    ratio: against("c0", "sqlite table").ratio,
    target: 1,
  });
  figures.push({
    says: `durable turn against lmdb, one batch a turn, flushed (${say("lmdb")})`,
    ratio: against("c0", "lmdb").ratio,
  });
  return figures;
}

const headlineOf = (empty: number, long: number) =>
  `a durable turn costs ${empty.toFixed(2)} times the floor with 0 messages in the chat, ${long.toFixed(2)} times with 200,000`;

/** The first turns of a process, with code that is not compiled yet. */
export async function firstTurns({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const all: FirstTurns[] = [];
  for (let round = 0; round < (isFull ? 31 : 11); round++) {
    all.push(
      await askChild(new URL("./first-turns.ts", import.meta.url), [
        `${dir}/${round}`,
        String(bytes),
      ]),
    );
  }
  const of = (name: keyof FirstTurns) => all.map((one) => one[name]);
  const { ratio, between } = ratioOf(of("ours"), of("floor"));
  return [
    {
      says: `durable turn, first 125 of a process (${ms(median(of("ours")))}), against write + fdatasync (${ms(median(of("floor")))}); half of the processes ${between}`,
      ratio,
      target: 1.3,
      details: {
        "the first turn, ms": median(of("first")),
        "sqlite table against write + fdatasync": ratioOf(of("table"), of("floor")).ratio,
      },
    },
  ];
}

/** Without a sync, against one write. */
export async function unsyncedTurn({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const throughline = await openThroughline({ home: `${dir}/home`, durability: "process" });
  const raw = new RawFile(`${dir}/raw`, bytes);
  const table = new SqliteTable(`${dir}/table.db`, "off");
  const contenders = {
    ours: () => throughline.chats.append("a", turn()),
    floor: () => raw.write(),
    "sqlite table": () => table.append("a"),
  };
  await alternate(contenders, { slices: 10, each: 100 });
  const all = await alternate(contenders, { slices: isFull ? 200 : 80, each: 100 });
  await throughline.close();
  for (const open of [raw, table]) open.close();
  const { ratio, between } = ratioOf(all.ours.slices, all.floor.slices);
  const sqlite = ratioOf(all["sqlite table"].slices, all.floor.slices).ratio;
  return [
    {
      says: `turn at level "process" (${mid(all.ours)}) against one write without a sync (${mid(all.floor)}); half of the slices ${between}`,
      ratio,
      target: 3,
      details: {
        "sqlite table, synchronous OFF, against the same write": sqlite,
        ...detailsOf(all),
      },
    },
  ];
}

/** A chat that does not exist yet, with its first turn. */
export async function newChat({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const throughline = await openThroughline({ home: `${dir}/home` });
  const content = Buffer.alloc(bytes, 97);
  let count = 0;
  const contenders = {
    ours: () => throughline.chats.append(`c${count++}`, turn()),
    floor: () => {
      const fd = openSync(`${dir}/raw${count++}`, "wx");
      writeSync(fd, content);
      fdatasyncSync(fd);
      closeSync(fd);
    },
  };
  await alternate(contenders, { slices: 4, each: 50 });
  const all = await alternate(contenders, { slices: isFull ? 80 : 30, each: 20 });
  await throughline.close();
  const { ratio, between } = ratioOf(all.ours.slices, all.floor.slices);
  return [
    {
      says: `a new chat with its first turn, durable (${mid(all.ours)}), against open + write + fdatasync of a new file (${mid(all.floor)}); half of the slices ${between}`,
      ratio,
      target: 1,
      details: detailsOf(all),
    },
  ];
}

/**
 * A whole turn with a model that answers at once: the question is durable before the model is asked, and the
 * model gets the history.
 */
export async function submittedTurn({ dir, isFull }: Run): Promise<Figure[]> {
  const { bytes } = await turnSize(dir);
  const home = `${dir}/home`;
  const sizes = [0, 1_000, 20_000];
  for (const size of sizes.slice(1)) await fillChat(home, `c${size}`, size);
  const throughline = await openThroughline({ home });
  const turns = await throughline.turns({ model: offlineResponder(), persona: "You are Nova." });
  const raw = new RawFile(`${dir}/raw`, bytes);
  const content = "Where do the whales go in winter?";
  let fresh = 0;
  const contenders = {
    floor: () => {
      raw.writeDurably();
      raw.writeDurably();
    },
    // Ten turns to a chat: it stays a short one.
    c0: () => turns.submit(`fresh${Math.floor(fresh++ / 10)}`, { content }).done,
    ...Object.fromEntries(
      sizes.slice(1).map((size) => [`c${size}`, () => turns.submit(`c${size}`, { content }).done]),
    ),
  };
  await alternate(contenders, { slices: 2, each: 20 });
  const all: Readonly<Record<string, Series>> = await alternate(contenders, {
    slices: isFull ? 60 : 20,
    each: 10,
  });
  await throughline.close();
  raw.close();
  return sizes.map((size) => ({
    says: `turns.submit with the offline model, ${size} messages in the chat (${mid(all[`c${size}`] as Series)}), against two writes, each with its fdatasync (${mid(all["floor"] as Series)})`,
    ratio: ratioOf(all[`c${size}`]?.slices ?? [], all["floor"]?.slices ?? []).ratio,
    ...(size === 0 ? { details: detailsOf(all) } : {}),
  }));
}
