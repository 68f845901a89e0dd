import { DatabaseFailure, ThroughlineError } from "../core/errors.ts";
import type { Connection } from "./connection.ts";
import type { Database } from "./database.ts";
import { sqlState } from "./error-class.ts";

/** Version of the schema that this code creates and knows. */
export const schemaVersion = 3;

/** The key of the lock that lets one process create the schema at a time: `thruline` in ASCII. */
const creationLock = "8388080154633137765";

/**
 * A row for each version of the schema. `works_from` is the oldest version whose code can work with it:
 * a later version that breaks what this code does is refused by that number.
 */
const versions = `create table if not exists throughline.migrations (
  number integer primary key,
  works_from integer not null,
  applied_at timestamptz not null default clock_timestamp()
)`;

/**
 * Every other table. Each primary key begins with the companion, and but for `processes` with the collection and the
 * key, and nothing refers to another row, so that each table can be distributed by them. Texts compare by their bytes.
 *
 * - `logs`: the log's row in lists, its head, and its lease: see `leases.ts`. A row with
 *   `seq` 0 is a lease only. `created_at` tells a log from the one that was deleted before it.
 *   `wanted` says that somebody waits for the lease, or waited for the last one.
 * - `processes`: until when each process is known to live.
 * - `records`: `body` is the exact JSON text, which no JSON type of the database keeps. `hides` is the
 *   id of the earlier record that this one hides. `words` is what search looks up: see `words.ts`.
 * - `documents`: `write_id` names the last write, so that a write without an answer can be told.
 * - `files`: files of a key, such as the attachments of a chat, by the SHA-256 of their bytes. They are
 *   stored as they are: compressing pictures again takes time and saves nothing.
 */
const statements: readonly string[] = [
  `create table throughline.logs (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  seq bigint not null,
  head text not null,
  sorted_at text collate "C" not null,
  labels text[] collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  epoch bigint not null default 0,
  owner text collate "C",
  wanted boolean not null default false,
  primary key (companion, collection, key)
) with (fillfactor = 70)`,
  `create index logs_newest on throughline.logs
  (companion, collection, sorted_at desc, key)`,
  `create index logs_labelled on throughline.logs
  (companion, collection, sorted_at desc, key) where labels <> '{}'`,
  "create index logs_leased on throughline.logs (companion, owner) where owner is not null",
  `create table throughline.processes (
  companion text collate "C" not null,
  process text collate "C" not null,
  alive_until timestamptz not null,
  primary key (companion, process)
)`,
  `create table throughline.records (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  seq bigint not null,
  id text collate "C" not null,
  body text not null,
  hides text collate "C",
  words tsvector,
  primary key (companion, collection, key, seq)
)`,
  "create unique index records_ids on throughline.records (companion, collection, key, id)",
  `create index records_hiding on throughline.records
  (companion, collection, key, hides) where hides is not null`,
  // Leaves out what has no words, so that an append does not write to it.
  "create index records_worded on throughline.records using gin (words) where words is not null",
  `create table throughline.documents (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  body text not null,
  revision bigint not null,
  write_id text not null,
  primary key (companion, collection, key)
)`,
  `create table throughline.files (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  sha256 text collate "C" not null,
  body bytea not null,
  primary key (companion, collection, key, sha256)
)`,
  "alter table throughline.files alter column body set storage external",
  `insert into throughline.migrations values (${schemaVersion}, ${schemaVersion})`,
];

/**
 * Creates the schema if it is not there, in one transaction: killed at any statement it leaves
 * nothing, and the next start does it. Any number of processes may start at once; one creates it, the
 * others wait for it. Where it is there this only reads, so that a role without the right to create
 * anything is enough.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version changed what this code needs.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it is not there, and the role may not create it.
 */
export async function ensureSchema(database: Database): Promise<void> {
  if (await database.attempt(isThere)) return;
  try {
    await database.transaction(create);
  } catch (error) {
    throw isRefused(error) ? notAllowed(error) : error;
  }
}

async function create(connection: Connection): Promise<void> {
  const values = [creationLock];
  await connection.run({ text: "select pg_advisory_xact_lock($1::bigint)", values });
  // Unlike a look-up, these two see what the holder of the lock before has committed.
  await connection.run({ text: "create schema if not exists throughline" });
  await connection.run({ text: versions });
  if (await isThere(connection)) return;
  for (const text of statements) await connection.run({ text });
}

/** 42501: insufficient_privilege. */
const isRefused = (error: unknown) =>
  error instanceof DatabaseFailure && sqlState(error.cause) === "42501";

function notAllowed(cause: unknown): DatabaseFailure {
  const says =
    "the schema is not there, and this role may not create it: open the store once as the owner";
  return new DatabaseFailure(`${says} (42501)`, { code: "THROUGHLINE_CONFIGURATION", cause });
}

async function isThere(connection: Connection): Promise<boolean> {
  const text = "select to_regclass('throughline.migrations') is not null as there";
  const [table] = await connection.run({ text });
  if (table?.["there"] !== true) return false;
  const [row] = await connection.run({
    text: "select max(works_from) as needed from throughline.migrations",
  });
  const needed = Number(row?.["needed"] ?? 0);
  if (needed <= schemaVersion) return needed > 0;
  const message = `the database needs a program that knows version ${needed} of its schema`;
  throw new ThroughlineError(message, { code: "THROUGHLINE_NEWER_FORMAT" });
}
