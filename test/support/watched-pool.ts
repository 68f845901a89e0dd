// A pool whose statements can be held back, or lost, by their names.
import type pg from "pg";
import type { PostgresAnswer, PostgresStatement } from "../../src/postgres/pool.ts";
import { type Loss, lose, lostConnection, WrappedPool } from "./wrapped-pool.ts";

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

export class WatchedPool extends WrappedPool {
  /** The names of the statements that were asked for, in order; their texts, where they have none. */
  readonly asked: string[] = [];
  /** How many statements were on their way at once, at most. */
  mostAtOnce = 0;
  #onTheirWay = 0;
  /** What becomes of the next statement with a name that begins so. */
  readonly #fates: { readonly name: string; readonly fate: Fate }[] = [];

  constructor(pool: pg.Pool) {
    super(pool, (client, statement) => this.#counted(this.#send(client, statement)));
  }

  /** Decides about the next statement whose name begins so. */
  decide(name: string, fate: Fate): void {
    this.#fates.push({ name, fate });
  }

  async #counted<T>(statement: Promise<T>): Promise<T> {
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#onTheirWay);
    try {
      return await statement;
    } finally {
      this.#onTheirWay--;
    }
  }

  async #send(client: pg.PoolClient, statement: PostgresStatement): Promise<PostgresAnswer> {
    const name = statement.name ?? statement.text;
    this.asked.push(name);
    const index = this.#fates.findIndex((each) => name.startsWith(each.name));
    const { after, loss, text, meanwhile } =
      index < 0 ? {} : (this.#fates.splice(index, 1)[0]?.fate ?? {});
    await after;
    if (text !== undefined) return client.query(text);
    if (loss === undefined) return client.query(statement);
    await lose(client, statement, loss);
    await meanwhile?.();
    throw lostConnection();
  }
}
