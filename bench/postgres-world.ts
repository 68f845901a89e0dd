// A database of its own for the figures, and what a turn would cost in a table made by hand.
import { rmSync } from "node:fs";
import pg from "pg";
import { chatProjection } from "../src/core/chat/chat-head.ts";
import { openPostgresStorage } from "../src/postgres/postgres.ts";
import { startPostgres } from "../test/support/test-postgres.ts";
import { head, turnRecords } from "./measure.ts";

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
  await pool.query(`create table bare
    (chat text, seq bigint, body text not null, primary key (chat, seq))`);
  return {
    url: server.url,
    pool,
    logs: storage.logs("chats", chatProjection),
    async close() {
      await storage.close();
      await pool.end();
      await server.stop();
      rmSync(server.directory, { recursive: true, force: true });
    },
  };
}

export type PostgresWorld = Awaited<ReturnType<typeof openPostgres>>;

const seqs = new Map<string, number>();

/** What a turn stores, its records and the head, as one INSERT of as many rows; its plan is kept. */
export async function insertTurn(pool: pg.Pool, chat: string): Promise<void> {
  const bodies = [...turnRecords(), head].map((value) => JSON.stringify(value));
  const seq = seqs.get(chat) ?? 0;
  seqs.set(chat, seq + bodies.length);
  const rows = bodies.map((_, i) => `($1, $${2 * i + 2}, $${2 * i + 3})`);
  await pool.query({
    name: `bare_${bodies.length}`,
    text: `insert into bare (chat, seq, body) values ${rows.join(", ")}`,
    values: [chat, ...bodies.flatMap((body, i) => [seq + i + 1, body])],
  });
}
