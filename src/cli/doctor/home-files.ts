import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Disk, DiskEntry, DiskFile } from "../../core/storage/disk/disk.ts";
import { batchesBackward, readExactly } from "../../core/storage/files/batch-reader.ts";
import { isTemporaryName } from "../../core/storage/files/file-ports.ts";
import { journalFolder } from "../../core/storage/files/segments.ts";
import { isErrno } from "../failure.ts";

/** The list of a backup. A directory without it is no complete backup. */
export const backupName = "backup.json";

/** Files that people keep elsewhere, and put into the home as a link. */
const ownFiles = ["persona.md", "facts.md", "emotions.yaml", "throughline.config.json"];

/** Of one process, about the home alone, or derived from the logs. */
export const isOfProcess = (name: string) =>
  /^(lock\.db|lock\.json|index\.db|last-backup\.json)(-\w+)?$/i.test(name) ||
  name === journalFolder;

/** Where a feature keeps what is no log and no document of ours, also where it is called like one. */
const otherFolders = /^(quarantine|feedback)\//;

export const isLog = (path: string) =>
  /^([^/]+\/)?[^/]+\.jsonl$/.test(path) && !otherFolders.test(path);

export const isDocument = (path: string) =>
  /^[^/]+\/[^/]+\.json(\.bak)?$/.test(path) && !otherFolders.test(path);

/** The SHA-256 that a file with the attachment of a chat has by its name. */
export const hashInName = (path: string) => /^chats\/[^/]+\.files\/([0-9a-f]{64})$/.exec(path)?.[1];

/** The folder of a package that a file belongs to. */
export const packageOf = (path: string) => /^feedback\/[^/]+(?=\/)/.exec(path)?.[0];

/** Lists what a home holds that a backup needs. Names that go away while it does so are not listed. */
export async function listHome(disk: Disk, home: string) {
  /** With `/` between the names. */
  const paths: string[] = [];
  /** What is no file, by its path, with what it is. */
  const others = new Map<string, string>();
  const list = async (folder: string, entries: readonly DiskEntry[]): Promise<void> => {
    for (const { name, kind } of entries) {
      const path = `${folder}${name}`;
      if (isTemporaryName(name) || isUnfinished(path) || (folder === "" && isOfProcess(name))) {
        continue;
      }
      if (path === backupName) others.set(path, "has the name of the list of a backup");
      else if (kind === "file" || (kind === "other" && ownFiles.includes(path))) paths.push(path);
      else if (kind === "other") others.set(path, "is a link, a pipe or the like");
      else await list(`${path}/`, (await disk.list(join(home, path)).catch(unlessAbsent)) ?? []);
    }
  };
  await list("", await disk.list(home));
  return { paths, others };
}

/** A package that is being written or deleted, or an attachment that is being written: it does not count. */
const isUnfinished = (path: string) =>
  /^feedback\/[^/]+\.partial$|^chats\/[^/]+\.files\/[^/]+\.tmp-/.test(path);

/** Finds where a file of the home really is: own files may be links. */
export async function realPlace(home: string, name: string): Promise<string> {
  const path = join(home, name);
  return ownFiles.includes(name) ? realpath(path) : path;
}

/** What a program makes in its home. */
const marks = [
  "lock.db",
  "chats",
  "session",
  "forgotten",
  "feedback",
  "runs.jsonl",
  "consent.json",
];

/** Whether a folder has been used as a home. */
export async function isHome(disk: Disk, folder: string): Promise<boolean> {
  const entries = await disk.list(folder);
  return entries.some(({ name }) => marks.includes(name) || ownFiles.includes(name));
}

export async function sha256Of(file: DiskFile, size: number, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  for await (const { bytes } of chunks(file, 0, size, signal)) hash.update(bytes);
  return hash.digest("hex");
}

const chunkBytes = 1024 * 1024;

/** The bytes of a range, or what there is of them, until the signal stops it. */
export async function* chunks(file: DiskFile, start: number, end: number, signal: AbortSignal) {
  for (let at = start; at < end; at += chunkBytes) {
    signal.throwIfAborted();
    const bytes = await readExactly(file, at, Math.min(chunkBytes, end - at));
    if (bytes.length === 0) return;
    yield { bytes, at };
  }
}

export function unlessAbsent(error: unknown): undefined {
  if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
}

/** A batch that is being written is whole after some milliseconds, even on a slow disk. */
const patience = { looks: 12, pauseMs: 20 } as const;

/**
 * Up to where a log is to be copied: the end of its last whole batch. A batch that is being written right
 * now was acknowledged to no one. Bytes after the last batch that stay as they are were not left by a write
 * under way: they belong to the copy, as damage that is there.
 *
 * @returns `undefined` if no batch of it can be read.
 */
export async function endOfLog(file: DiskFile): Promise<number | undefined> {
  const first = await lookAt(file);
  let now = first;
  for (let looks = 1; looks < patience.looks; looks++) {
    if (now.end === now.size) break;
    // What was incomplete at first is complete: what is incomplete now came later.
    if (now.end >= first.size) break;
    await wait(patience.pauseMs);
    now = await lookAt(file);
  }
  if (now.end === 0) return undefined;
  return now.end >= first.size ? now.end : now.size;
}

/** Its size, and where its last whole batch ends; 0 if there is none. */
async function lookAt(file: DiskFile) {
  const size = await file.size();
  for await (const item of batchesBackward(file, size)) {
    if (item.kind === "batch") return { size, end: item.end };
  }
  return { size, end: 0 };
}
