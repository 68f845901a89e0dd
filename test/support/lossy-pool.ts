// A pool that loses one connection: at one statement, before it is sent or once it was answered.

import type pg from "pg";
import type { PostgresClient, PostgresPool, PostgresStatement } from "../../src/postgres/pool.ts";
import { onlyNotifications } from "./pool-notifications.ts";

export type Loss = "request" | "reply";

/** Counts the statements that `counts` tells of; the one with this number, from 1, is lost. */
export class LossyPool implements PostgresPool {
  // Whoever made the pool listens to its errors.
  readonly on = () => undefined;
  readonly removeListener = () => undefined;
  hasLost = false;
  /** What was lost. */
  lostText = "";
  readonly #pool: pg.Pool;
  readonly #at: number;
  readonly #loss: Loss;
  #isArmed = false;
  #count = 0;
  readonly #clients = new WeakMap<pg.PoolClient, PostgresClient>();

  constructor(pool: pg.Pool, at: number, loss: Loss) {
    this.#pool = pool;
    this.#at = at;
    this.#loss = loss;
  }

  /** From now on statements count. */
  arm(): void {
    this.#isArmed = true;
  }

  async connect(): Promise<PostgresClient> {
    const client = await this.#pool.connect();
    const known = this.#clients.get(client);
    if (known !== undefined) return known;
    const lossy: PostgresClient = {
      release: (destroy) => client.release(destroy),
      on: onlyNotifications(client),
      query: (statement) => this.#query(client, statement),
    };
    this.#clients.set(client, lossy);
    return lossy;
  }

  async #query(client: pg.PoolClient, statement: PostgresStatement) {
    const isLost = this.#isArmed && ++this.#count === this.#at;
    if (!isLost) return client.query(statement);
    this.hasLost = true;
    this.lostText = statement.text;
    if (this.#loss === "reply") await client.query(statement);
    (
      client as unknown as { connection: { stream: { destroy(): void } } }
    ).connection.stream.destroy();
    // What `pg` says of a lost connection: no code.
    throw new Error("Connection terminated unexpectedly");
  }
}
