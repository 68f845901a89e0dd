// A pool of a process that is killed.

import type pg from "pg";
import type { PostgresClient, PostgresPool } from "../../src/postgres/pool.ts";
import { onlyNotifications } from "./pool-notifications.ts";

/** A pool of a process that is killed when this statement was done. */
export class DyingPool implements PostgresPool {
  readonly on = () => undefined;
  readonly removeListener = () => undefined;
  isDead = false;
  readonly #pool: pg.Pool;
  #left: number;

  constructor(pool: pg.Pool, statements: number) {
    this.#pool = pool;
    this.#left = statements;
  }

  async connect(): Promise<PostgresClient> {
    if (this.isDead) throw new DeadProcessError("this process is dead");
    const client = await this.#pool.connect();
    return {
      release: (destroy) => client.release(destroy),
      on: onlyNotifications(client),
      query: async (statement) => {
        const isLast = --this.#left === 0;
        const answer = await client.query(statement);
        if (isLast) await this.#die(client);
        return answer;
      },
    };
  }

  async #die(client: pg.PoolClient): Promise<never> {
    this.isDead = true;
    const { processID } = client as unknown as { processID: number };
    await this.#pool.query("select pg_terminate_backend($1, 5000)", [processID]);
    throw new Error("killed");
  }
}

/** As a server refuses a login, which nobody tries again. */
class DeadProcessError extends Error {
  readonly severity = "FATAL";
  readonly code = "28000";
}
