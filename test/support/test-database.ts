import { systemClock } from "../../src/core/clock.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { systemTimers } from "../../src/core/timers.ts";
import { Database } from "../../src/postgres/database.ts";
import type { PostgresPool } from "../../src/postgres/pool.ts";

/** The driver's way to a database, below its stores. */
export function databaseOf(pool: PostgresPool, timeoutMs = 10_000): Database {
  const ports = { clock: systemClock, timers: systemTimers, logger: silentLogger };
  return new Database({ pool, ...ports, random: () => 0, timeoutMs });
}
