// PostgreSQL under the contracts of the storage: the entry point `throughline/postgres`.
import { type Clock, systemClock } from "../core/clock.ts";
import { type NewId, randomId } from "../core/ids.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import {
  amount,
  anObject,
  byDefault,
  misconfigured,
  must,
  type Options,
  resolveOptions,
} from "../core/options.ts";
import type { Epochs } from "../core/storage/cluster-leases.ts";
import { checkKey } from "../core/storage/key.ts";
import { type Durability, durabilityCheck } from "../core/storage/storage.ts";
import { systemTimers, type Timers } from "../core/timers.ts";
import { Calls } from "./calls.ts";
import { Database } from "./database.ts";
import type { PostgresPool } from "./pool.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { longestName, PostgresStorage } from "./postgres-storage.ts";
import { ensureSchema } from "./schema.ts";

export type {
  PostgresAnswer,
  PostgresClient,
  PostgresNotification,
  PostgresPool,
  PostgresStatement,
  Row,
} from "./pool.ts";
export type { PostgresStorage } from "./postgres-storage.ts";

export interface PostgresStorageOptions {
  /**
   * Connections for this storage alone, whose sessions it sets up: two at least, since one listens to the
   * other processes. The caller ends it, last.
   */
  readonly pool: PostgresPool;
  /**
   * Whose logs and documents these are: 1 to 200 bytes. Companions in one database see nothing of each
   * other.
   * @default "default"
   */
  readonly companion?: string | undefined;
  /**
   * How long a call may take, in milliseconds: the wait for a connection, its statements, and every
   * time that it is tried again. If it is then unknown whether a write was stored, it has as long
   * again to settle that. A single statement may take half of it.
   * @default 10_000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * How long the leases of a process outlive it when it was killed, in milliseconds. A process that cannot
   * reach the database for nine tenths of it loses its leases.
   * @default 5_000
   */
  readonly leaseMs?: number | undefined;
  /**
   * With `"power-cut"`, a database that acknowledges what is not on its disk is refused: one with
   * `fsync` or `synchronous_commit` off.
   * @default "power-cut"
   */
  readonly durability?: Durability | undefined;
  readonly clock?: Clock | undefined;
  readonly timers?: Timers | undefined;
  readonly newId?: NewId | undefined;
  readonly logger?: Logger | undefined;
}

const declared = {
  companion: byDefault("default"),
  timeoutMs: byDefault(10_000, amount("above 0")),
  leaseMs: byDefault(5_000, amount("above 0")),
  durability: byDefault("power-cut", durabilityCheck),
  clock: byDefault(systemClock),
  timers: byDefault(systemTimers),
  newId: byDefault(randomId),
  logger: byDefault(silentLogger),
  pool: must(anObject),
} satisfies Options<PostgresStorageOptions>;

/**
 * Opens a companion's logs and documents in PostgreSQL. Any number of processes may have them open.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: no such `durability`, a pool of one connection, a
 * database too weak or whose encoding is not UTF8, a role without a right, a pooler
 * that loses notifications, a clock that is wrong; the message says which.
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version changed the schema.
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the database did not answer in time.
 */
export async function openPostgresStorage(
  options: PostgresStorageOptions,
): Promise<PostgresStorage> {
  const what = "the options of openPostgresStorage";
  const { pool, companion, timeoutMs, leaseMs, durability, newId, clock, timers, logger } =
    resolveOptions(what, options, declared);
  checkKey(companion, "companion", longestName);
  checkPool(pool);
  const random = () => randomOf(newId());
  const database = new Database({ pool, clock, timers, logger, random, timeoutMs });
  await checkSettings(database, durability);
  await checkClock(database, clock, logger);
  await ensureSchema(database);
  await checkRights(database);
  const epochs: Epochs = new Map();
  const shared = { database, newId, epochs, companion, clock, timers, logger };
  const cluster = new PostgresCluster(shared, leaseMs);
  await cluster.open();
  return new PostgresStorage({ ...shared, calls: new Calls() }, cluster);
}

/** One connection listens for good: with no other the first call would wait for its deadline. */
function checkPool({ options }: PostgresPool): void {
  if (options?.max === undefined || options.max >= 2) return;
  throw misconfigured(`the pool has max ${options.max}: at least 2, since one listens`);
}

/** From 0 to 1, out of an id. */
function randomOf(id: string): number {
  const number = Number.parseInt(id.slice(-4), 36);
  return Number.isNaN(number) ? 0.5 : number / 36 ** 4;
}

const settings = `select current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('server_encoding') as encoding,
  current_setting('server_version_num')::int as version`;

/** The first version that waits for a server process that it was told to end. */
const oldestVersion = 140_000;

/**
 * Refuses a database that does not keep what it acknowledges, or that cannot hold what is said.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it says which setting.
 */
async function checkSettings(database: Database, durability: Durability): Promise<void> {
  const [found] = await database.query({ text: settings });
  if (found?.["encoding"] !== "UTF8") throw misconfigured("the database's encoding must be UTF8");
  if (Number(found["version"]) < oldestVersion)
    throw misconfigured("PostgreSQL must be 14 or later");
  if (durability === "process") return;
  const off = ["fsync", "synchronous_commit"].filter((setting) => found[setting] === "off");
  if (off.length === 0) return;
  throw misconfigured(
    `${off.join(" and ")} off: a power cut takes what was acknowledged (durability "process")`,
  );
}

/** Milliseconds between this clock and the database's: what is warned of, and what is refused. */
const skewMs = { warned: 2_000, refused: 60_000 } as const;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: the times of records would be wrong. */
async function checkClock(database: Database, clock: Clock, logger: Logger): Promise<void> {
  const before = clock.now();
  const text = "select extract(epoch from clock_timestamp())::float8 * 1000 as now";
  const [row] = await database.query({ text });
  const now = Number(row?.["now"]);
  const aheadMs = Math.round(Math.max(before - now, 0) || Math.min(clock.now() - now, 0));
  const side = aheadMs > 0 ? "ahead of" : "behind";
  const apart = `${Math.abs(aheadMs) / 1_000} s ${side} the database's`;
  const says = `this machine's clock is ${apart}: set both by NTP`;
  if (Math.abs(aheadMs) > skewMs.refused) throw misconfigured(says);
  if (Math.abs(aheadMs) > skewMs.warned) logger.warn({ aheadMs }, says);
}

const missingRights = `select string_agg(lower(privilege) || ' on throughline.' || name, ', ') as missing
  from unnest(array['logs', 'processes', 'records', 'documents', 'files']) as name,
    unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as privilege
  where not has_table_privilege('throughline.' || name, privilege)`;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: such as after an upgrade that made a table. */
async function checkRights(database: Database): Promise<void> {
  const [row] = await database.query({ text: missingRights });
  if (typeof row?.["missing"] !== "string") return;
  throw misconfigured(`this role may not ${row["missing"]}: grant it (docs/guides/postgresql.md)`);
}
