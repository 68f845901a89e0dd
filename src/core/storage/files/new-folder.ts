// A folder that is filled under another name beside its own, and appears whole by one rename.
import { basename, dirname, join } from "node:path";
import { randomId } from "../../ids.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import { isCode, isRunning, makeDirectory, unlessAbsent } from "./file-ports.ts";

/** Makes a name beside a folder, such as `backup.partial-…`, by which a later run finds what this one left. */
export function nameBeside(target: string, word: string): string {
  return `${target}.${word}-${process.pid}-${randomId()}`;
}

/** Makes a folder beside the one that it will be, and removes what runs that ended left under such a name. */
export async function makeBeside(disk: Disk, target: string, word: string): Promise<string> {
  const parent = dirname(target);
  const start = `${basename(target)}.${word}-`;
  await makeDirectory(disk, parent);
  for (const { name, kind } of await disk.list(parent)) {
    const end = name.startsWith(start) ? name.slice(start.length) : "";
    const [, pid] = /^(\d+)-[0-9a-z]{18}$/.exec(end) ?? [];
    const isLeft = pid !== undefined && !isRunning(Number(pid));
    if (isLeft && kind === "directory") await removeTree(disk, join(parent, name));
  }
  const folder = nameBeside(target, word);
  await disk.mkdir(folder);
  return folder;
}

/** Fills a new file, and makes the folders above it. @param name with `/` between the names. */
export async function create<T>(
  disk: Disk,
  folder: string,
  name: string,
  fill: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const names = name.split("/");
  for (let i = 1; i < names.length; i++) {
    await disk.mkdir(join(folder, ...names.slice(0, i))).catch((error: unknown) => {
      if (!isCode(error, "EEXIST")) throw error;
    });
  }
  const path = join(folder, name);
  const file = await disk.open(path, "create");
  try {
    try {
      return await fill(file);
    } finally {
      await file.close();
    }
  } catch (error) {
    await disk.unlink(path);
    throw error;
  }
}

/**
 * Makes a filled folder, whose files must be synced, appear at its place. Rejects as the disk does where
 * something other than an empty folder is.
 *
 * @param aside the name that what is there gets just before; it comes back when the folder cannot appear.
 */
export async function appear(
  disk: Disk,
  folder: string,
  target: string,
  aside?: string,
): Promise<void> {
  await syncTree(disk, folder);
  if (aside !== undefined) await disk.rename(target, aside);
  try {
    await moveTo(disk, folder, target);
  } catch (error) {
    if (aside !== undefined) await disk.rename(aside, target).catch(() => undefined);
    throw error;
  }
}

async function moveTo(disk: Disk, folder: string, target: string): Promise<void> {
  // An empty folder may be there, and not every system renames over one.
  await disk.rmdir(target).catch(unlessAbsent);
  await disk.rename(folder, target);
  await disk.syncDirectory(dirname(target));
}

/** Makes all names durable. Removes empty folders: one may be named after a chat that was forgotten. */
async function syncTree(disk: Disk, path: string): Promise<void> {
  for (const { name, kind } of await disk.list(path)) {
    if (kind !== "directory") continue;
    const inner = join(path, name);
    await syncTree(disk, inner);
    if ((await disk.list(inner)).length === 0) await disk.rmdir(inner);
  }
  await disk.syncDirectory(path);
}

export async function removeTree(disk: Disk, path: string): Promise<void> {
  for (const { name, kind } of await disk.list(path)) {
    const inner = join(path, name);
    await (kind === "directory" ? removeTree(disk, inner) : disk.unlink(inner));
  }
  await disk.rmdir(path);
}
