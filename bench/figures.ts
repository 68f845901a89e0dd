import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { boot, loopTick, save } from "./companion.ts";
import { type Figure, ms } from "./figure.ts";
import {
  appendTurn,
  fill,
  head,
  interleaved,
  median,
  openLogs,
  percentile,
  RawFile,
  scratch,
  sqliteTable,
  turnRecords,
} from "./measure.ts";

/** Bytes that one turn adds to a log, in a chat of its own. */
async function turnBytes(logs: Parameters<typeof appendTurn>[0], home: string): Promise<number> {
  const length = () => readFileSync(`${home}/chats/probe.jsonl`).lastIndexOf("\n") + 1;
  await appendTurn(logs, "probe");
  const before = length();
  await appendTurn(logs, "probe");
  return length() - before;
}

/** (a) One durable turn, against one write and one fdatasync of the same bytes. */
async function durableTurn(): Promise<Figure[]> {
  const dir = scratch();
  const { storage, logs } = await openLogs(`${dir.path}/home`);
  const raw = new RawFile(`${dir.path}/raw`);
  const database = new DatabaseSync(`${dir.path}/table.db`);
  const table = sqliteTable(database);
  const bytes = Buffer.alloc(await turnBytes(logs, `${dir.path}/home`), 97);
  const figures: Figure[] = [];
  const sizes = [0, 200, 2_000, 20_000, 200_000];
  for (const size of sizes) await fill(logs, `c${size}`, size);
  const ours = Object.fromEntries(
    sizes.map((size) => [`c${size}`, async () => void (await appendTurn(logs, `c${size}`))]),
  );
  const floor = () => raw.write(bytes, true);
  for (const size of sizes) await appendTurn(logs, `c${size}`);
  const times: Record<string, number> = await interleaved(1_500, { ...ours, floor, table });
  const floorMs = times["floor"] ?? Number.NaN;
  for (const size of sizes) {
    const time = times[`c${size}`] ?? Number.NaN;
    figures.push({
      says: `durable turn with ${size} messages in the chat (${ms(time)}) against write + fdatasync (${ms(floorMs)})`,
      ratio: time / floorMs,
      target: 1.3,
    });
  }
  figures.push({
    says: "durable turn at 20,000 messages against 0 messages",
    ratio: (times["c20000"] ?? Number.NaN) / (times["c0"] ?? Number.NaN),
    target: 1.05,
  });
  figures.push({
    says: `durable turn against a hand-written node:sqlite table, synchronous FULL (${ms(times["table"] ?? Number.NaN)})`,
    ratio: (times["c0"] ?? Number.NaN) / (times["table"] ?? Number.NaN),
    target: 1,
  });
  await storage.close();
  raw.close();
  database.close();
  dir.remove();
  return figures;
}

/** (a) Without sync, against a raw append. */
async function unsyncedTurn(): Promise<Figure[]> {
  const dir = scratch();
  const { storage, logs } = await openLogs(`${dir.path}/home`, "process");
  const raw = new RawFile(`${dir.path}/raw`);
  const bytes = Buffer.alloc(await turnBytes(logs, `${dir.path}/home`), 97);
  const { ours, floor } = await interleaved(4_000, {
    ours: async () => void (await appendTurn(logs, "a")),
    floor: () => raw.write(bytes, false),
  });
  await storage.close();
  raw.close();
  dir.remove();
  return [
    {
      says: `turn at level "process" (${ms(ours)}) against a raw append (${ms(floor)})`,
      ratio: ours / floor,
      target: 2.5,
    },
  ];
}

/** (b) A new process that imports, opens and reads the newest 50 of 200,000 messages. */
async function coldOpen(): Promise<Figure[]> {
  const dir = scratch();
  const figures: Figure[] = [];
  const dist = `${process.cwd()}/dist/index.js`;
  for (const size of [2_000, 200_000]) {
    const { storage, logs } = await openLogs(`${dir.path}/home${size}`);
    await fill(logs, "a", size);
    await storage.close();
  }
  const sample = readFileSync(`${dir.path}/home2000/chats/a.jsonl`, "utf8");
  writeFileSync(
    `${dir.path}/json`,
    `[${sample
      .split("\n")
      .slice(1, 90)
      .filter((line) => line.startsWith('{"id"'))
      .join(",")}]`.slice(0),
  );
  const readScript = `import fs from "node:fs"; JSON.parse(fs.readFileSync(${JSON.stringify(`${dir.path}/json`)}, "utf8"));`;
  const openScript = (size: number) =>
    `import { openThroughline } from ${JSON.stringify(dist)}; const t = await openThroughline({ home: ${JSON.stringify(`${dir.path}/home${size}`)} }); const p = await t.chats.messages("a", { limit: 50 }); if (p.messages.length !== 50) throw new Error("no"); console.log(process.memoryUsage().rss); process.exit(0);`;
  const rss: Record<string, number[]> = { small: [], large: [] };
  const run = (script: string) => {
    const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error("the bench's child process failed");
    return Number(stdout);
  };
  const times = await interleaved(15, {
    read: () => void run(readScript),
    small: () => void rss["small"]?.push(run(openScript(2_000))),
    large: () => void rss["large"]?.push(run(openScript(200_000))),
  });
  figures.push({
    says: `a process that imports, opens a 200,000-message chat and reads 50 (${ms(times.large)}) against one that reads and parses 64 KiB (${ms(times.read)})`,
    ratio: times.large / times.read,
    target: 3,
  });
  figures.push({
    says: "memory of that process at 200,000 messages against 2,000",
    ratio: median(rss["large"] ?? []) / median(rss["small"] ?? []),
    target: 1.1,
  });
  dir.remove();
  return figures;
}

/** (c) The first page of 50 out of 10,000 chats. */
async function firstPage(): Promise<Figure[]> {
  const dir = scratch();
  const { storage, logs } = await openLogs(`${dir.path}/home`, "process");
  const rows: string[] = [];
  for (let i = 0; i < 10_000; i++) {
    await appendTurn(logs, `telegram:${i}`);
    rows.push(JSON.stringify({ key: `telegram:${i}`, ...head }));
  }
  await logs.list({ limit: 1 });
  writeFileSync(`${dir.path}/rows`, rows.join("\n"));
  const { ours, floor } = await interleaved(200, {
    ours: async () => void (await logs.list({ limit: 50 })),
    floor: () => {
      const parsed = readFileSync(`${dir.path}/rows`, "utf8")
        .split("\n")
        .map((line) => JSON.parse(line) as object);
      if (parsed.length !== 10_000) throw new Error("no");
    },
  });
  await storage.close();
  dir.remove();
  return [
    {
      says: `first page of 50 of 10,000 chats (${ms(ours)}) against reading and parsing one lean JSON row a chat (${ms(floor)})`,
      ratio: ours / floor,
      target: 0.3,
    },
  ];
}

/** (d) 200 chats at once. */
async function manyChats(): Promise<Figure[]> {
  const dir = scratch();
  const { storage, logs } = await openLogs(`${dir.path}/home`);
  const bytes = Buffer.alloc(await turnBytes(logs, `${dir.path}/home`), 97);
  const keys = Array.from({ length: 200 }, (_, i) => `c${i}`);
  for (const key of keys) await appendTurn(logs, key);
  const raw = keys.map((key) => new RawFile(`${dir.path}/raw-${key}`));
  const turns = async () => void (await Promise.all(keys.map((key) => appendTurn(logs, key))));
  for (let round = 0; round < 20; round++) await turns(); // compiled code
  const { ours, floor, bare } = await interleaved(60, {
    ours: turns,
    floor: () => {
      for (const file of raw) file.writeBlocking(bytes);
    },
    bare: async () => void (await Promise.all(raw.map((file) => file.write(bytes, true)))),
  });
  const figures: Figure[] = [
    {
      says: `turns per second of the blocking raw floor against ours, 200 chats at once (${Math.round(200_000 / floor)} against ${Math.round(200_000 / ours)}); the goal is 3.5 times the floor`,
      ratio: ours / floor,
      target: 1 / 3.5,
    },
    {
      says: "the same for bare asynchronous write + fdatasync: what this disk gives at most",
      ratio: bare / floor,
    },
  ];
  const paced = async (turn: (i: number) => Promise<unknown>) => {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const pending: Promise<unknown>[] = [];
    const started = performance.now();
    delay.enable();
    for (let i = 0; i < 1_000; i++) {
      pending.push(turn(i));
      const next = started + (i + 1) * 2;
      const wait = next - performance.now();
      if (wait > 0) await pause(wait);
    }
    delay.disable();
    await Promise.all(pending);
    return delay.percentile(99) / 1e6;
  };
  const loops: Record<string, number[]> = { ours: [], bare: [] };
  for (let round = 0; round < 5; round++) {
    loops["ours"]?.push(await paced((i) => appendTurn(logs, keys[i % 200] ?? "")));
    loops["bare"]?.push(await paced((i) => raw[i % 200]?.write(bytes, true) ?? Promise.resolve()));
  }
  const p99 = { ours: median(loops["ours"] ?? []), bare: median(loops["bare"] ?? []) };
  figures.push({
    says: `event-loop delay p99 at 500 turns a second (${ms(p99.ours)}) against bare asynchronous writes (${ms(p99.bare)})`,
    ratio: p99.ours / p99.bare,
    target: 1.2,
  });
  await storage.close();
  for (const file of raw) file.close();
  dir.remove();
  return figures;
}

/** (e) Bytes on disk against the JSON of what was recorded: messages, usage and the session. */
async function bytesPerTurn(): Promise<Figure[]> {
  const dir = scratch();
  const { storage, logs } = await openLogs(`${dir.path}/home`);
  const written = await turnBytes(logs, `${dir.path}/home`);
  const records = turnRecords().map((record) => JSON.stringify(record).length + 1);
  const own = records.reduce((sum, length) => sum + length, 0) + JSON.stringify(head).length;
  await storage.close();
  dir.remove();
  return [
    {
      says: `bytes in the log for a turn (${written}) against the JSON of its records, the session's included (${own})`,
      ratio: written / own,
      target: 1.25,
    },
  ];
}

/** (f) What importing costs. The ratio is in milliseconds, against 5. */
async function importTime(): Promise<Figure[]> {
  const dist = JSON.stringify(`${process.cwd()}/dist/index.js`);
  const script = `const a = performance.now(); await import(${dist}); console.log(performance.now() - a);`;
  const samples = Array.from({ length: 21 }, () =>
    Number(
      spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })
        .stdout,
    ),
  );
  return [
    {
      says: `importing throughline takes ${ms(median(samples))} (p90 ${ms(percentile(samples, 0.9))}); against 5 ms`,
      ratio: median(samples) / 5,
      target: 1,
    },
  ];
}

export const figures: Readonly<Record<string, () => Promise<Figure[]>>> = {
  turn: durableTurn,
  unsynced: unsyncedTurn,
  open: coldOpen,
  list: firstPage,
  many: manyChats,
  bytes: bytesPerTurn,
  import: importTime,
  tick: loopTick,
  save,
  boot,
};
