// Whether a database keeps what it acknowledges, and whether its schema is up to date.
import type { Pool, PoolClient } from "pg";
import type { Check } from "../../cli/doctor/check.ts";
import type { PostgresLocation } from "../../cli/store-location.ts";
import { systemTimers } from "../../core/timers.ts";
import { within } from "../connection.ts";
import { schemaVersion } from "../schema.ts";

type Row = Readonly<Record<string, unknown>>;
type Ask = (text: string) => Promise<Row>;

/** What is known of a database. */
export interface DatabaseChecks {
  readonly checks: readonly Check[];
  /** Whether there is anything to be read. */
  readonly hasSchema: boolean;
}

/** How long a question may take. */
export interface AskLimits {
  /** The server gives up a statement first, and then says why. */
  readonly statementMs: number;
  /** One that hangs says nothing. */
  readonly silenceMs: number;
}

const askLimits: AskLimits = { statementMs: 4_500, silenceMs: 5_000 };

const about = `select current_setting('server_version') as version,
  pg_is_in_recovery() as is_standby,
  current_setting('fsync') as fsync,
  current_setting('full_page_writes') as full_page_writes,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('synchronous_standby_names') as standbys,
  current_setting('data_checksums') as checksums,
  current_setting('max_connections')::int as most,
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
  (select rolsuper from pg_roles where rolname = current_user) as is_superuser,
  (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as is_encrypted`;

/** @throws whatever the client does, and DeadlineError: the database cannot be asked, or not in time. */
export async function checkDatabase(
  pool: Pool,
  location: PostgresLocation,
  { statementMs, silenceMs } = askLimits,
): Promise<DatabaseChecks> {
  const client = await pool.connect();
  // The query rejects when the connection breaks; without a listener the process would end.
  client.on("error", () => undefined);
  try {
    const ask = asking(client, silenceMs);
    await ask(`set statement_timeout = ${statementMs}`);
    return await askAll(ask, location);
  } finally {
    client.release(true);
  }
}

function asking(client: PoolClient, silenceMs: number): Ask {
  return async (text) => {
    const asked = client.query<Record<string, unknown>>(text);
    const { rows } = await within(asked, systemTimers, silenceMs);
    return rows[0] ?? {};
  };
}

async function askAll(ask: Ask, location: PostgresLocation): Promise<DatabaseChecks> {
  const row = await ask(about);
  const kind = row["is_standby"] === true ? "a standby, which accepts no writes" : "the primary";
  const says = `PostgreSQL ${row["version"]} at ${location.says}, ${kind}`;
  const standbyCheck = await standbys(ask, row);
  const { hasSchema, check } = await schemaOf(ask);
  const checks: Check[] = [
    { id: "store", status: row["is_standby"] === true ? "note" : "ok", says },
    durability(row),
    standbyCheck,
    ...access(row, location),
    check,
    await health(ask, row, location),
  ];
  return { checks, hasSchema };
}

function durability(row: Row): Check {
  const names = ["fsync", "full_page_writes", "synchronous_commit", "checksums"] as const;
  const said = names.map((name) => `${name} ${row[name]}`).join(", ");
  const isWeak = [row["fsync"], row["full_page_writes"], row["synchronous_commit"]].includes("off");
  const says = isWeak ? `${said}: acknowledged messages can be lost in a power cut` : said;
  return { id: "store.durability", status: isWeak ? "note" : "ok", says };
}

async function standbys(ask: Ask, { standbys: named, synchronous_commit: level }: Row) {
  const id = "store.standbys";
  if (named === "" || level === "local") {
    const says = "no synchronous standby: if this server's disk is lost, its data is lost";
    return { id, status: "note", says } satisfies Check;
  }
  const text = `select count(*)::int as count from pg_stat_replication
    where sync_state in ('sync', 'quorum')`;
  const { count } = await ask(text);
  const says = `synchronous standbys: ${named}; ${count} of them connected`;
  return { id, status: count === 0 ? "note" : "ok", says } satisfies Check;
}

function access(row: Row, location: PostgresLocation): readonly Check[] {
  const checks: Check[] = [];
  if (row["is_superuser"] === true) {
    const says = "this role is a superuser. The rights in docs/guides/postgresql.md are enough";
    checks.push({ id: "store.role", status: "note", says });
  }
  const isEncrypted = row["is_encrypted"] === true;
  const { isLocal } = location;
  const says = isEncrypted
    ? "the connection is encrypted"
    : `the connection is not encrypted${isLocal ? ", and stays on this machine" : ": add ?sslmode=verify-full"}`;
  checks.push({ id: "store.tls", status: isEncrypted || isLocal ? "ok" : "note", says });
  return checks;
}

async function schemaOf(ask: Ask): Promise<{ hasSchema: boolean; check: Check }> {
  const id = "store.schema";
  const { there } = await ask("select to_regclass('throughline.migrations') is not null as there");
  if (there !== true) {
    const says = "no schema yet. The first start creates it";
    return { hasSchema: false, check: { id, status: "note", says } };
  }
  const { version } = await ask("select max(number) as version from throughline.migrations");
  const says = `version ${version}; this program knows ${schemaVersion}`;
  return { hasSchema: true, check: { id, status: "ok", says } };
}

const roundTrips = 5;

async function health(ask: Ask, row: Row, { connections }: PostgresLocation): Promise<Check> {
  const times: number[] = [];
  for (let trip = 0; trip < roundTrips; trip++) {
    const start = performance.now();
    await ask("select 1");
    times.push(performance.now() - start);
  }
  const median = times.sort((a, b) => a - b)[Math.floor(roundTrips / 2)] ?? 0;
  const left = Number(row["most"]) - Number(row["used"]);
  const says =
    `a round trip takes ${median.toFixed(1)} ms; ${row["used"]} of ${row["most"]} connections are ` +
    `in use, and a Throughline server takes up to ${connections}`;
  return { id: "store.pool", status: left < connections ? "note" : "ok", says };
}
