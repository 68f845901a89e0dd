// A pool whose statements can be held back, or lost, by their names.

import type pg from "pg";
import type {
  PostgresAnswer,
  PostgresClient,
  PostgresPool,
  PostgresStatement,
} from "../../src/postgres/pool.ts";
import type { Loss } from "./lossy-pool.ts";
import { onlyNotifications } from "./pool-notifications.ts";

/** What becomes of one statement, as a test decides it. */
export interface Fate {
  /** It is sent when this resolves. */
  readonly after?: Promise<unknown>;
  readonly loss?: Loss;
  /** It is sent as this text. */
  readonly text?: string;
  /** Is done before anybody hears of the loss. */
  readonly meanwhile?: () => Promise<unknown>;
}

export class WatchedPool implements PostgresPool {
  // Whoever made the pool listens to its errors.
  readonly on = () => undefined;
  readonly removeListener = () => undefined;
  /** The names of the statements that were asked for, in order; their texts, where they have none. */
  readonly asked: string[] = [];
  /** How many statements were on their way at once, at most. */
  mostAtOnce = 0;
  #onTheirWay = 0;
  /** What becomes of the next statement with a name that begins so. */
  readonly #fates: { readonly name: string; readonly fate: Fate }[] = [];
  readonly #pool: pg.Pool;
  readonly #clients = new WeakMap<pg.PoolClient, PostgresClient>();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Decides about the next statement whose name begins so. */
  decide(name: string, fate: Fate): void {
    this.#fates.push({ name, fate });
  }

  async connect(): Promise<PostgresClient> {
    const client = await this.#pool.connect();
    const known = this.#clients.get(client);
    if (known !== undefined) return known;
    const watched: PostgresClient = {
      release: (destroy) => client.release(destroy),
      on: onlyNotifications(client),
      query: (statement) => this.#counted(this.#query(client, statement)),
    };
    this.#clients.set(client, watched);
    return watched;
  }

  async #counted<T>(statement: Promise<T>): Promise<T> {
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#onTheirWay);
    try {
      return await statement;
    } finally {
      this.#onTheirWay--;
    }
  }

  async #query(client: pg.PoolClient, statement: PostgresStatement): Promise<PostgresAnswer> {
    const name = statement.name ?? statement.text;
    this.asked.push(name);
    const index = this.#fates.findIndex((each) => name.startsWith(each.name));
    const { after, loss, text, meanwhile } =
      index < 0 ? {} : (this.#fates.splice(index, 1)[0]?.fate ?? {});
    await after;
    if (text !== undefined) return client.query(text);
    if (loss === undefined) return client.query(statement);
    if (loss === "reply") await client.query(statement);
    (
      client as unknown as { connection: { stream: { destroy(): void } } }
    ).connection.stream.destroy();
    await meanwhile?.();
    // What `pg` says of a lost connection: no code.
    throw new Error("Connection terminated unexpectedly");
  }
}
