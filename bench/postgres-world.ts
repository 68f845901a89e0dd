// A database of its own for the figures, and what the same words cost in a table made by hand.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import pg from "pg";
import { chatProjection } from "../src/core/chat/chat-head.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { openPostgresStorage } from "../src/postgres/postgres.ts";
import { lexemesOf } from "../src/postgres/words.ts";
import { startPostgres } from "../test/support/test-postgres.ts";
import { echo, turn } from "./product.ts";

/** Whether a commit waits for the disk. Without it, what is measured is the work of both programs. */
export type Sync = "synced" | "unsynced";

/** A server, a storage, and a pool of the same connections for what is done by hand. */
export async function openPostgres(sync: Sync, connections: number) {
  const server = await startPostgres([
    ...(sync === "synced" ? [] : ["-c", "fsync=off"]),
    ...["-c", "shared_buffers=256MB", "-c", "max_wal_size=4GB"],
  ]);
  // One listens for the whole time, and is of no use to anybody else.
  const pool = new pg.Pool({ connectionString: server.url, max: connections + 1 });
  const storage = await openPostgresStorage({ pool, durability: "process" });
  const target = { provider: echo.provider, model: echo.model };
  const throughline = await openThroughline({ storage, ...target });
  await pool.query(`create table bare
    (chat text, seq bigint, body text not null, words tsvector, primary key (chat, seq))`);
  await pool.query("create index on bare using gin (words)");
  return {
    url: server.url,
    pool,
    storage,
    throughline,
    logs: storage.logs("chats", chatProjection),
    usedUs: usedBy(server.process.pid ?? Number.NaN),
    async close() {
      await throughline.close();
      await pool.end();
      await server.stop();
      rmSync(server.directory, { recursive: true, force: true });
    },
  };
}

export type PostgresWorld = Awaited<ReturnType<typeof openPostgres>>;

/** Tells what a process and its children have used of the processor up to now, in microseconds, on Linux. */
export function usedBy(pid: number): () => number {
  const nanoseconds = new Map<string, number>(); // of those that ended, too
  return () => {
    if (process.platform !== "linux") return Number.NaN;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").match(/\d+/g) ?? [];
    for (const each of [String(pid), ...children]) {
      for (const thread of tasksOf(each)) nanoseconds.set(thread, spentBy(thread));
    }
    return [...nanoseconds.values()].reduce((sum, spent) => sum + spent, 0) / 1_000;
  };
}

function tasksOf(pid: string): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}/schedstat`);
  } catch {
    return []; // it ended just now
  }
}

function spentBy(schedstat: string): number {
  try {
    return Number.parseInt(readFileSync(schedstat, "utf8"), 10);
  } catch {
    return 0; // the same
  }
}

const seqs = new Map<string, number>();
const insert = {
  name: "bare",
  text: "insert into bare (chat, seq, body, words) values ($1, $2, $3, $4::text::tsvector)",
};

/** The two messages of a turn and their words, as two INSERTs in one transaction. */
export async function insertTurn(pool: pg.Pool, chat: string): Promise<void> {
  const client = await pool.connect();
  await client.query("begin");
  for (const message of turn()) {
    const seq = (seqs.get(chat) ?? 0) + 1;
    seqs.set(chat, seq);
    const words = lexemesOf(message.content, chat);
    await client.query({ ...insert, values: [chat, seq, JSON.stringify(message), words] });
  }
  await client.query("commit");
  client.release();
}

/** Fills a chat up to so many messages, in batches. */
export async function fillChat({ throughline }: PostgresWorld, chat: string, messages: number) {
  for (let done = 0; done < messages; done += 500) {
    const turns = Math.min(250, (messages - done) / 2);
    await throughline.chats.append(chat, Array.from({ length: turns }, () => turn()).flat());
  }
}
