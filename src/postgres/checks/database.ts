// Whether a database keeps what it acknowledges, and whether its schema is up to date.
import type { Pool } from "pg";
import type { Check } from "../../cli/doctor/doctor.ts";
import type { PostgresLocation } from "../../cli/store-location.ts";
import { systemTimers } from "../../core/timers.ts";
import { within } from "../connection.ts";
import { schemaVersion } from "../schema.ts";

type Row = Readonly<Record<string, unknown>>;

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
  (select count(*)::int from pg_stat_replication where sync_state in ('sync', 'quorum')) as connected,
  current_setting('data_checksums') as checksums,
  current_setting('max_connections')::int as most,
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
  (select rolsuper from pg_roles where rolname = current_user) as is_superuser,
  (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as is_encrypted,
  to_regclass('throughline.migrations') is not null as has_schema`;

const migrated = "select max(number) as version from throughline.migrations";

/** @throws whatever the client does, and DeadlineError: the database cannot be asked, or not in time. */
export async function checkDatabase(
  pool: Pool,
  location: PostgresLocation,
  { statementMs, silenceMs } = askLimits,
): Promise<DatabaseChecks> {
  const client = await pool.connect();
  // The query rejects when the connection breaks; without a listener the process would end.
  client.on("error", () => undefined);
  const ask = async (text: string): Promise<Row> => {
    const asked = client.query<Record<string, unknown>>(text);
    const { rows } = await within(asked, systemTimers, silenceMs);
    return rows[0] ?? {};
  };
  try {
    await ask(`set statement_timeout = ${statementMs}`);
    const row = await ask(about);
    const hasSchema = row["has_schema"] === true;
    const { version } = hasSchema ? await ask(migrated) : {};
    return { checks: checksOf(row, location, version), hasSchema };
  } finally {
    client.release(true);
  }
}

function checksOf(
  row: Row,
  { says: place, isLocal, connections }: PostgresLocation,
  version: unknown,
): readonly Check[] {
  const check = (id: string, isNote: boolean, says: string): Check => {
    return { id, status: isNote ? "note" : "ok", says };
  };
  const isStandby = row["is_standby"] === true;
  const server = isStandby ? "a standby, which accepts no writes" : "the primary";
  const names = ["fsync", "full_page_writes", "synchronous_commit", "checksums"];
  const said = names.map((name) => `${name} ${row[name]}`).join(", ");
  const isWeak = names.slice(0, 3).some((name) => row[name] === "off");
  const weak = isWeak ? ": acknowledged messages can be lost in a power cut" : "";
  const { standbys, connected, synchronous_commit: level, is_superuser, used, most } = row;
  const isAlone = standbys === "" || level === "local";
  const synced = isAlone
    ? "no synchronous standby: if this server's disk is lost, its data is lost"
    : `synchronous standbys: ${standbys}; ${connected} of them connected`;
  const rights = "this role is a superuser. The rights in docs/guides/postgresql.md are enough";
  const isEncrypted = row["is_encrypted"] === true;
  const open = `the connection is not encrypted${isLocal ? ", and stays on this machine" : ": add ?sslmode=verify-full"}`;
  const schema =
    version === undefined
      ? "no schema yet. The first start creates it"
      : `version ${version}; this program knows ${schemaVersion}`;
  const pool = `${used} of ${most} connections are in use, and a Throughline server takes up to ${connections}`;
  return [
    check("store", isStandby, `PostgreSQL ${row["version"]} at ${place}, ${server}`),
    check("store.durability", isWeak, `${said}${weak}`),
    check("store.standbys", isAlone || connected === 0, synced),
    ...(is_superuser === true ? [check("store.role", true, rights)] : []),
    check(
      "store.tls",
      !isEncrypted && !isLocal,
      isEncrypted ? "the connection is encrypted" : open,
    ),
    check("store.schema", version === undefined, schema),
    check("store.pool", Number(most) - Number(used) < connections, pool),
  ];
}
