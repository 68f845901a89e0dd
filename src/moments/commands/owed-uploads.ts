import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../cli/failure.ts";
import { type EntryReading, type OwedEntry, readEntry } from "../outbox/owed-entry.ts";

/** What is still to be done about a package in the bucket. */
export interface OwedUpload {
  /** `parked`: it will not go by itself; `throughline feedback upload` asks again. */
  readonly state: "owed" | "parked";
  /** Why the last attempt failed, as `conflict`; `null`: there was none, or it ended well. */
  readonly error: string | null;
}

/** One that was done between the two looks is the same. */
const unreadable: EntryReading = { problem: "bad" };

/**
 * The entries in the outbox of a home, by name. Only reads. An entry that cannot be read is left out: the
 * uploader reports it.
 */
export async function readOwed(home: string): Promise<readonly OwedEntry[]> {
  const entries: OwedEntry[] = [];
  const directory = join(home, "outbox");
  for (const name of await namesIn(directory)) {
    const { entry } = await readFile(join(directory, name)).then(readEntry, () => unreadable);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

/** By package: of its upload, or of the mark that takes it back. What is parked goes first. */
export function owedByPackage(entries: readonly OwedEntry[]): ReadonlyMap<string, OwedUpload> {
  const owed = new Map<string, OwedUpload>();
  for (const { kind, name, state, last_error: last } of entries) {
    if (kind !== "package" && kind !== "retraction") continue;
    if (owed.get(name)?.state === "parked") continue;
    const isParked = state === "parked";
    owed.set(name, { state: isParked ? "parked" : "owed", error: last?.class ?? null });
  }
  return owed;
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).filter((name) => name.endsWith(".json")).sort();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
