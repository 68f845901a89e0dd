import { DatabaseFailure, isThroughlineError } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Epochs } from "../core/storage/cluster-leases.ts";
import type { Calls } from "./calls.ts";
import { type Backend, Connection, DeadlineError, lossListenerOf, within } from "./connection.ts";
import { type ErrorClass, errorClass, errorCode } from "./error-class.ts";
import type { PostgresClient, PostgresPool, PostgresStatement, Row } from "./pool.ts";

interface DatabasePorts extends Pick<Runtime, "clock" | "timers" | "logger"> {
  readonly pool: PostgresPool;
  /** From 0 to 1, for pauses that do not all end at once. */
  readonly random: () => number;
  /** How long one call may take, waiting for a connection and trying again included. */
  readonly timeoutMs: number;
}

/** What the parts of the driver work with: one companion in one database. */
export interface DriverContext extends Omit<Runtime, "telemetry"> {
  readonly database: Database;
  readonly companion: string;
  readonly calls: Calls;
  readonly epochs: Epochs;
}

/** One process of a companion, to the database and to the others. */
export interface ClusterProcess
  extends Pick<DriverContext, "database" | "companion" | "timers" | "logger"> {
  readonly channel: string;
  readonly processId: string;
}

/** What work is told of the run that it is in. */
export interface Attempt {
  /** An earlier run may have stored it. */
  readonly isInDoubt: boolean;
  /** Work that goes on step by step has its deadline again from here. */
  extend(): void;
}

/**
 * Work on one connection. It runs again when the connection is lost or the server asks for it, so it
 * must be something that can be repeated.
 */
export type Work<T> = (connection: Connection, attempt: Attempt) => Promise<T>;

/** What is known of a client since it first came out of the pool. */
interface KnownClient {
  readonly backend: Backend;
  readonly generation: number;
}

/** How far a call has come: by when it has to end, and what its attempts left behind. */
export interface Begun {
  readonly until: number;
  /** It may be stored already. */
  readonly isInDoubt: boolean;
  /** Server processes that may still be at work on an attempt that was given up. */
  readonly backends: readonly Backend[];
}

/** One call, from its first attempt to its last. */
interface Call extends Begun {
  until: number;
  isInDoubt: boolean;
  readonly backends: Backend[];
}

/** What came of one attempt. */
type Outcome<T> = { readonly value: T } | { readonly error: unknown; readonly begun: Begun };

const firstPauseMs = 10;
const longestPauseMs = 500;

/** A server process that is told to end is waited for so long. */
const endBackendMs = 1_000;

/**
 * What every new connection is told, and asked. A server that recovers is no primary. The server gives
 * up before we do, so that what we gave up is over; a process that was stopped in the middle of a
 * transaction does not hold its locks for ever.
 */
const prepareSession = `select pg_is_in_recovery() as standby, pg_backend_pid() as pid,
  (select backend_start::text from pg_stat_activity where pid = pg_backend_pid()) as started_at,
  set_config('statement_timeout', $1, false),
  set_config('idle_in_transaction_session_timeout', $2, false),
  set_config('default_transaction_isolation', 'read committed', false)`;

/**
 * A write of its own, whose commit ends what is in doubt. What an attempt committed can be read before
 * the synchronous standby has it, once that attempt's server process was ended; a later commit is
 * acknowledged when the standby has everything before it.
 */
const confirm = "select pg_logical_emit_message(true, 'throughline', '')";

const endBackend = `select pg_terminate_backend(pid, $3::bigint) from pg_stat_activity
  where pid = $1 and backend_start = $2::timestamptz`;

/**
 * Pools that are listened to for good, with the storage that was opened last: an error without a listener ends the
 * process, also after the storage was closed.
 */
const watchedPools = new WeakMap<PostgresPool, { readonly logger: Logger }>();

/**
 * This process's way to the database: every call has a deadline, and ends in a typed outcome, for which
 * it keeps the process alive.
 */
export class Database {
  readonly #ports: DatabasePorts;
  readonly #known = new WeakMap<PostgresClient, KnownClient>();
  /** Attempts that were repeated, and calls that were refused because another process has the log. */
  readonly counts = { retries: 0, fenced: 0 };
  /** Goes up when a connection was lost: those from before are not trusted any more. */
  #generation = 0;
  readonly #onLost = () => {
    this.#generation++;
  };

  constructor(ports: DatabasePorts) {
    this.#ports = ports;
    const { pool } = ports;
    const isWatched = watchedPools.has(pool);
    watchedPools.set(pool, ports);
    if (isWatched) return;
    pool.on("error", (error) => {
      watchedPools
        .get(pool)
        ?.logger.warn({ code: errorCode(error) }, "an idle connection to the database ended");
    });
  }

  get pool(): PostgresPool {
    return this.#ports.pool;
  }

  /**
   * Runs one read, again when it has to.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: no answer within the deadline.
   */
  query(statement: PostgresStatement): Promise<readonly Row[]> {
    return this.attempt((connection) => connection.run(statement));
  }

  /**
   * Runs work until it ends, its deadline is over, or trying again makes no sense. Once an attempt is
   * in doubt it has as long again, on new connections, to be settled by being repeated. The server
   * process that may still be at work on an attempt that was given up is ended first. With `begun` the
   * count continues from there.
   *
   * @throws ThroughlineError whatever the work throws itself: it is the outcome.
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: nothing was stored.
   * @throws ThroughlineError `THROUGHLINE_OUTCOME_UNKNOWN`: it could not be settled in time.
   */
  async attempt<T>(work: Work<T>, begun?: Begun): Promise<T> {
    const { until = this.deadline(), isInDoubt = false, backends = [] } = begun ?? {};
    const call: Call = { until, isInDoubt, backends: [...backends] };
    for (let count = 1; ; count++) {
      let connection: Connection | undefined;
      try {
        connection = await this.#checkOut(call);
        if (call.backends.length > 0) await this.#endBackends(call, connection);
        const extend = () => {
          call.until = this.deadline();
        };
        const value = await work(connection, { isInDoubt: call.isInDoubt, extend });
        if (call.isInDoubt) await connection.store({ text: confirm });
        return value;
      } catch (error) {
        await this.#afterFailure(call, error, { count, connection });
      } finally {
        connection?.release();
      }
    }
  }

  /** Runs work once, for callers that have another way when it fails. Never rejects. */
  async once<T>(work: (connection: Connection) => Promise<T>, until: number): Promise<Outcome<T>> {
    const call: Call = { until, isInDoubt: false, backends: [] };
    let connection: Connection | undefined;
    try {
      connection = await this.#checkOut(call);
      return { value: await work(connection) };
    } catch (error) {
      this.#noteFailure(call, connection);
      return { error, begun: call };
    } finally {
      connection?.release();
    }
  }

  /** By when a call has to end that begins now. */
  deadline(): number {
    return this.#ports.clock.monotonic() + this.#ports.timeoutMs;
  }

  /** Runs work between `begin` and `commit`, and again as `attempt` does. */
  transaction<T>(work: Work<T>): Promise<T> {
    return this.attempt((connection, attempt) =>
      inTransaction(connection, () => work(connection, attempt)),
    );
  }

  /**
   * A connection to keep, such as one that listens. Its statements have the deadline of one call each.
   * The caller releases it.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: none could be had in time.
   */
  async connect(): Promise<Connection> {
    try {
      const { timeoutMs } = this.#ports;
      const { client, known } = await this.#trusted(this.deadline());
      return this.#connection(client, known, () => timeoutMs);
    } catch (error) {
      throw failure(error, "THROUGHLINE_UNAVAILABLE");
    }
  }

  #left(until: number): number {
    return until - this.#ports.clock.monotonic();
  }

  async #checkOut(call: Call): Promise<Connection> {
    const { client, known } = await this.#trusted(call.until);
    // Half: so that a connection whose other end is gone leaves time for another attempt.
    const longest = this.#ports.timeoutMs / 2;
    return this.#connection(client, known, () => Math.min(this.#left(call.until), longest));
  }

  #connection(client: PostgresClient, known: KnownClient, limitMs: () => number): Connection {
    const { timers } = this.#ports;
    return new Connection(client, {
      timers,
      limitMs,
      backend: known.backend,
      onLost: this.#onLost,
    });
  }

  /** A client that was made since the last loss, told what every connection is told. */
  async #trusted(until: number): Promise<{ client: PostgresClient; known: KnownClient }> {
    for (;;) {
      const client = await this.#client(until);
      const known = this.#known.get(client);
      if (known === undefined) return { client, known: await this.#prepare(client, until) };
      if (known.generation === this.#generation) return { client, known };
      client.release(true);
    }
  }

  /** Waits for a client no longer than that. One that comes later goes straight back. */
  async #client(until: number): Promise<PostgresClient> {
    const connecting = this.#ports.pool.connect();
    try {
      return await within(connecting, this.#ports.timers, Math.max(0, this.#left(until)));
    } catch (error) {
      if (error instanceof DeadlineError)
        connecting.then((client) => client.release()).catch(() => undefined); // it never came
      throw error;
    }
  }

  async #prepare(client: PostgresClient, until: number): Promise<KnownClient> {
    const { timers, timeoutMs } = this.#ports;
    lossListenerOf(client); // before anything is sent, so that no loss is missed
    const generation = this.#generation;
    const serverMs = String(Math.max(1, Math.floor((timeoutMs / 2) * 0.9)));
    try {
      const values = [serverMs, String(Math.ceil(timeoutMs))];
      const asked = client.query({ text: prepareSession, values });
      const { rows } = await within(asked, timers, Math.max(0, this.#left(until)));
      const row = rows[0] ?? {};
      if (row["standby"] !== false) throw new StandbyError("this server takes no writes");
      const backend = { pid: Number(row["pid"]), startedAt: String(row["started_at"]) };
      const known = { backend, generation };
      this.#known.set(client, known);
      return known;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** Makes sure that nothing given up is still on its way, as far as this role may. */
  async #endBackends(call: Call, connection: Connection): Promise<void> {
    while (call.backends.length > 0) {
      const [backend] = call.backends;
      if (backend === undefined) return;
      try {
        const values = [backend.pid, backend.startedAt, endBackendMs];
        await connection.run({ text: endBackend, values });
      } catch (error) {
        if (connection.isBroken) throw error;
        const code = errorCode(error);
        this.#ports.logger.warn({ code }, "a statement that was given up could not be ended");
      }
      call.backends.shift();
    }
  }

  /** What an attempt leaves behind. Once in doubt, a call has as long again. */
  #noteFailure(call: Call, connection: Connection | undefined): void {
    if (connection?.isInDoubt) {
      if (!call.isInDoubt) call.until = this.deadline();
      call.isInDoubt = true;
    }
    // Also one that only reads or locks: it may hold rows for as long as it believes that we are there.
    if (connection?.isBroken && connection.backend !== undefined) {
      call.backends.push(connection.backend);
    }
  }

  /** Returns when the work is to be tried again, and throws the outcome when not. */
  async #afterFailure(
    call: Call,
    error: unknown,
    attempt: { readonly count: number; readonly connection: Connection | undefined },
  ): Promise<void> {
    if (isThroughlineError(error, "THROUGHLINE_FENCED")) this.counts.fenced++;
    if (isThroughlineError(error)) throw error;
    const { count, connection } = attempt;
    this.#noteFailure(call, connection);
    const kind = errorClass(error);
    const pauseMs = this.#pauseMs(kind, count);
    const isOver = kind === "refuse" || kind === "surface" || this.#left(call.until) <= pauseMs;
    if (isOver) {
      throw failure(error, call.isInDoubt ? "THROUGHLINE_OUTCOME_UNKNOWN" : codeOf(kind));
    }
    const code = errorCode(error);
    this.#ports.logger.debug({ code, attempt: count, kind }, "trying the database again");
    this.counts.retries++;
    // One that was in use: a new one that found no primary says nothing of those before it.
    if (kind === "primary" && connection !== undefined) this.#generation++;
    if (pauseMs === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    // Without a connection nothing else keeps the process alive for a caller that waits for the outcome.
    this.#ports.timers.after(pauseMs, resolve, { holdsProcess: true });
    await promise;
  }

  /** The first new connection is tried at once; then half a pause to a whole one. */
  #pauseMs(kind: ErrorClass, count: number): number {
    if (count === 1 && (kind === "reconnect" || kind === "repeat")) return 0;
    const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(count, 10));
    return pause * (0.5 + this.#ports.random() / 2);
  }
}

/** Runs work between `begin` and `commit`. Whatever it throws rolls back what it did. */
export async function inTransaction<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.run({ text: "begin" });
  let value: T;
  try {
    value = await work();
  } catch (error) {
    // A connection that cannot roll back is broken, and closed: the server rolls back then.
    if (!connection.isBroken) await connection.run({ text: "rollback" }).catch(() => undefined);
    throw error;
  }
  await connection.store({ text: "commit" });
  return value;
}

/** What a server that only repeats another one's writes would say to a write. */
class StandbyError extends Error {
  override readonly name = "StandbyError";
  readonly code = "25006";
  readonly severity = "ERROR";
}

function codeOf(kind: ErrorClass): "THROUGHLINE_CONFIGURATION" | "THROUGHLINE_UNAVAILABLE" {
  return kind === "surface" ? "THROUGHLINE_CONFIGURATION" : "THROUGHLINE_UNAVAILABLE";
}

function failure(
  cause: unknown,
  code: "THROUGHLINE_CONFIGURATION" | "THROUGHLINE_UNAVAILABLE" | "THROUGHLINE_OUTCOME_UNKNOWN",
): DatabaseFailure {
  return new DatabaseFailure(`the database failed (${errorCode(cause)})`, { code, cause });
}
