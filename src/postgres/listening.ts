import { errorName } from "../core/errors.ts";
import type { Connection } from "./connection.ts";
import type { ClusterProcess } from "./database.ts";
import type { PostgresStatement, Row } from "./pool.ts";

/** What it tells. */
interface ListeningEvents {
  received(payload: string): void;
  /** It listens again after it did not: what was sent in between is missed. */
  missed(): void;
}

/** How often a silent connection is asked whether it still lives. */
const checkMs = 5_000;
const firstPauseMs = 50;
const longestPauseMs = 2_000;

/** A connection that listens, and another one when it is lost, until it is closed. */
export class Listening {
  readonly #process: Omit<ClusterProcess, "companion" | "processId">;
  readonly #events: ListeningEvents;
  #connection: Connection | undefined;
  #isAsking = false;
  #cancelWait: (() => void) | undefined;
  #closed = false;

  constructor(process: Omit<ClusterProcess, "companion" | "processId">, events: ListeningEvents) {
    this.#process = process;
    this.#events = events;
  }

  /** Resolves when it listens. */
  async open(): Promise<void> {
    this.#keep(await this.#listen());
  }

  /**
   * Asks over the connection that listens, for which no other call has to be waited; over another one while that is
   * lost, or has not answered what it was asked before.
   */
  async query(statement: PostgresStatement): Promise<readonly Row[]> {
    const connection = this.#isAsking ? undefined : this.#connection;
    if (connection === undefined) return this.#process.database.query(statement);
    this.#isAsking = true;
    try {
      return await connection.run(statement);
    } finally {
      this.#isAsking = false;
    }
  }

  close(): void {
    this.#closed = true;
    this.#cancelWait?.();
    this.#connection?.release(true);
    this.#connection = undefined;
  }

  async #listen(): Promise<Connection> {
    const { database, channel } = this.#process;
    const connection = await database.connect();
    try {
      connection.onNotification((message) => {
        const isOurs = message.channel === channel && this.#connection === connection;
        if (isOurs) this.#events.received(message.payload ?? "");
      });
      this.#connection = connection;
      await connection.run({ text: `listen "${channel}"` });
      return connection;
    } catch (error) {
      this.#connection = undefined;
      connection.release(true);
      throw error;
    }
  }

  #keep(connection: Connection): void {
    if (this.#closed) {
      connection.release(true);
      return;
    }
    connection.onLost(() => this.#lost(connection));
    this.#checkLater(connection);
  }

  /** A connection whose other end is gone says nothing of it. */
  #checkLater(connection: Connection): void {
    if (connection.isBroken) return;
    this.#cancelWait = this.#process.timers.after(checkMs, () => {
      if (this.#connection !== connection) return;
      // No answer breaks the connection, and is then a loss; one that refuses is an answer too.
      const again = () => this.#checkLater(connection);
      connection.run({ text: "select 1" }).then(again, again);
    });
  }

  #lost(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#cancelWait?.();
    connection.release(true);
    this.#process.logger.warn({}, "the connection that listens to the other processes was lost");
    void this.#heal(0);
  }

  async #heal(pauseMs: number): Promise<void> {
    if (this.#closed) return;
    try {
      const connection = await this.#listen();
      this.#keep(connection);
      if (!this.#closed) this.#events.missed();
    } catch (error) {
      this.#process.logger.warn(
        { error: errorName(error) },
        "the other processes cannot be listened to",
      );
      if (this.#closed) return;
      const nextMs = Math.min(longestPauseMs, Math.max(firstPauseMs, pauseMs * 2));
      this.#cancelWait = this.#process.timers.after(nextMs, () => void this.#heal(nextMs));
    }
  }
}
