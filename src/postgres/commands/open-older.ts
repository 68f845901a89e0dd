import type { PostgresLocation } from "../../cli/store-location.ts";
import { systemClock } from "../../core/clock.ts";
import { randomId } from "../../core/ids.ts";
import { silentLogger } from "../../core/logger.ts";
import { LeaseRegistry } from "../../core/storage/lease-registry.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { systemTimers } from "../../core/timers.ts";
import { Calls } from "../calls.ts";
import { Database } from "../database.ts";
import { PostgresFleet } from "../fleet.ts";
import { PostgresStorage } from "../postgres-storage.ts";
import { openPool } from "./open-pool.ts";
import { endingAfter } from "./open-store.ts";

const timeoutMs = 10_000;

/**
 * A store whose schema is older than this program, only to be read: it is not brought up to date, and
 * who works on it hears nothing of this process. Lists and reads need no more than the first migration
 * made; the first one after which they need more makes them fail with `THROUGHLINE_CONFIGURATION`.
 */
export async function openOlderStore(location: PostgresLocation): Promise<Storage> {
  const { pool, end } = await openPool(location);
  const ports = { clock: systemClock, timers: systemTimers, logger: silentLogger };
  const database = new Database({ ...ports, pool, random: () => 0.5, timeoutMs });
  const { companion } = location;
  const shared = { ...ports, database, companion, leases: new LeaseRegistry(), newId: randomId };
  // It is never opened: it sweeps nothing, listens to nobody and takes no connection.
  const fleet = new PostgresFleet({ ...shared, leaseMs: timeoutMs });
  return endingAfter(new PostgresStorage({ ...shared, calls: new Calls() }, fleet), end);
}
