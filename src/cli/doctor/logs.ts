import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { chatProjection } from "../../core/chat/chat-head.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { FileLogStore } from "../../core/storage/files/file-log-store.ts";
import type { FileStorage } from "../../core/storage/files/file-storage.ts";
import { openFileStorage } from "../../core/storage/files/open-file-storage.ts";
import { type FrameworkLogs, frameworkLogs } from "../../core/storage/framework-logs.ts";
import { unlisted } from "../../core/storage/log-store.ts";
import type { RepairReport } from "../../core/storage/storage.ts";
import { openThroughline, type Throughline } from "../../core/throughline.ts";
import { isErrno } from "../failure.ts";
import { counted } from "../format.ts";
import { checkAttachments } from "./attachments.ts";
import type { Check, Checked, Checker } from "./check.ts";
import { checkHome, checkSpace } from "./home.ts";

/** The kinds of repair that mean a loss. */
const losses: ReadonlySet<RepairReport["kind"]> = new Set([
  "damaged_middle",
  "older_copy",
  "unreadable_document",
  "unreadable_log",
]);

/** The collections of logs that a home may hold. */
const collections: readonly (FrameworkLogs & { readonly isOptional?: boolean })[] = [
  { collection: "chats", projection: chatProjection },
  { collection: "forgotten", projection: unlisted },
  ...frameworkLogs.map((logs) => ({ ...logs, isOptional: true })),
];

/** The logs of a home, where no database takes their place, and the space for more. */
export const logChecks: Checker = async ({ home, store }) => {
  const { isThere } = await checkHome(home);
  if (!isThere) return { checks: [] };
  const space = await checkSpace(home);
  if (store !== undefined) return { checks: [space] };
  const { checks, repairs } = await checkLogs(home);
  return { checks: [space, ...checks], repairs };
};

/** Opens a home, which repairs what can be repaired, and reads every log in it to its end. */
async function checkLogs(home: string): Promise<Checked> {
  let storage: FileStorage | undefined;
  try {
    storage = await openFileStorage({ home });
    const throughline = await openThroughline({ storage });
    const lock: Check = { id: "lock", status: "ok", says: "no other process uses this home" };
    const checks = [lock, ...(await checkOpen(home, storage, throughline))];
    // A repair that moved bytes away has left its report in quarantine.
    const repairs = storage.repairs().filter(({ quarantined }) => quarantined === undefined);
    return { checks, repairs };
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    if (error.code === "THROUGHLINE_LOCKED") {
      const says = `${error.message}. Its logs can be checked after that process has ended`;
      return { checks: [{ id: "lock", status: "failed", says }] };
    }
    const says = `the home cannot be opened: ${error.message} [${error.code}]`;
    // Not checked, so not known to be damaged.
    const isUnseen = ["THROUGHLINE_CONFIGURATION", "THROUGHLINE_UNAVAILABLE"].includes(error.code);
    const status = isUnseen ? "failed" : "damaged";
    return { checks: [{ id: "open", status, says }] };
  } finally {
    await storage?.close();
  }
}

async function checkOpen(
  home: string,
  storage: FileStorage,
  { chats }: Throughline,
): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const { collection, projection, isOptional = false } of collections) {
    const store = storage.fileLogs(collection, projection);
    if (isOptional && (await store.keys()).length === 0) continue;
    checks.push(...(await verifyAll(collection, store)));
    checks.push(await compareIndex(collection, store, join(home, collection)));
  }
  checks.push(...(await checkAttachments(storage)));
  for (const report of storage.repairs()) {
    const isLoss = losses.has(report.kind);
    const says = `${printableLine(report.key)}: ${report.kind}: ${report.reason}`;
    checks.push({ id: `repair.${report.kind}`, status: isLoss ? "damaged" : "note", says });
  }
  checks.push(...(await unansweredCheck(chats)));
  return checks;
}

async function verifyAll(collection: string, store: FileLogStore): Promise<readonly Check[]> {
  const checks: Check[] = [];
  let records = 0;
  const keys = await store.keys();
  for (const key of keys) {
    try {
      records += await store.verify(key);
      const tail = await store.tail(key, 0);
      if (tail?.damaged) {
        const says = `${collection}/${printableLine(key)} is damaged. What can be read is still served`;
        checks.push({ id: `log.${collection}`, status: "damaged", says });
      }
    } catch (error) {
      if (!isThroughlineError(error)) throw error;
      const says = `${collection}/${printableLine(key)}: ${error.message} [${error.code}]`;
      checks.push({ id: `log.${collection}`, status: "damaged", says });
    }
  }
  if (checks.length > 0) return checks;
  const read = `${counted(records, "record")} in ${counted(keys.length, "log")}`;
  const says = `${collection}: ${read}, every checksum is right`;
  return [{ id: `log.${collection}`, status: "ok", says }];
}

/** The index is derived; a log that it does not know would not be listed. */
async function compareIndex(
  collection: string,
  store: FileLogStore,
  directory: string,
): Promise<Check> {
  const known = (await store.keys()).length;
  const files = (await namesIn(directory)).filter((name) => name.endsWith(".jsonl")).length;
  const says =
    known === files
      ? `${collection}: every log is in the index`
      : `${collection}: ${files} files end in .jsonl, but only ${known} of them are logs of this home`;
  return { id: `index.${collection}`, status: known === files ? "ok" : "note", says };
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

async function unansweredCheck(chats: Throughline["chats"]): Promise<readonly Check[]> {
  const { chats: waiting, cursor } = await chats.list({ unanswered: true, limit: 1_000 });
  if (waiting.length === 0) return [];
  const count = cursor === undefined ? counted(waiting.length, "chat") : "more than 1000 chats";
  const says = `${count} with an unanswered message: sessions list --unanswered`;
  return [{ id: "unanswered", status: "note", says }];
}
