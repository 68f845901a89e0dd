// Logs of one companion in a database, in a time that a test lets pass.

import { randomId } from "../../src/core/ids.ts";
import { silentLogger } from "../../src/core/logger.ts";
import type { Epochs } from "../../src/core/storage/cluster-leases.ts";
import { Calls } from "../../src/postgres/calls.ts";
import type { PostgresPool } from "../../src/postgres/pool.ts";
import { PostgresLogStore } from "../../src/postgres/postgres-log-store.ts";
import { contractProjection } from "../../src/testing/log-store-contract-fixtures.ts";
import { HeldClock } from "./held-clock.ts";
import { HeldTimers } from "./held-timers.ts";
import { databaseOf } from "./test-database.ts";

/**
 * One server's logs, the place that they are in, and the time in which it works by itself.
 *
 * @param timeoutMs how long a call may take, in that time; 10 s of real time without it.
 */
export function serverOf(pool: PostgresPool, companion: string, timeoutMs?: number) {
  const clock = new HeldClock();
  const timers = new HeldTimers(clock);
  const database = databaseOf(
    pool,
    timeoutMs,
    timeoutMs === undefined ? undefined : { clock, timers },
  );
  const calls = new Calls();
  const around = { clock, timers, calls, logger: silentLogger };
  const epochs: Epochs = new Map();
  const ports = { ...around, database, companion, epochs, newId: randomId };
  const collection = "chats";
  return {
    log: new PostgresLogStore(ports, collection, contractProjection),
    timers,
    calls,
    epochs,
  };
}
