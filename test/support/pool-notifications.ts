import type pg from "pg";
import type { PostgresClient } from "../../src/postgres/pool.ts";

/** Hands on what other processes send: without it a process does not start. Nothing else is told. */
export function onlyNotifications(client: pg.PoolClient): PostgresClient["on"] {
  return (event: string, listener: (message: never) => void) => {
    if (event === "notification") client.on("notification", listener as () => void);
  };
}
