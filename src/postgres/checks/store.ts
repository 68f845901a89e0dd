import type { Check } from "../../cli/doctor/doctor.ts";
import { attachmentsAlone, unansweredCheck } from "../../cli/doctor/home.ts";
import { counted } from "../../cli/format.ts";
import type { PostgresLocation } from "../../cli/store-location.ts";
import { chatProjection } from "../../core/chat/chat-head.ts";
import { moveUnderWay } from "../../core/chat/move-under-way.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { silentLogger } from "../../core/logger.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { openPool } from "../commands/open-pool.ts";
import { openStore } from "../commands/open-store.ts";
import { DeadlineError } from "../connection.ts";
import { errorCode, sqlState } from "../error-class.ts";
import { everyLog, placeName } from "../move/places.ts";
import { type AskLimits, checkDatabase, type DatabaseChecks } from "./database.ts";

/** Looks at a database, and reads every log in it to its end. Creates no schema. */
export async function checkStore(
  location: PostgresLocation,
  limits?: AskLimits,
): Promise<readonly Check[]> {
  const { checks, hasSchema } = await askDatabase(location, limits);
  return hasSchema ? [...checks, ...(await readContent(location))] : checks;
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
    return { checks: [{ id: "store", status: "failed", says }], hasSchema: false };
  } finally {
    await end();
  }
}

async function readContent(location: PostgresLocation): Promise<readonly Check[]> {
  try {
    const storage = await openStore(location, { logger: silentLogger });
    try {
      return [...(await checkContent(storage)), ...(await checkAttachments(storage))];
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
  for await (const { place, logs: store, row } of everyLog(storage)) {
    let next = 1;
    for await (const { seq } of store.read(row.key)) if (seq === next) next++;
    logs++;
    records += next - 1;
    if (next > row.seq) continue;
    const says = `${placeName(place.collection, row.key)}: record ${next} is missing`;
    checks.push({ id: "store.logs", status: "damaged", says });
  }
  const says = `${counted(records, "record")} in ${counted(logs, "log")}, all of them read`;
  if (checks.every(({ id }) => id !== "store.logs")) {
    checks.push({ id: "store.logs", status: "ok", says });
  }
  return [...checks, ...(await unansweredCheck(storage))];
}

const id = "attachments";

/**
 * Reads the attachments of all chats, and compares each with its hash. What is left of a file that a dead process
 * was writing is removed.
 */
async function checkAttachments(
  storage: Pick<Storage, "files" | "logs">,
): Promise<readonly Check[]> {
  const files = storage.files("chats");
  const logs = storage.logs("chats", chatProjection);
  const checks: Check[] = [];
  let count = 0;
  for await (const key of files.keys()) {
    const name = printableLine(key);
    const found = await files.list(key);
    if (found.length === 0) await files.delete(key);
    if (found.length > 0 && (await logs.tail(key, 0)) === undefined)
      checks.push(attachmentsAlone(key, found.length));
    for (const { sha256 } of found) {
      count++;
      try {
        await files.get(key, sha256);
      } catch (error) {
        if (!isThroughlineError(error)) throw error;
        const says = `chats/${name}: ${error.message} [${error.code}]`;
        const isDamaged = error.code === "THROUGHLINE_CORRUPT";
        checks.push({ id, status: isDamaged ? "damaged" : "failed", says });
      }
    }
  }
  if (count === 0 || checks.length > 0) return checks;
  return [{ id, status: "ok", says: `chats: ${counted(count, "attachment")}, every one is whole` }];
}
