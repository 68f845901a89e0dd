import { statfs } from "node:fs/promises";
import { chatProjection } from "../../core/chat/chat-head.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { isoTime, systemClock } from "../../core/clock.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { randomId } from "../../core/ids.ts";
import { silentLogger } from "../../core/logger.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import type { FileStorage } from "../../core/storage/files/file-storage.ts";
import { homeBytes } from "../../core/storage/files/home-bytes.ts";
import { checkHome } from "../../core/storage/files/home-guard.ts";
import { readLastBackup } from "../../core/storage/files/last-backup.ts";
import { openFileStorage } from "../../core/storage/files/open-file-storage.ts";
import { type Finding, Quarantine } from "../../core/storage/files/quarantine.ts";
import { frameworkLogs } from "../../core/storage/framework-logs.ts";
import { unlisted } from "../../core/storage/log-store.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { openThroughline } from "../../core/throughline.ts";
import { bytes, counted } from "../format.ts";
import { type Check, type Checker, check } from "./doctor.ts";
import { isHome } from "./home-files.ts";
import { takeInventory } from "./inventory.ts";

/** Less free space than this is a note: a turn takes kilobytes, a moment up to 20 MB. */
const littleBytes = 1e9;

/** The home, and what lies in it where no database takes its place. */
export const homeChecks: Checker = async ({ home, store }, isOpen) => {
  const folder = await checkFolder(home, store !== undefined);
  if (folder.status === "failed" || folder.says.startsWith("there is no")) {
    return { checks: [folder] };
  }
  const checks = [folder, await checkSpace(home), await checkSize(home), await checkBackup(home)];
  if (store !== undefined) return { checks };
  const opened = isOpen ? [] : await settle(home);
  const { count, found } = await takeInventory(realDisk, home, opened[0]?.status !== "ok");
  await keepReports(home, found);
  const { logs, records, documents, attachments } = count;
  const counts = [counted(documents, "document"), counted(attachments, "attachment")];
  const inLogs = `${counted(records, "record")} in ${counted(logs, "log")}`;
  const contents = check("contents", "ok", `${[inLogs, ...counts].join(", ")} were read`);
  return { checks: [...checks, ...opened, contents], found };
};

/** Whether the home exists, is a directory of this user, and is closed to other users. */
async function checkFolder(home: string, isBeside: boolean): Promise<Check> {
  const notes: string[] = [];
  try {
    checkHome(home, { ...silentLogger, warn: (_, says) => notes.push(says) });
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    if (!error.message.endsWith("create it")) return check("home", "failed", error.message);
    return check("home", isBeside ? "note" : "failed", `there is no home at ${home}`);
  }
  if (!isBeside && !(await isHome(realDisk, home))) {
    const says = `${home} is not a home: it holds nothing that Throughline writes`;
    return check("home", "failed", says);
  }
  const [note] = notes;
  return check("home", note === undefined ? "ok" : "note", note ?? home);
}

async function checkSpace(home: string): Promise<Check> {
  const { bavail, bsize } = await statfs(home);
  const free = bavail * bsize;
  return check(
    "space",
    free < littleBytes ? "note" : "ok",
    `${bytes(free)} free on the home's disk`,
  );
}

async function checkSize(home: string): Promise<Check> {
  const parts = Object.entries(await homeBytes(realDisk, home)).filter(([, size]) => size > 0);
  const sum = parts.reduce((all, [, size]) => all + size, 0);
  const list = parts.map(([part, size]) => `${part} ${bytes(size)}`).join(", ");
  return check("size", "ok", `the home has ${bytes(sum)}: ${list}`);
}

async function checkBackup(home: string): Promise<Check> {
  const last = await readLastBackup(realDisk, home);
  if (last === undefined) {
    return check("backup", "ok", "no backup is noted: throughline backup DIR makes one");
  }
  const says = `the last backup, in ${last.directory}, was made at ${last.made_at}`;
  return last.whole
    ? check("backup", "ok", `${says}, and is whole`)
    : check("backup", "note", `${says}, and something in it is damaged or left out`);
}

/** Keeps what was found until a person confirms it. */
async function keepReports(home: string, found: readonly Finding[]): Promise<void> {
  const ports = {
    disk: realDisk,
    newId: randomId,
    unsyncedNames: new Set<string>(),
    guard: () => undefined,
  };
  const quarantine = new Quarantine(ports, home);
  const at = isoTime(systemClock.now());
  for (const finding of found) await quarantine.keepReport({ at, ...finding });
}

/** Opens a home that no process uses, which repairs what can be repaired. */
async function settle(home: string): Promise<readonly Check[]> {
  let storage: FileStorage | undefined;
  try {
    storage = await openFileStorage({ home });
    const notes = await openLogs(storage);
    await openThroughline({ storage }); // which finishes what a dead process began
    const lock = check("lock", "ok", "no other process uses this home");
    return [lock, ...notes, ...(await unansweredCheck(storage))];
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    const { code, message } = error;
    return code === "THROUGHLINE_LOCKED"
      ? [check("lock", "note", message.replace(/: stop it.*$/, ""))]
      : [check("open", "failed", `the home cannot be opened: ${message} [${code}]`)];
  } finally {
    await storage?.close();
  }
}

/** Opening a log compares it with the index, and sets aside a torn end. */
async function openLogs(storage: FileStorage): Promise<readonly Check[]> {
  const collections = [
    { collection: "chats", projection: chatProjection },
    { collection: "forgotten", projection: unlisted },
    ...frameworkLogs,
  ];
  for (const { collection, projection } of collections) {
    const logs = storage.logs(collection, projection);
    // One that cannot be opened is reported.
    for (const key of await logs.keys()) await logs.tail(key, 0).catch(() => undefined);
  }
  const files = storage.files("chats");
  const chats = new Set(await storage.logs("chats", chatProjection).keys());
  const notes: Check[] = [];
  for await (const key of files.keys()) {
    const { length } = await files.list(key);
    // What is left of a file that a dead process was writing.
    if (length === 0) await files.delete(key);
    else if (!chats.has(key)) notes.push(attachmentsAlone(key, length));
  }
  return notes;
}

/** Counts the chats in which a message has no answer. */
export async function unansweredCheck(storage: Pick<Storage, "logs">): Promise<readonly Check[]> {
  const chats = storage.logs("chats", chatProjection);
  const { rows, cursor } = await chats.list({ label: "unanswered", limit: 1_000 });
  if (rows.length === 0) return [];
  const count = cursor === undefined ? counted(rows.length, "chat") : "more than 1000 chats";
  const says = `${count} with an unanswered message: sessions list --unanswered`;
  return [check("unanswered", "note", says)];
}

/** Names attachments whose chat has no log. */
export function attachmentsAlone(chatId: string, count: number): Check {
  const what = `${counted(count, "attachment")} of a chat that does not exist`;
  const says = `chats/${printableLine(chatId)}: ${what}. Run: sessions forget`;
  return check("attachments", "note", says);
}
