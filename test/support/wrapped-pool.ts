// A pool whose statements a test answers, holds back or loses.
import type pg from "pg";
import type {
  PostgresAnswer,
  PostgresClient,
  PostgresPool,
  PostgresStatement,
} from "../../src/postgres/pool.ts";

export type Query = (
  client: pg.PoolClient,
  statement: PostgresStatement,
) => Promise<PostgresAnswer>;

export class WrappedPool implements PostgresPool {
  // Whoever made the pool listens to its errors.
  readonly on = () => undefined;
  readonly #pool: pg.Pool;
  readonly #query: Query;
  readonly #clients = new WeakMap<pg.PoolClient, PostgresClient>();

  constructor(pool: pg.Pool, query: Query) {
    this.#pool = pool;
    this.#query = query;
  }

  async connect(): Promise<PostgresClient> {
    const client = await this.#pool.connect();
    const known = this.#clients.get(client);
    if (known !== undefined) return known;
    const wrapped: PostgresClient = {
      release: (destroy) => client.release(destroy),
      // Without what other processes send a process does not start. Nothing else is told.
      on: (event: string, listener: (message: never) => void) => {
        if (event === "notification") client.on("notification", listener as () => void);
      },
      query: (statement) => this.#query(client, statement),
    };
    this.#clients.set(client, wrapped);
    return wrapped;
  }
}

export type Loss = "request" | "reply";

/** Loses a connection: before a statement is sent, or once it was answered. */
export async function lose(
  client: pg.PoolClient,
  statement: PostgresStatement,
  loss: Loss,
): Promise<void> {
  if (loss === "reply") await client.query(statement);
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  connection.stream.destroy();
}

/** What `pg` says of a lost connection: no code. */
export const lostConnection = () => new Error("Connection terminated unexpectedly");
