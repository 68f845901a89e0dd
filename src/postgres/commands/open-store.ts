import { existsSync, mkdirSync } from "node:fs";
import { Failed } from "../../cli/failure.ts";
import type { PostgresLocation, StoreLocation } from "../../cli/store-location.ts";
import { moveUnderWay } from "../../core/chat/move-under-way.ts";
import { systemClock } from "../../core/clock.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import { type Lease, takeLease } from "../../core/storage/files/lease.ts";
import { openFileStorage } from "../../core/storage/files/open-file-storage.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { openPool } from "./open-pool.ts";

interface OpenStoreOptions {
  readonly logger: Logger;
  /**
   * The companion's directory, for what is kept in files beside a database: packages of moments.
   * `undefined`: nothing is.
   */
  readonly home?: { readonly path: string; readonly make: boolean };
}

/**
 * Opens what a location names. Closing it ends its connections too.
 *
 * @throws ThroughlineError as `openFileStorage` and `openPostgresStorage` do.
 */
export function openStore(location: StoreLocation, options: OpenStoreOptions): Promise<Storage> {
  if (location.kind === "postgres") return openDatabase(location, options);
  return openFileStorage({ home: location.home, logger: options.logger });
}

/**
 * The same, for working with the memories in it.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a move into it has not ended; it holds a part of a
 * companion, and what was added to that could not be copied over any more.
 */
export async function openWholeStore(
  location: StoreLocation,
  options: OpenStoreOptions,
): Promise<Storage> {
  const storage = await openStore(location, options);
  try {
    const begunAt = await moveUnderWay(storage);
    if (begunAt === undefined) return storage;
    throw new Failed(`the copy to ${location.says} that started at ${begunAt} is not finished`, {
      code: "THROUGHLINE_CONFLICT",
      wayOut: "Run the same `throughline export --to` or `import --from store` again to finish it.",
    });
  } catch (error) {
    await storage.close();
    throw error;
  }
}

async function openDatabase(
  location: PostgresLocation,
  { logger, home }: OpenStoreOptions,
): Promise<Storage> {
  const { openPostgresStorage } = await import("../postgres.ts");
  const { pool, end } = await openPool(location);
  let lease: Lease | undefined;
  try {
    lease = home && holdHome(home, logger);
    const { companion, durability } = location;
    const storage = await openPostgresStorage({ pool, companion, durability, logger });
    return withHome(storage, home && lease && { path: home.path, lease }, end);
  } catch (error) {
    lease?.release();
    await end();
    throw error;
  }
}

/**
 * Several servers of one machine may share a home beside a database. One of them keeps moments in it.
 *
 * @returns `undefined` when another process does, or when there is no home and none is to be made.
 */
function holdHome(
  home: { readonly path: string; readonly make: boolean },
  logger: Logger,
): Lease | undefined {
  if (home.make) mkdirSync(home.path, { recursive: true, mode: 0o700 });
  else if (!existsSync(home.path)) return undefined;
  try {
    return takeLease(home.path, { clock: systemClock, logger });
  } catch (error) {
    if (!isThroughlineError(error, "THROUGHLINE_LOCKED")) throw error;
    logger.warn({ home: home.path }, "another process records the moments of this home");
    return undefined;
  }
}

/** The same storage, as one with files has a home beside it, and with something to end after it is closed. */
function withHome(
  storage: Storage,
  home: { readonly path: string; readonly lease: Lease } | undefined,
  end: () => Promise<void>,
): Storage {
  const closeStorage = storage.close.bind(storage);
  let closing: Promise<void> | undefined;
  const closeAll = async () => {
    try {
      await closeStorage();
    } finally {
      home?.lease.release();
      await end();
    }
  };
  const close = () => {
    closing ??= closeAll();
    return closing;
  };
  const ownHome = home && { path: home.path, assertWriter: () => home.lease.check() };
  return Object.defineProperties(storage, { ownHome: { value: ownHome }, close: { value: close } });
}
