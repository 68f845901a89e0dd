// What the driver uses of `pg`. Structural, so that nothing here imports a database client.

/** A row as it was answered, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** What a statement was answered. */
export interface PostgresAnswer {
  readonly rows: readonly Row[];
}

/** One statement. A name makes the server keep its plan, once per connection. */
export interface PostgresStatement {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}

/** A message of `NOTIFY`, as a client that listens receives it. */
export interface PostgresNotification {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/** One connection, checked out of a pool. `PoolClient` of `pg` fits. */
export interface PostgresClient {
  query(statement: PostgresStatement): Promise<PostgresAnswer>;
  /** Gives it back; `true` closes it. */
  release(destroy?: boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(event: "notification", listener: (message: PostgresNotification) => void): unknown;
}

/** Connections to one database. `Pool` of `pg` fits. It stays the caller's, who ends it. */
export interface PostgresPool {
  /** How many connections it makes at most, where it says so. */
  readonly options?: { readonly max?: number | undefined };
  /** Connections that are open, those of them that nothing uses, and calls that wait for one, where it says so. */
  readonly totalCount?: number | undefined;
  readonly idleCount?: number | undefined;
  readonly waitingCount?: number | undefined;
  connect(): Promise<PostgresClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
}
