// A database for servers that are killed: one that waits for its disk, as the driver demands.
import fs from "node:fs";
import { after } from "node:test";
import pg from "pg";
import { noPostgres, startPostgres } from "./test-postgres.ts";

export interface ClusterDatabase {
  /** Why nothing can be tested here; `false` if it can. */
  readonly skip: string | false;
  /** A new database: to serve from, and to look into. */
  make(): Promise<{ readonly store: string; readonly pool: pg.Pool }>;
}

/** Starts a server for this test file: gone when the file ends. */
export async function clusterDatabase(): Promise<ClusterDatabase> {
  const skip = noPostgres() ?? false;
  if (skip !== false) return { skip, make: () => Promise.reject(new Error(skip)) };
  const server = await startPostgres();
  const pools: pg.Pool[] = [];
  const open = (connectionString: string) => {
    const pool = new pg.Pool({ connectionString, max: 1, allowExitOnIdle: true });
    pool.on("error", () => undefined); // the server ends after the tests
    pools.push(pool);
    return pool;
  };
  after(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await server.stop();
    fs.rmSync(server.directory, { recursive: true, force: true });
  });
  const admin = open(server.url);
  return {
    skip,
    async make() {
      const url = new URL(server.url);
      url.pathname = `cluster_${pools.length}`;
      const name = url.pathname.slice(1);
      await admin.query(`create database ${name} template template0 encoding 'UTF8'`);
      return { store: url.href, pool: open(url.href) };
    },
  };
}
