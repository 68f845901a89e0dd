import type { Client, ClientConfig, Pool, PoolConfig } from "pg";
import { Failed } from "../../cli/failure.ts";

/** What is used of the client library of PostgreSQL: an optional peer. */
export interface Pg {
  readonly Client: new (config?: ClientConfig) => Client;
  readonly Pool: new (config: PoolConfig) => Pool;
}

/** The one place that imports it. */
const importPg = async (): Promise<Pg> => (await import("pg")).default;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it is not installed. */
export async function loadPg(load: () => Promise<Pg> = importPg): Promise<Pg> {
  try {
    return await load();
  } catch (cause) {
    throw new Failed("a postgres:// store needs the package pg, which is not installed", {
      code: "THROUGHLINE_CONFIGURATION",
      wayOut: "Install it where throughline is: npm install pg",
      cause,
    });
  }
}
