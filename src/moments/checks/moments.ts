import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Check, Checker } from "../../cli/doctor/check.ts";
import type { FeedbackSettings } from "../../cli/env.ts";
import { isErrno } from "../../cli/failure.ts";
import { counted } from "../../cli/format.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import { readOwed } from "../commands/owed-uploads.ts";
import { placeOf } from "../directory/names.ts";
import { readStatus } from "../directory/status.ts";
import { effectiveMode, storageModes } from "../outbox/effective-mode.ts";
import { checkPackages } from "./packages.ts";

export const momentChecks: Checker = async ({ home, feedback }) => ({
  checks: [
    checkMoments(feedback),
    await checkUploads(home),
    await checkPackages(home),
    await checkStatuses(home),
  ],
});

/** Where packages of feedback go, as the environment has it. Nothing is asked over the network. */
export function checkMoments({ storage, bucket }: FeedbackSettings): Check {
  const id = "moments";
  const { mode, reason } = effectiveMode({ mode: storage, bucket });
  if (reason === "unknown_mode") {
    const says = `FEEDBACK_STORAGE is none of ${storageModes.join(", ")}: packages stay on this machine`;
    return { id, status: "note", says };
  }
  // Asked for by name, and not to be had; what nobody asked for is no news.
  const isMissed = reason === "no_bucket" && storage !== undefined;
  if (isMissed) {
    const says = `FEEDBACK_STORAGE is ${storage} without FEEDBACK_S3_BUCKET: packages stay on this machine`;
    return { id, status: "note", says };
  }
  const where = mode === "local" ? "stay on this machine" : `go to the bucket ${bucket}`;
  return { id, status: "ok", says: `packages of feedback ${where}` };
}

/** What is owed to a bucket and will not go by itself. */
export async function checkUploads(home: string): Promise<Check> {
  const id = "uploads";
  const parked = (await readOwed(home)).filter(({ state }) => state === "parked");
  if (parked.length === 0) return { id, status: "ok", says: "no upload is parked" };
  const reasons = new Set(parked.map(({ last_error: last }) => last?.class ?? "unknown"));
  const why = Array.from(reasons).sort().join(", ");
  const says = `${counted(parked.length, "upload")} parked (${why}): \`throughline feedback upload\` asks again`;
  return { id, status: "note", says };
}

/** How many of them are named. */
const namedAtMost = 5;

/** What became of the packages: whether it can be read. */
export async function checkStatuses(home: string): Promise<Check> {
  const id = "feedback_status";
  const path = join(home, "feedback");
  const torn: string[] = [];
  for (const name of await packagesWithStatus(path)) {
    if ((await readStatus({ disk: realDisk, path }, name)) === undefined) torn.push(name);
  }
  if (torn.length === 0) {
    return { id, status: "ok", says: "what became of each package of feedback can be read" };
  }
  const more = torn.length - namedAtMost;
  const names = [...torn.slice(0, namedAtMost), ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const says =
    `what became of ${counted(torn.length, "package")} of feedback cannot be read, so that none is ` +
    `exported or purged: ${names}. Move <package>.status.json in ${path} away; then retract or ` +
    "preserve the package again, if it was, or delete it with `throughline feedback delete`";
  return { id, status: "damaged", says };
}

async function packagesWithStatus(path: string): Promise<readonly string[]> {
  try {
    const places = (await readdir(path)).sort().map(placeOf);
    return places.flatMap((place) => (place?.as === "status" ? [place.name] : []));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
