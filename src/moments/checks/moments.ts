import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Check, Checker } from "../../cli/doctor/check.ts";
import type { FeedbackSettings } from "../../cli/env.ts";
import { isErrno } from "../../cli/failure.ts";
import { counted } from "../../cli/format.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import { type Place, placeOf } from "../directory/names.ts";
import { readStatus } from "../directory/status.ts";
import { readTombstone } from "../directory/tombstones.ts";
import { effectiveMode, storageModes } from "../upload/mode.ts";
import { checkPackages } from "./packages.ts";

export const momentChecks: Checker = async ({ home, feedback }) => ({
  checks: [
    checkMoments(feedback),
    await checkUploads(home),
    await checkPackages(home),
    await checkStatuses(home),
  ],
});

/** Where feedback packages go, by the environment. Uses no network. */
export function checkMoments({ storage, bucket }: FeedbackSettings): Check {
  const id = "moments";
  const { mode, reason } = effectiveMode({ mode: storage, bucket });
  if (reason === "unknown_mode") {
    const says = `FEEDBACK_STORAGE must be one of ${storageModes.join(", ")}. Packages stay on this machine`;
    return { id, status: "note", says };
  }
  // A note only where a person asked for uploads.
  const isMissed = reason === "no_bucket" && storage !== undefined;
  if (isMissed) {
    const says = `FEEDBACK_STORAGE is ${storage}, but FEEDBACK_S3_BUCKET is not set. Packages stay on this machine`;
    return { id, status: "note", says };
  }
  const where = mode === "local" ? "stay on this machine" : `go to the bucket ${bucket}`;
  return { id, status: "ok", says: `feedback packages ${where}` };
}

/** Uploads that failed and are not retried by themselves. */
export async function checkUploads(home: string): Promise<Check> {
  const id = "uploads";
  const path = join(home, "feedback");
  const reasons: string[] = [];
  for (const { name, as } of await placesIn(path)) {
    const asked =
      as === "tombstone"
        ? await readTombstone({ disk: realDisk, path }, name)
        : as === "status" && (await readStatus({ disk: realDisk, path }, name))?.upload;
    if (asked && asked.state === "failed") reasons.push(asked.error?.class ?? "unknown");
  }
  if (reasons.length === 0) return { id, status: "ok", says: "no upload has failed" };
  const why = Array.from(new Set(reasons)).sort().join(", ");
  const says = `${counted(reasons.length, "upload")} failed (${why}). Retry with \`throughline feedback upload\``;
  return { id, status: "note", says };
}

/** How many of them are named. */
const namedAtMost = 5;

/** Whether the status of every package can be read. */
export async function checkStatuses(home: string): Promise<Check> {
  const id = "feedback_status";
  const path = join(home, "feedback");
  const torn: string[] = [];
  for (const { name, as } of await placesIn(path)) {
    if (as !== "status") continue;
    if ((await readStatus({ disk: realDisk, path }, name)) === undefined) torn.push(name);
  }
  if (torn.length === 0) {
    return { id, status: "ok", says: "the status of every feedback package can be read" };
  }
  const more = torn.length - namedAtMost;
  const names = [...torn.slice(0, namedAtMost), ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const says =
    `the status of ${counted(torn.length, "feedback package")} cannot be read, so they are neither ` +
    `exported nor purged: ${names}. Move <package>.status.json out of ${path}. Then retract or ` +
    "preserve the package again if it was, or delete it with `throughline feedback delete`";
  return { id, status: "damaged", says };
}

async function placesIn(path: string): Promise<readonly Place[]> {
  try {
    return (await readdir(path)).sort().flatMap((entry) => placeOf(entry) ?? []);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
