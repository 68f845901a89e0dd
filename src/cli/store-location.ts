import { resolve } from "node:path";
import type { Durability } from "../core/storage/storage.ts";
import { Failed } from "./failure.ts";

/** Where a companion's memories are kept. */
export type StoreLocation = FilesLocation | PostgresLocation;

/** In a home. */
interface FilesLocation {
  readonly kind: "files";
  readonly home: string;
  /** For people. */
  readonly says: string;
}

/** Connections of one process, unless the URL says otherwise. */
const standardConnections = 10;
const mostConnections = 1_000;
const longestCompanion = 200;

/** Parameters of ours: the client of the database is not given them. */
const ownParameters = ["companion", "connections", "durability"] as const;

/**
 * Everybody else's: one that is in neither list is a slip, which the client would pass over. Those of
 * libpq are in the URLs that operators are given, though the client has no use for some; not those that
 * name another place (`dbname`, `hostaddr`, `service`), for it would go to the one without them.
 *
 * Source: `pg` 8.23, `pg-connection-string` 2.14, and "Parameter Key Words" of libpq 18.
 */
const knownParameters: ReadonlySet<string> = new Set(
  `user password host port application_name fallback_application_name client_encoding options
  replication passfile connect_timeout ssl sslmode sslcert sslkey sslrootcert sslnegotiation
  uselibpqcompat sslpassword sslcertmode sslcrl sslcrldir sslsni sslcompression requiressl
  sslkeylogfile ssl_min_protocol_version ssl_max_protocol_version min_protocol_version
  max_protocol_version channel_binding require_auth requirepeer gssencmode krbsrvname gsslib
  gssdelegation scram_client_key scram_server_key oauth_issuer oauth_client_id
  oauth_client_secret oauth_scope target_session_attrs load_balance_hosts keepalives
  keepalives_idle keepalives_interval keepalives_count tcp_user_timeout statement_timeout
  lock_timeout query_timeout idle_in_transaction_session_timeout`.split(/\s+/),
);

const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full", "no-verify"];

/** In a database. The password that it may have is in no field: printing this prints none. */
export interface PostgresLocation {
  readonly kind: "postgres";
  readonly companion: string;
  readonly connections: number;
  /** `"process"`: also a database that may lose what it acknowledged, such as one for tests. */
  readonly durability: Durability;
  /** The URL for people: who, where and which companion, and nothing else of it. */
  readonly says: string;
  /** It is reached without a network. */
  readonly isLocal: boolean;
  /** For the client of the database alone: it may hold a password. */
  connectionString(): string;
}

export function filesIn(home: string): FilesLocation {
  const path = resolve(home);
  return { kind: "files", home: path, says: path };
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:/i.test(text.trim());
}

/**
 * Reads `postgres://user@host:port/database?companion=NAME`; all but the first word may be absent.
 *
 * @param place where it stands, for the message: the text itself may hold a password.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`.
 */
export function parsePostgresUrl(text: string, place: string): PostgresLocation {
  const trimmed = text.trim();
  const url = isPostgresUrl(trimmed) && URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (url === undefined) {
    throw wrong(`${place} must be a URL such as postgres://user@host:5432/database?companion=name`);
  }
  // The client would take them for the name of one.
  if ([url.hostname, ...url.searchParams.getAll("host")].some((host) => host.includes(","))) {
    throw wrong(`${place} must name only one host`);
  }
  const [companion = "default", connections, durability = "power-cut"] = ownParameters.map(
    (name) => {
      const values = url.searchParams.getAll(name);
      if (values.length > 1) throw wrong(`${place} contains ${name} more than once`);
      url.searchParams.delete(name);
      return values[0];
    },
  );
  checkParameters(url.searchParams, place);
  const length = Buffer.byteLength(companion);
  if (length < 1 || length > longestCompanion || companion.includes("\0")) {
    throw wrong(`${place}: companion must be a name of 1 to ${longestCompanion} bytes`);
  }
  if (durability !== "power-cut" && durability !== "process") {
    throw wrong(`${place}: durability must be power-cut or process`);
  }
  const user = url.username === "" ? "" : `${url.username}@`;
  const says = `postgres://${user}${url.host}${url.pathname}?companion=${encodeURIComponent(companion)}`;
  const host = url.searchParams.get("host") ?? url.hostname;
  const isLocal = host === "" || /^(?:\/|localhost$|127(?:\.\d+){3}$|\[?::1\]?$)/.test(host);
  return {
    kind: "postgres",
    companion,
    connections: countOf(connections, place),
    durability,
    says,
    isLocal,
    connectionString: () => url.href,
  };
}

/** Those that are not ours. */
function checkParameters(parameters: URLSearchParams, place: string): void {
  for (const [name, value] of parameters) {
    if (knownParameters.has(name)) continue;
    // What does not look like one may be the rest of a password that is not encoded.
    const isTold = /^\w{1,40}$/.test(name) && value !== "";
    throw wrong(`${place} has an unknown parameter${isTold ? `: ${name}` : ""}`, {
      wayOut:
        "Names are in lower case: docs/guides/postgresql.md has ours, PostgreSQL's manual the others.",
    });
  }
  if (parameters.getAll("sslmode").some((mode) => !sslModes.includes(mode))) {
    const last = sslModes.at(-1);
    throw wrong(`${place}: sslmode must be ${sslModes.slice(0, -1).join(", ")} or ${last}`);
  }
}

function countOf(text: string | undefined, place: string): number {
  if (text === undefined) return standardConnections;
  const count = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (count >= 2 && count <= mostConnections) return count;
  throw wrong(`${place}: connections must be a whole number from 2 to ${mostConnections}`);
}

/** A store by its URL or by its directory: what a move is from or to. */
export function parseLocation(text: string, place: string): StoreLocation {
  if (isPostgresUrl(text)) return parsePostgresUrl(text, place);
  // What looks like another kind of URL is not meant as a directory.
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(text))
    throw wrong(`${place} must be a postgres:// URL or a directory`);
  return filesIn(text);
}

const keepPasswords = "Keep the password in PGPASSWORD or in the file that PGPASSFILE names.";

function wrong(message: string, { wayOut = keepPasswords } = {}): Failed {
  return new Failed(message, { code: "THROUGHLINE_CONFIGURATION", wayOut });
}
