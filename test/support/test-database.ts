import { type Clock, systemClock } from "../../src/core/clock.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { systemTimers, type Timers } from "../../src/core/timers.ts";
import { Database } from "../../src/postgres/database.ts";
import type { PostgresPool } from "../../src/postgres/pool.ts";

/** The driver's way to a database, below its stores. @param time in which deadlines pass. */
export function databaseOf(
  pool: PostgresPool,
  timeoutMs = 10_000,
  time: { readonly clock: Clock; readonly timers: Timers } = {
    clock: systemClock,
    timers: systemTimers,
  },
): Database {
  const ports = { ...time, logger: silentLogger };
  return new Database({ pool, ...ports, random: () => 0, timeoutMs });
}
