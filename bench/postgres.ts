// What the same memories cost in PostgreSQL, against statements written by hand over the same connections.
import { type Figure, ms } from "./figure.ts";
import { appendTurn, expectedTurns, fill, head, interleaved } from "./measure.ts";
import { postgresServers } from "./postgres-servers.ts";
import { insertTurn, openPostgres, type PostgresWorld, type Sync } from "./postgres-world.ts";

const bothWays: readonly Sync[] = ["synced", "unsynced"];

/**
 * What is asked holds for a database that keeps its promise. One that does not sync shows what both
 * programs do, and no storage at level `"power-cut"` takes it.
 */
const targetOf = (sync: Sync, target: number) => (sync === "synced" ? { target } : {});

/** One turn after the other, over one connection. */
async function turn(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const sync of bothWays) {
    const world = await openPostgres(sync, 1);
    const { logs, pool } = world;
    const takeTurn = expectedTurns(logs);
    for (let i = 0; i < 500; i++) {
      await takeTurn("a");
      await insertTurn(pool, "a");
    }
    const { ours, floor } = await interleaved(1_000, {
      ours: () => takeTurn("a"),
      floor: () => insertTurn(pool, "a"),
    });
    await world.close();
    figures.push({
      says: `a turn in PostgreSQL, ${sync} (${ms(ours)}), against one INSERT of the same bytes (${ms(floor)})`,
      ratio: ours / floor,
      ...targetOf(sync, 1.25),
    });
  }
  return figures;
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
      says: `turns per second over 16 connections, ${sync}: bare INSERTs (${perSecond(times.floor)}) against ours (${perSecond(times.ours)}), at least 85 %`,
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

/** By name, as the command line takes them. */
export const postgresFigures: Readonly<Record<string, () => Promise<Figure[]>>> = {
  "pg-turn": turn,
  "pg-clients": clients,
  "pg-open": open,
  "pg-page": firstPage,
  "pg-servers": postgresServers,
};
