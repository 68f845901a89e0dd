import type { Check } from "../../cli/doctor/check.ts";
import { counted } from "../../cli/format.ts";
import type { PostgresLocation } from "../../cli/store-location.ts";
import { chatProjection } from "../../core/chat/chat-head.ts";
import { systemClock } from "../../core/clock.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { randomId } from "../../core/ids.ts";
import { silentLogger } from "../../core/logger.ts";
import { LeaseRegistry } from "../../core/storage/cluster-leases.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { systemTimers } from "../../core/timers.ts";
import { Calls } from "../calls.ts";
import { openPool } from "../commands/open-pool.ts";
import { endingAfter, openStore } from "../commands/open-store.ts";
import { DeadlineError } from "../connection.ts";
import { Database } from "../database.ts";
import { errorCode, sqlState } from "../error-class.ts";
import { everyLog } from "../move/every-log.ts";
import { moveUnderWay } from "../move/move-notes.ts";
import { logPlaces, marksPlace } from "../move/places.ts";
import { placeName } from "../move/records.ts";
import { PostgresCluster } from "../postgres-cluster.ts";
import { PostgresStorage } from "../postgres-storage.ts";
import { checkAttachments } from "./attachments.ts";
import { type AskLimits, checkDatabase, type DatabaseChecks } from "./database.ts";

/** Looks at a database, and reads every log in it to its end. Brings no schema up to date. */
export async function checkStore(
  location: PostgresLocation,
  limits?: AskLimits,
): Promise<readonly Check[]> {
  const { checks, schema } = await askDatabase(location, limits);
  return schema === "none" ? checks : [...checks, ...(await readContent(location, schema))];
}

async function askDatabase(
  location: PostgresLocation,
  limits: AskLimits | undefined,
): Promise<DatabaseChecks> {
  const { pool, end } = await openPool(location);
  try {
    return await checkDatabase(pool, location, limits);
  } catch (error) {
    // Only the code: the client's own message is not ours.
    const why = error instanceof DeadlineError ? error.message : errorCode(error);
    const cannot = sqlState(error) === undefined ? "be reached" : "be asked";
    const says = `${location.says} cannot ${cannot} (${why})`;
    return { checks: [{ id: "store", status: "failed", says }], schema: "none" };
  } finally {
    await end();
  }
}

async function readContent(
  location: PostgresLocation,
  schema: "older" | "known",
): Promise<readonly Check[]> {
  const open = schema === "older" ? openOlderStore : openStore;
  try {
    const storage = await open(location, { logger: silentLogger });
    try {
      const checks = await checkContent(storage);
      // An older schema may have no place for them.
      return schema === "older" ? checks : [...checks, ...(await checkAttachments(storage))];
    } finally {
      await storage.close();
    }
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    const cannot = error.code === "THROUGHLINE_UNAVAILABLE" ? "be read now" : "be opened";
    const says = `the store cannot ${cannot}: ${error.message} [${error.code}]`;
    const status = error.code === "THROUGHLINE_CORRUPT" ? "damaged" : "failed";
    return [{ id: "store.open", status, says }];
  }
}

async function checkContent(storage: Storage): Promise<readonly Check[]> {
  const checks: Check[] = [];
  const begunAt = await moveUnderWay(storage);
  if (begunAt !== undefined) {
    const says = `the copy to this store that started at ${begunAt} is not finished. Run it again`;
    checks.push({ id: "store.move", status: "note", says });
  }
  let logs = 0;
  let records = 0;
  for await (const { place, logs: store, row } of everyLog(storage, [marksPlace, ...logPlaces])) {
    let next = 1;
    for await (const { seq } of store.read(row.key)) if (seq === next) next++;
    logs++;
    records += next - 1;
    if (next > row.seq) continue;
    const says = `${placeName({ collection: place.collection, key: row.key })}: record ${next} is missing`;
    checks.push({ id: "store.logs", status: "damaged", says });
  }
  const says = `${counted(records, "record")} in ${counted(logs, "log")}, all of them read`;
  if (checks.every(({ id }) => id !== "store.logs")) {
    checks.push({ id: "store.logs", status: "ok", says });
  }
  return [...checks, ...(await unanswered(storage))];
}

async function unanswered(storage: Storage): Promise<readonly Check[]> {
  const chats = storage.logs("chats", chatProjection);
  const { rows, cursor } = await chats.list({ label: "unanswered", limit: 1_000 });
  if (rows.length === 0) return [];
  const count = cursor === undefined ? counted(rows.length, "chat") : "more than 1000 chats";
  const says = `${count} with an unanswered message: sessions list --unanswered`;
  return [{ id: "unanswered", status: "note", says }];
}

const timeoutMs = 10_000;

/**
 * A store whose schema is older than this program, only to be read: it is not brought up to date, and
 * other processes are not notified of this one. Lists and reads need no more than the first migration
 * made; the first one after which they need more makes them fail with `THROUGHLINE_CONFIGURATION`.
 */
async function openOlderStore(location: PostgresLocation): Promise<Storage> {
  const { pool, end } = await openPool(location);
  const ports = { clock: systemClock, timers: systemTimers, logger: silentLogger };
  const database = new Database({ ...ports, pool, random: () => 0.5, timeoutMs });
  const { companion } = location;
  const shared = { ...ports, database, companion, epochs: new LeaseRegistry(), newId: randomId };
  // It is never opened: it listens to nothing and takes no connection.
  const cluster = new PostgresCluster(shared, timeoutMs);
  return endingAfter(new PostgresStorage({ ...shared, calls: new Calls() }, cluster), end);
}
