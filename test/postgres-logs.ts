// Logs of one companion in a database, whose words are stored when a test says so.

import { silentLogger } from "../src/logger.ts";
import { LeaseRegistry } from "../src/storage/lease-registry.ts";
import { Calls } from "../src/storage/postgres/calls.ts";
import type { PostgresPool } from "../src/storage/postgres/pool.ts";
import { PostgresLogStore } from "../src/storage/postgres/postgres-log-store.ts";
import type { IndexedPlace } from "../src/storage/postgres/unindexed.ts";
import { scopeOf } from "../src/storage/postgres/words.ts";
import { HeldClock } from "../src/testing/held-clock.ts";
import { HeldTimers } from "../src/testing/held-timers.ts";
import { contractProjection } from "../src/testing/log-store-contract-fixtures.ts";
import { databaseOf } from "./test-database.ts";

/** One server's logs, the place that they are in, and the time in which it works by itself. */
export function serverOf(pool: PostgresPool, companion: string, timeoutMs?: number) {
  const database = databaseOf(pool, timeoutMs);
  const clock = new HeldClock();
  const timers = new HeldTimers(clock);
  const calls = new Calls();
  const around = { clock, timers, calls, logger: silentLogger };
  const leases = new LeaseRegistry();
  const ports = { ...around, database, companion, leases };
  const collection = "chats";
  const scope = scopeOf(companion, collection);
  const place: IndexedPlace = {
    ...{ database, companion, collection, scope },
    projection: contractProjection,
  };
  return {
    log: new PostgresLogStore(ports, collection, contractProjection),
    place,
    timers,
    calls,
    leases,
  };
}
