// The index is derived: here it is compared with the logs, which win.
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { isThroughlineError } from "../../errors.ts";
import type { DiskEntry, DiskFile } from "../disk/disk.ts";
import type { Batch } from "./batch-reader.ts";
import { fileNameOf, keyOfFileName, logName } from "./file-name.ts";
import {
  isCode,
  isDiskError,
  isTemporaryName,
  isThere,
  logTemporary,
  unlessAbsent,
} from "./file-ports.ts";
import { isSurelyOurs } from "./log-end.ts";
import type { LogFile, LogPorts } from "./log-file.ts";

/** So much of a log is given to the index at a time. */
const addedBytes = 256 * 1024;

/**
 * Brings the index up to what a log holds. Called whenever a log is opened: one comparison when the
 * two agree, a read of the new batches when the index is behind, a new start when it speaks of
 * another file. A log that holds less than the index knew is an older copy, and is reported.
 */
export async function followIndex(ports: LogPorts, log: LogFile): Promise<void> {
  const { file } = ports.index;
  for (let isWhole = false; !isWhole; ) {
    const { losses } = file;
    const isLost = () => losses !== file.losses;
    try {
      await follow(ports, log, isLost);
    } catch (error) {
      // One that was begun again twice is in memory, and refuses nothing.
      if (!isLost() || losses >= 2) throw error;
    }
    isWhole = !isLost(); // or it is empty now
  }
}

async function follow(ports: LogPorts, log: LogFile, isLost: () => boolean): Promise<void> {
  const { index } = ports;
  const { key } = log;
  // The index remembers damage that was found: the tail of a log alone does not show it.
  if (index.isDamaged(key)) log.damaged = true;
  let entry = index.entry(key);
  // The journal may say that the log was cut back, which the index has yet to read.
  if (entry !== undefined && entry.end > log.stored.end) {
    await index.file.catchUp().catch(() => undefined);
    entry = index.entry(key);
  }
  if (entry?.end === log.stored.end && entry.crc === log.stored.crc) return;
  let from = 0;
  if (entry !== undefined) {
    if (await log.hasCommit(entry.end, entry.crc)) from = entry.end;
    else {
      if (entry.end > 0) reportOlderCopy(ports, log, entry.seq); // or the log was cut back
      await index.remove(key);
    }
  }
  let batches: Batch[] = [];
  let bytes = 0;
  const add = async () => {
    if (!isLost()) await index.add(log, batches, from);
    from = batches.at(-1)?.end ?? from;
    batches = [];
    bytes = 0;
  };
  for await (const batch of log.batches(from)) {
    batches.push(batch);
    bytes += batch.end - batch.start;
    if (bytes >= addedBytes) await add();
  }
  if (batches.length > 0 || log.damaged) await add();
}

/** What is said of a log that lacks what the index knew: up to record `known`. */
export function olderCopy(seq: number, known: number): string {
  if (seq < known) return `the log ends at record ${seq}, though record ${known} had been stored`;
  return `the log has other records than were stored up to record ${known}`;
}

function reportOlderCopy(ports: LogPorts, log: LogFile, known: number): void {
  log.damaged = true;
  ports.report({
    key: log.key,
    kind: "older_copy",
    bytes: 0,
    after_seq: log.stored.seq,
    reason: olderCopy(log.stored.seq, known),
  });
}

/** How the name of a log's file ends that is being rewritten. */
const rewriteEnding = logTemporary(".jsonl");

/** So many keys are read before others have their turn. */
const keysAtOnce = 100;

/** The names in a listing that logs could have. */
function logsIn(listing: readonly DiskEntry[]): readonly string[] {
  const logs = listing.filter(({ name, kind }) => kind === "file" && name.endsWith(".jsonl"));
  return logs.map(({ name }) => name);
}

/** Does something to one log, after all that was asked of it before. */
interface Logs {
  open(key: string): Promise<LogFile | undefined>;
  /** Removes what a dead process left of rewriting it. */
  sweep(key: string): Promise<void>;
}

/**
 * Compares the names and sizes of all logs with the index, and opens those that differ. After a clean end the
 * names are enough.
 *
 * @param isOver asked on the way: then it ends.
 * @returns whether the index has every log, and nothing else is there. A file of another program is no log, whatever
 *   its name: it is reported at every start.
 */
export async function compare(
  ports: LogPorts,
  logs: Logs,
  isOver: () => boolean,
): Promise<boolean> {
  const { disk, directory, index, collection } = ports;
  // The keys come first: a log that is made from now on is not missing in the listing.
  const keys: string[] = [];
  for (const key of index.keys()) if (keys.push(key) % keysAtOnce === 0) await setImmediate();
  const listing = (await disk.list(directory).catch(unlessAbsent)) ?? [];
  let isKnown = await sweep(logs, keys, listing);
  // The next start removes what is left, and compares again.
  if (!isKnown) await index.file.cover(collection, false);
  const isKnownWhole = index.coverage === "names";
  let isRemoved = false;
  /** Opens a log that the index may not know as it is, which compares the two. */
  const open = async (key: string) => {
    try {
      const log = await logs.open(key);
      isKnown &&= log !== undefined;
    } catch (error) {
      if (await isThere(disk, pathIn(ports, fileNameOf(key))).catch(() => true)) throw error;
      if (index.entry(key) === undefined) return;
      reportGone(ports, key, isKnownWhole);
      await index.remove(key);
      isRemoved = true;
    }
  };
  const files = new Set(logsIn(listing));
  const { recovered } = ports.journal.segments;
  const unmade = recovered.keysWithoutFile(collection, files);
  const later = unmade.filter((key) => index.entry(key) === undefined);
  for (const key of keys) {
    if (isOver()) return false;
    const name = fileNameOf(key);
    if (!files.delete(`${name}.jsonl`)) later.push(key);
    // Not awaited where there is nothing to wait for: there may be ten thousand of them.
    else if (!isKnownWhole && (await isBehind(ports, key, name))) await open(key);
  }
  for (const name of namesToRead(ports, files, listing)) {
    if (isOver()) return false;
    const isRead = await openNew(ports, logs, name);
    isKnown &&= isRead;
  }
  for (const key of later) {
    if (isOver()) return false;
    await open(key);
  }
  if (isRemoved) await index.file.erase();
  return isKnown && !isOver();
}

/** Removes what a dead process left of rewriting logs. @returns whether nothing of a dead process is left. */
async function sweep(
  logs: Logs,
  keys: readonly string[],
  listing: readonly DiskEntry[],
): Promise<boolean> {
  const swept = new Set<string>();
  for (const { name } of listing.filter((each) => each.name.endsWith(rewriteEnding))) {
    const file = name.slice(0, -rewriteEnding.length);
    const key = keyOfFileName(file) ?? keys.find((each) => fileNameOf(each) === file);
    if (key === undefined) continue;
    const sweeping = logs.sweep(key).then(() => swept.add(name));
    await sweeping.catch(() => undefined); // it keeps no other log from being served
  }
  return listing.every(({ name }) => !isTemporaryName(name) || swept.has(name));
}

/** The names, without their ending, of what may be logs that the index does not know. */
function namesToRead(
  { isShared }: LogPorts,
  files: ReadonlySet<string>,
  listing: readonly DiskEntry[],
): readonly string[] {
  // What has the name of a log where nothing but logs lies, and is no file, is reported when it is opened.
  const others = isShared ? [] : listing.filter(({ kind }) => kind !== "file");
  const names = [...files, ...others.map(({ name }) => name)];
  return names.filter((name) => name.endsWith(ending)).map((name) => name.slice(0, -ending.length));
}

/** @returns whether it could be read, or is no log. */
async function openNew(ports: LogPorts, logs: Logs, name: string): Promise<boolean> {
  try {
    const key = await keyOfLog(ports, name);
    return key === undefined || (await logs.open(key)) !== undefined;
  } catch (error) {
    if (!isDiskError(error)) throw error;
    reportUnreadable(ports, name, error);
    return false;
  }
}

const ending = ".jsonl";

function pathIn({ directory }: LogPorts, name: string): string {
  return join(directory, `${name}.jsonl`);
}

/** Of so many logs the names are compared at a clean end; of more, the next start compares them in the background. */
const comparedAtEnd = 20_000;

/** Whether the directory holds the files of the logs in the index and no others. `undefined`: they are too many. */
export async function areNamesKnown({
  disk,
  directory,
  index,
}: LogPorts): Promise<boolean | undefined> {
  const names = new Set<string>();
  for (const key of index.keys()) {
    names.add(`${fileNameOf(key)}.jsonl`);
    if (names.size > comparedAtEnd) return undefined;
  }
  const files = logsIn(await disk.list(directory).catch(() => []));
  return files.length === names.size && files.every((file) => names.has(file));
}

/**
 * A deletion takes the file first, so a process that died may have left the row of what it deleted: then
 * nothing is lost. One that ended well left none.
 */
function reportGone(ports: LogPorts, key: string, isKnownWhole: boolean): void {
  const known = `the file is not there, though record ${ports.index.entry(key)?.seq} had been stored`;
  const why = isKnownWhole
    ? "it was taken away"
    : "its deletion was cut short or did not reach the index, or it was taken away";
  ports.report({
    key,
    kind: isKnownWhole ? "older_copy" : "missing_log",
    bytes: 0,
    after_seq: 0,
    reason: `${known}: ${why}; it is listed no more`,
  });
}

/**
 * Reports a log that could not be read, so that the others can be served. It is read again when it is
 * asked for. Throws what is no fault of the log.
 */
export function reportUnreadable(ports: LogPorts, key: string, error: unknown): void {
  if (!isDiskError(error) && !isThroughlineError(error)) throw error;
  if (isThroughlineError(error, "THROUGHLINE_CLOSED")) throw error;
  // Of a file that is not ours there is a report already.
  if (isThroughlineError(error, "THROUGHLINE_CORRUPT")) return;
  const reason = error instanceof Error ? error.message : "it cannot be read";
  ports.report({ key, kind: "unreadable_log", bytes: 0, after_seq: 0, reason });
}

async function isBehind(ports: LogPorts, key: string, name: string): Promise<boolean> {
  const path = pathIn(ports, name);
  const size = await ports.disk.size(path).catch(() => undefined);
  const end = ports.index.entry(key)?.end;
  const { recovered } = ports.journal.segments;
  return size !== end || (recovered.endOf(logName(ports.collection, key)) ?? end) !== end;
}

/**
 * The key of a log that the index does not know. `undefined`: the name is none of ours, or it is that
 * of somebody else's file in a directory that is not for logs alone.
 */
async function keyOfLog(ports: LogPorts, name: string): Promise<string | undefined> {
  const decoded = keyOfFileName(name);
  if (decoded !== undefined && !ports.isShared) return decoded;
  try {
    const file = await ports.disk.open(pathIn(ports, name), "read");
    try {
      if (decoded === undefined) return await keyInHeader(file, name);
      return (await isSurelyOurs(file)) ? decoded : undefined;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof SyntaxError || isCode(error, "ENOENT", "ELOOP")) return undefined;
    throw error;
  }
}

/** The key that a log says it has, where its name is hashed. */
async function keyInHeader(file: DiskFile, name: string): Promise<string | undefined> {
  const bytes = new Uint8Array(128 * 1024);
  const count = await file.read(bytes, 0);
  const line = new TextDecoder().decode(bytes.subarray(0, count)).split("\n", 1)[0] ?? "";
  const header: unknown = JSON.parse(line);
  const key = typeof header === "object" && header !== null && "key" in header && header.key;
  return typeof key === "string" && fileNameOf(key) === name ? key : undefined;
}
