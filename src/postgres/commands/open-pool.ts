import { Socket } from "node:net";
import type { Client, ClientConfig, Pool, PoolConfig } from "pg";
import { Failed } from "../../cli/failure.ts";
import type { PostgresLocation } from "../../cli/store-location.ts";
import { errorCode } from "../error-class.ts";

/** A connection that takes longer to be made is given up, and the next query tries again. */
const connectMs = 5_000;

/** What the other end did not close so long after it was asked to is closed here. */
const goodbyeMs = 500;

interface OpenPool {
  readonly pool: Pool;
  /**
   * Ends the connections. One whose other end hangs, or lost its power, closes by itself never: those
   * are cut off half a second later, so that they do not hold the process.
   */
  end(): Promise<void>;
}

/**
 * The connections of one process to a database. None is made yet. The caller ends it.
 *
 * Each new connection reads the certificates that the URL names again, since they are renewed.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: the client library is not installed, or takes
 * the URL for none, such as when a certificate that it names cannot be read.
 */
export async function openPool(
  location: PostgresLocation,
  load?: () => Promise<Pg>,
): Promise<OpenPool> {
  const pg = await loadPg(load);
  const connectionString = location.connectionString();
  const sockets = new Set<Socket>();
  try {
    new pg.Client({ connectionString }); // which parses it; the pool would with its first connection
    const pool = new pg.Pool({
      connectionString,
      Client: failingToConnect(pg.Client),
      stream: () => addTo(sockets),
      max: location.connections,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      application_name: "throughline",
    });
    // An idle one that breaks would end the process; the driver reports it.
    pool.on("error", () => undefined);
    return { pool, end: () => endWith(pool, sockets) };
  } catch (error) {
    // Without its cause: its message may repeat the URL.
    // biome-ignore lint/style/useErrorCause: the cause may hold a password
    throw new Failed(`the PostgreSQL client rejected ${location.says} (${errorCode(error)})`, {
      code: "THROUGHLINE_CONFIGURATION",
      wayOut: "Check the parameters of the URL and the files that they name.",
    });
  }
}

function addTo(sockets: Set<Socket>): Socket {
  const socket = new Socket();
  sockets.add(socket);
  return socket.once("close", () => sockets.delete(socket));
}

function endWith(pool: Pool, sockets: ReadonlySet<Socket>): Promise<void> {
  const cutOff = () => {
    for (const socket of sockets) socket.destroy();
  };
  // Those that are left hold the process until then; without any it may end before.
  setTimeout(cutOff, goodbyeMs).unref();
  return pool.end();
}

/**
 * Clients that cannot be made cannot connect instead. The pool also makes them where an error is
 * not caught, which ends the process: a certificate that is away for a moment is enough.
 */
function failingToConnect(Made: Pg["Client"]): Pg["Client"] {
  return new Proxy(Made, {
    construct(_, [config]): Client {
      try {
        return new Made(config);
      } catch (error) {
        const client = new Made();
        const connect = (done: (error: unknown) => void) => process.nextTick(done, error);
        return Object.defineProperty(client, "connect", { value: connect });
      }
    },
  });
}

/** What is used of the client library of PostgreSQL: an optional peer. */
interface Pg {
  readonly Client: new (config?: ClientConfig) => Client;
  readonly Pool: new (config: PoolConfig) => Pool;
}

/** The one place that imports it. */
const importPg = async (): Promise<Pg> => (await import("pg")).default;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it is not installed. */
export async function loadPg(load: () => Promise<Pg> = importPg): Promise<Pg> {
  try {
    return await load();
  } catch (cause) {
    throw new Failed("a postgres:// store needs the package pg, which is not installed", {
      code: "THROUGHLINE_CONFIGURATION",
      wayOut: "Install it next to throughline: npm install pg",
      cause,
    });
  }
}
