import { systemClock } from "../src/clock.ts";
import { silentLogger } from "../src/logger.ts";
import { Database } from "../src/storage/postgres/database.ts";
import type { PostgresPool } from "../src/storage/postgres/pool.ts";
import { systemTimers } from "../src/timers.ts";

/** The driver's way to a database, below its stores. */
export function databaseOf(pool: PostgresPool, timeoutMs = 10_000): Database {
  const ports = { clock: systemClock, timers: systemTimers, logger: silentLogger };
  return new Database({ pool, ...ports, random: () => 0, timeoutMs });
}
