// What the same memories cost in PostgreSQL, against statements written by hand over the same connections.
import { setTimeout as pause } from "node:timers/promises";
import { concurrently } from "../src/core/concurrently.ts";
import type { Lease } from "../src/core/storage/leases.ts";
import { type Figure, ms } from "./figure.ts";
import { appendTurn, expectedTurns, fill, head, interleaved } from "./measure.ts";
import { idleServer, postgresServers } from "./postgres-servers.ts";
import {
  fillChat,
  insertTurn,
  openPostgres,
  type PostgresWorld,
  type Sync,
} from "./postgres-world.ts";
import { echo, turn as turnOf } from "./product.ts";
import type { Run } from "./run.ts";
import { median, spread } from "./samples.ts";
import { alternate, processorTime, type Series, settled } from "./slices.ts";

const bothWays: readonly Sync[] = ["synced", "unsynced"];

/**
 * What is asked holds for a database that keeps its promise. One that does not sync shows what both
 * programs do, and no storage at level `"power-cut"` takes it.
 */
const targetOf = (sync: Sync, target: number) => (sync === "synced" ? { target } : {});

/** One append after the other, over one connection. */
async function turn(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const sync of bothWays) {
    const world = await openPostgres(sync, 1);
    const append = expectedTurns(world.logs);
    const contenders = {
      ours: async () => void (await world.throughline.chats.append("a", turnOf())),
      driver: () => append("b"),
      floor: () => insertTurn(world.pool, "a"),
    };
    await interleaved(500, contenders);
    const { ours, driver, floor } = await interleaved(1_000, contenders);
    await world.close();
    const against = `of two messages in PostgreSQL, ${sync}, against two INSERTs of them with their words in one transaction (${ms(floor)})`;
    figures.push(
      {
        says: `chats.append, which reads the head first (${ms(ours)}), ${against}`,
        ratio: ours / floor,
        target: 1.3,
      },
      {
        says: `the driver's append alone (${ms(driver)}), ${against}`,
        ratio: driver / floor,
        target: 1.3,
      },
    );
  }
  return figures;
}

/** So many turns are taken in one short chat, which stays a short one. */
const turnsInShort = 5;

/** A whole turn with a model that costs nothing: what both programs use of the processor. */
async function submit(): Promise<Figure[]> {
  const world = await openPostgres("synced", 2);
  const { throughline, pool, usedUs: watched } = world;
  const turns = await throughline.turns({ model: echo, persona: "You are Nova." });
  const take = (chat: string) => turns.submit(chat, { content: "Where do the whales go?" }).done;
  const each = 5 * turnsInShort;
  const warm = { slices: 12, each };
  const measured = { slices: 30, each, watched };
  for (let i = 0; i < ((warm.slices + measured.slices) * each) / turnsInShort; i++) {
    await fillChat(world, `short${i}`, 8);
    await take(`short${i}`);
  }
  await fillChat(world, "long", 200_000);
  await pool.query("vacuum analyze");
  let short = 0;
  const contenders = {
    floor: () => insertTurn(pool, "a"),
    at10: () => take(`short${Math.floor(short++ / turnsInShort)}`),
    at200000: () => take("long"),
  };
  await alternate(contenders, warm);
  const all = await alternate(contenders, measured);
  await world.close();
  const client = ({ cpuUs }: Series) => cpuUs;
  const both = ({ cpuUs, watchedUs }: Series) => cpuUs + watchedUs;
  const rows = Object.entries({ "this process": client, "this process and the database": both });
  const us = (value: number) => `${Math.round(value)} us`;
  const [ten, many] = [both(all.at10), both(all.at200000)];
  return [
    ...rows.flatMap(([whose, of]) =>
      ([10, 200_000] as const).map((size) => ({
        says: `turns.submit in PostgreSQL at ${size} messages with a model that costs nothing, processor time of ${whose} (${us(of(all[`at${size}`]))}), against two INSERTs of the same kind in one transaction (${us(of(all.floor))})`,
        ratio: of(all[`at${size}`]) / of(all.floor),
        target: 4,
      })),
    ),
    {
      says: `turns.submit in PostgreSQL at 200000 messages (${us(many)} of the processor, database included) against 10 (${us(ten)})`,
      ratio: many / ten,
      target: 1.05,
    },
  ];
}

/** 16 chats at once over 16 connections. */
async function clients(): Promise<Figure[]> {
  const figures: Figure[] = [];
  const count = 16;
  const turnsEach = 8;
  const chats = Array.from({ length: count }, (_, i) => `c${i}`);
  const inEach = (once: (chat: string) => Promise<unknown>) => async () => {
    await Promise.all(
      chats.map(async (chat) => {
        for (let i = 0; i < turnsEach; i++) await once(chat);
      }),
    );
  };
  for (const sync of bothWays) {
    const world = await openPostgres(sync, count);
    const ours = inEach(expectedTurns(world.logs));
    const floor = inEach((chat) => insertTurn(world.pool, chat));
    await ours();
    await floor();
    const times = await interleaved(60, { ours, floor });
    await world.close();
    const perSecond = (time: number) => Math.round((1_000 * count * turnsEach) / time);
    figures.push({
      says: `turns per second over 16 connections, ${sync}: two INSERTs in a transaction (${perSecond(times.floor)}) against ours (${perSecond(times.ours)}), at least 85 %`,
      ratio: times.ours / times.floor,
      ...targetOf(sync, 1 / 0.85),
    });
  }
  return figures;
}

/** The head and the newest 50 of 200,000 messages. */
async function open(): Promise<Figure[]> {
  const world = await openPostgres("unsynced", 1);
  const { logs, pool } = world;
  await fill(logs, "a", 200_000);
  await pool.query(`insert into bare select key, seq, body from throughline.records`);
  await pool.query("vacuum analyze");
  const newest = {
    name: "newest",
    text: "select seq, body from bare where chat = $1 order by seq desc limit 50",
  };
  const { ours, floor } = await interleaved(500, {
    ours: async () => {
      const tail = await logs.tail("a", 50);
      if (tail?.records.length !== 50) throw new Error("no");
    },
    floor: async () => {
      const { rows } = await pool.query({ ...newest, values: ["a"] });
      if (rows.length !== 50) throw new Error("no");
    },
  });
  await world.close();
  return [
    {
      says: `head and newest 50 of 200,000 messages (${ms(ours)}) against an indexed SELECT of those rows (${ms(floor)})`,
      ratio: ours / floor,
      target: 3,
    },
  ];
}

/** The first page of 50 out of 100,000 chats. */
async function firstPage(): Promise<Figure[]> {
  const world = await openPostgres("unsynced", 1);
  await fillChats(world, 100_000);
  const { ours } = await interleaved(300, {
    ours: async () => {
      const { rows } = await world.logs.list({ limit: 50 });
      if (rows.length !== 50) throw new Error("no");
    },
  });
  await world.close();
  return [
    {
      says: `first page of 50 of 100,000 chats (${ms(ours)}), against 10 ms`,
      ratio: ours / 10,
      target: 1,
    },
  ];
}

/** Chats as appends leave them, each with a head of its own instant. */
async function fillChats({ logs, pool }: PostgresWorld, count: number): Promise<void> {
  await appendTurn(logs, "telegram:0");
  await pool.query(
    `insert into throughline.logs (companion, collection, key, seq, head, sorted_at, labels)
     select companion, collection, 'telegram:' || n, seq, $2,
       to_char(timestamptz '2026-01-01' + n * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), labels
     from throughline.logs, generate_series(1, $1::int) as n where collection = 'chats'`,
    [count, JSON.stringify(head)],
  );
  await pool.query("analyze throughline.logs");
}

/** Words that stand in so many of the messages: one in each of these many. */
const rarity = { narwhal: 200_000, beluga: 2_000, orca: 20 } as const;

/** Searches for a rare word, a less rare one and a common one. */
async function search({ isFull }: Run): Promise<Figure[]> {
  const world = await openPostgres("unsynced", 8);
  const { throughline, pool } = world;
  const count = isFull ? 1_000_000 : 200_000;
  const inChat = 1_000;
  const content = (i: number) => {
    const rare = Object.entries(rarity).flatMap(([word, each]) => (i % each === 0 ? [word] : []));
    return ["the grey whale of day", i % 365, "swims north in winter", ...rare].join(" ");
  };
  const fillOne = async (chat: number) => {
    const messages = Array.from({ length: inChat }, (_, i) => {
      return { role: "user", content: content(chat * inChat + i) } as const;
    });
    await throughline.chats.append(`c${chat}`, messages, { heard: false });
  };
  const all = Array.from({ length: count / inChat }, (_, chat) => chat);
  await concurrently(all, 8, fillOne);
  await pool.query("vacuum analyze");
  const figures: Figure[] = [];
  for (const [word, each] of Object.entries(rarity)) {
    const times: number[] = [];
    let found = 0;
    for (let round = 0; round < 30; round++) {
      const started = performance.now();
      found = (await throughline.chats.search(word, { limit: 50 })).length;
      times.push(performance.now() - started);
    }
    const hits = count / each;
    figures.push({
      says: `a search for a word in ${hits} of ${count} messages (${ms(median(times))}) against 200 ms`,
      ratio: median(times) / 200,
      target: 1,
      isRight: found === Math.min(hits, 50),
      details: { "all of them, the first included, ms": spread(times) },
    });
  }
  await world.close();
  return figures;
}

/** 10,000 leases of one process for a minute. */
async function leases(): Promise<Figure[]> {
  const world = await openPostgres("synced", 16);
  const { storage, pool, usedUs } = world;
  const count = 10_000;
  const seconds = 60;
  const names = Array.from({ length: count }, (_, i) => ({ collection: "chats", key: `c${i}` }));
  const taken: Lease[] = [];
  await concurrently(names, 16, async (name) => {
    taken.push(await storage.leases.acquire(name));
  });
  await settled();
  const [used, before] = [processorTime().all, usedUs()];
  await pause(1_000 * seconds);
  const [own, database] = [processorTime().all - used, usedUs() - before];
  const { rows } = await pool.query(`select from throughline.logs join throughline.processes
    on process = owner where alive_until > now()`);
  const lost = taken.filter((lease) => lease.lost.aborted).length;
  await world.close();
  return [
    {
      says: `${count} leases of one process for ${seconds} s, ${lost} lost, ${rows.length} held in the database: ms of the processor in all, ${ms(own / 1_000)} of this process, ${ms(database / 1_000)} of the database`,
      ratio: (own + database) / 1_000,
      isRight: lost === 0 && rows.length === count,
    },
  ];
}

/** By name, as the command line takes them. */
export const postgresFigures: Readonly<Record<string, (run: Run) => Promise<Figure[]>>> = {
  "pg-turn": turn,
  "pg-submit": submit,
  "pg-clients": clients,
  "pg-open": open,
  "pg-page": firstPage,
  "pg-search": search,
  "pg-leases": leases,
  "pg-servers": postgresServers,
  "pg-idle": idleServer,
};
