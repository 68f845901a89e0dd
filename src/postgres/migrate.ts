import { ThroughlineError } from "../core/errors.ts";
import { misconfigured } from "../core/options.ts";
import { DatabaseFailure } from "../core/storage/database-failure.ts";
import type { Connection } from "./connection.ts";
import type { Database } from "./database.ts";
import { sqlState } from "./error-class.ts";
import type { Migration } from "./migrations/migrations.ts";
import { migrations as ourMigrations } from "./migrations/migrations.ts";

/** The key of the lock that lets one process migrate at a time: `thruline` in ASCII. */
const migrationLock = "8388080154633137765";

/** A step may take long, and so may the wait for another process that takes it. */
const migrationMs = 600_000;

const createTable = `create table if not exists throughline.migrations (
  number integer primary key,
  name text not null,
  works_from integer not null,
  applied_at timestamptz not null default clock_timestamp()
)`;
const addMigration = `insert into throughline.migrations (number, name, works_from)
  values ($1, $2, $3)`;

/**
 * Brings the schema to what this code knows, all in one transaction: killed at any statement it left
 * nothing, and the next start does it. Any number of processes may start at once; one migrates, the
 * others wait for it. When there is nothing to do it only reads, so that a role without the right to
 * create anything is enough.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version changed what this code needs.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: something is missing, and `mayMigrate` is false
 * or the role may not create it.
 */
export async function migrate(
  database: Database,
  mayMigrate: boolean,
  migrations: readonly Migration[] = ourMigrations,
): Promise<void> {
  const known = migrations.length;
  if ((await database.attempt((connection) => applied(connection, known))) >= known) return;
  if (!mayMigrate) {
    throw misconfigured("the database's schema is older than this program");
  }
  try {
    await database.transaction((connection) => bringUpToDate(connection, migrations), {
      statementMs: migrationMs,
    });
  } catch (error) {
    throw isRefused(error) ? notAllowed(error) : error;
  }
}

async function bringUpToDate(
  connection: Connection,
  migrations: readonly Migration[],
): Promise<void> {
  await connection.run({ text: "set local statement_timeout = 0" });
  const values = [migrationLock];
  await connection.run({ text: "select pg_advisory_xact_lock($1::bigint)", values });
  await connection.run({ text: "create schema if not exists throughline" });
  await connection.run({ text: createTable });
  // The holder of the lock before may have done it all.
  const done = await applied(connection, migrations.length);
  for (const migration of migrations.slice(done)) await apply(connection, migration);
}

/** 42501: insufficient_privilege. */
const isRefused = (error: unknown) =>
  error instanceof DatabaseFailure && sqlState(error.cause) === "42501";

function notAllowed(cause: unknown): DatabaseFailure {
  const says =
    "the schema is older than this program, or not there, and this role may not migrate it";
  return new DatabaseFailure(`${says} (42501)`, { code: "THROUGHLINE_CONFIGURATION", cause });
}

/** How many of our steps the database has. */
async function applied(connection: Connection, known: number): Promise<number> {
  const text = "select to_regclass('throughline.migrations') is not null as there";
  const [table] = await connection.run({ text });
  if (table?.["there"] !== true) return 0;
  const [row] = await connection.run({
    text: "select count(*)::int as count, max(works_from) as needed from throughline.migrations",
  });
  const needed = Number(row?.["needed"] ?? 0);
  if (needed > known) {
    throw new ThroughlineError(`the database needs a program that knows migration ${needed}`, {
      code: "THROUGHLINE_NEWER_FORMAT",
    });
  }
  return Number(row?.["count"] ?? 0);
}

async function apply(connection: Connection, migration: Migration): Promise<void> {
  for (const text of migration.statements) await connection.run({ text });
  const { number, name, worksFrom } = migration;
  await connection.run({ text: addMigration, values: [number, name, worksFrom] });
}
