import { resolve } from "node:path";
import type { Durability } from "../../storage/storage.ts";
import { Failed } from "../failure.ts";

/** Where a companion's memories are kept. */
export type StoreLocation = FilesLocation | PostgresLocation;

/** In a home. */
export interface FilesLocation {
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

/** In a database. The password that it may hold is in no field: printing this prints none. */
export class PostgresLocation {
  readonly kind = "postgres";
  readonly companion: string;
  readonly connections: number;
  /** `"process"`: also a database that may lose what it acknowledged, such as one for tests. */
  readonly durability: Durability;
  /** The URL for people: who, where and which companion, and nothing else of it. */
  readonly says: string;
  /** It is reached without a network. */
  readonly isLocal: boolean;
  readonly #connectionString: string;

  constructor(url: URL, own: Pick<PostgresLocation, "companion" | "connections" | "durability">) {
    this.companion = own.companion;
    this.connections = own.connections;
    this.durability = own.durability;
    const user = url.username === "" ? "" : `${url.username}@`;
    const companion = `companion=${encodeURIComponent(own.companion)}`;
    this.says = `postgres://${user}${url.host}${url.pathname}?${companion}`;
    const host = url.searchParams.get("host") ?? url.hostname;
    this.isLocal = host === "" || /^(?:\/|localhost$|127(?:\.\d+){3}$|\[?::1\]?$)/.test(host);
    this.#connectionString = url.href;
  }

  /** For the client of the database alone: it may hold a password. */
  connectionString(): string {
    return this.#connectionString;
  }
}

export function filesIn(home: string): FilesLocation {
  const path = resolve(home);
  return { kind: "files", home: path, says: path };
}

export function isPostgresUrl(text: string): boolean {
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
    throw wrong(`${place} is no URL such as postgres://user@host:5432/database?companion=name`);
  }
  const [companion = "default", connections, durability = "power-cut"] = ownParameters.map(
    (name) => {
      const values = url.searchParams.getAll(name);
      if (values.length > 1) throw wrong(`${place} names ${name} twice`);
      url.searchParams.delete(name);
      return values[0];
    },
  );
  const length = Buffer.byteLength(companion);
  if (length < 1 || length > longestCompanion || companion.includes("\0")) {
    throw wrong(`${place}: companion must be a name of 1 to ${longestCompanion} bytes`);
  }
  if (durability !== "power-cut" && durability !== "process") {
    throw wrong(`${place}: durability must be power-cut or process`);
  }
  return new PostgresLocation(url, {
    ...{ companion, durability, connections: countOf(connections, place) },
  });
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
  // What looks like another URL is no directory that anybody meant.
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(text)) throw wrong(`${place} is no postgres:// URL`);
  return filesIn(text);
}

function wrong(message: string): Failed {
  return new Failed(message, {
    code: "THROUGHLINE_CONFIGURATION",
    wayOut: "Passwords are better kept in PGPASSWORD or in the file that PGPASSFILE names.",
  });
}
