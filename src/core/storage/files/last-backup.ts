import { join } from "node:path";
import type { NewId } from "../../ids.ts";
import type { Disk } from "../disk/disk.ts";
import { readBytes, replaceFile, writeAll } from "./file-ports.ts";

/** The note that `backup` leaves in the home that it copied. */
interface LastBackup {
  /** ISO 8601. */
  readonly made_at: string;
  readonly directory: string;
  /** Nothing in it is damaged, and nothing was left out. */
  readonly whole: boolean;
}

const pathIn = (home: string) => join(home, "last-backup.json");

/** Writes the note, whole or not at all. @throws what the disk rejects with. */
export async function noteBackup(disk: Disk, home: string, note: LastBackup, newId: NewId) {
  const ports = { disk, newId, unsyncedNames: new Set<string>(), guard: () => undefined };
  const bytes = Buffer.from(`${JSON.stringify(note)}\n`);
  await replaceFile(ports, pathIn(home), (file) => writeAll(file, bytes, 0));
}

/** @returns `undefined`: none is noted, or the note cannot be read. */
export async function readLastBackup(disk: Disk, home: string): Promise<LastBackup | undefined> {
  try {
    return JSON.parse(String(await readBytes(disk, pathIn(home)))) as LastBackup;
  } catch {
    return undefined;
  }
}
