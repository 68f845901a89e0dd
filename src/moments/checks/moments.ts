import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Check, Checker } from "../../cli/doctor/doctor.ts";
import { isErrno } from "../../cli/failure.ts";
import { counted } from "../../cli/format.ts";
import type { Settings } from "../../cli/settings.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import { codeOf, placesIn } from "../directory/names.ts";
import { readStatus, readTombstone } from "../directory/notes.ts";
import { verifyFolder } from "../directory/read-package.ts";
import { isClientInstalled } from "../s3/s3-bucket.ts";
import { refusals } from "../s3/upload-failure.ts";
import { effectiveMode, storageModes } from "../upload/mode.ts";

export const momentChecks: Checker = async (settings) => ({
  checks: [checkMoments(settings), ...(await checkPackages(join(settings.home, "feedback")))],
});

/** Where feedback packages go, by the environment. Uses no network. */
export function checkMoments({ storage, bucket }: Pick<Settings, "storage" | "bucket">): Check {
  const id = "moments";
  const { mode, reason } = effectiveMode({ mode: storage, bucket });
  const note = (says: string): Check => ({ id, status: "note", says });
  const stay = "Packages stay on this machine";
  if (reason === "unknown_mode") {
    return note(`FEEDBACK_STORAGE must be one of ${storageModes.join(", ")}. ${stay}`);
  }
  // A note only where a person asked for uploads.
  if (reason === "no_bucket" && storage !== undefined) {
    return note(`FEEDBACK_STORAGE is ${storage}, but FEEDBACK_S3_BUCKET is not set. ${stay}`);
  }
  if (mode !== "local" && !isClientInstalled()) {
    return note(`${refusals.no_client}. FEEDBACK_S3_BUCKET is ${bucket}`);
  }
  const where = mode === "local" ? "stay on this machine" : `go to the bucket ${bucket}`;
  return { id, status: "ok", says: `feedback packages ${where}` };
}

/** How many files or packages are named. */
const namedAtMost = 5;

/**
 * Whether the status of every package can be read, and is of no upload that is not tried again by itself; and whether
 * every byte matches its checksum. Changes nothing, so it can run beside a server.
 */
async function checkPackages(path: string): Promise<readonly Check[]> {
  const from = { disk: realDisk, path };
  const dead: string[] = [];
  const torn: string[] = [];
  const damaged: string[] = [];
  const unread: string[] = [];
  let whole = 0;
  const places = await placesIn(from).catch((error) => error);
  if (places instanceof Error && !isErrno(places, "ENOTDIR")) {
    return [
      { id: "packages", status: "failed", says: `${path} cannot be read: ${codeOf(places)}` },
    ];
  }
  for (const [name, as] of places instanceof Error ? [] : places) {
    const status = as.has("status") ? await readStatus(from, name) : undefined;
    const tombstone = as.has("tombstone") ? await readTombstone(from, name) : undefined;
    if (as.has("status") && status === undefined) torn.push(name);
    for (const asked of [status?.upload, tombstone]) {
      if (asked?.state === "dead") dead.push(asked.error?.class ?? "unknown");
    }
    if (!as.has("package")) continue;
    try {
      const { state, differences } = await verifyFolder(from, name);
      if (state !== "damaged") whole++;
      // A server may have deleted it since it was listed.
      else if (existsSync(join(path, name))) {
        damaged.push(...differences.map((each) => `${name}/${each.path} (${each.detail})`));
      }
    } catch (error) {
      if (existsSync(join(path, name))) unread.push(`${name} (${codeOf(error)})`);
    }
  }
  return [uploadsCheck(dead), statusesCheck(torn, path), bytesCheck(damaged, unread, whole)];
}

function uploadsCheck(dead: readonly string[]): Check {
  const id = "uploads";
  if (dead.length === 0) return { id, status: "ok", says: "no upload is dead" };
  const why = Array.from(new Set(dead)).sort().join(", ");
  const what = `${counted(dead.length, "upload")} dead (${why}): not tried again by itself`;
  const says = `${what}. Retry with \`throughline feedback upload\``;
  return { id, status: "note", says };
}

function statusesCheck(torn: readonly string[], path: string): Check {
  const id = "feedback_status";
  if (torn.length === 0) {
    return { id, status: "ok", says: "the status of every feedback package can be read" };
  }
  const says =
    `the status of ${counted(torn.length, "feedback package")} cannot be read, so they are neither ` +
    `exported nor purged: ${named(torn)}. Move <package>.status.json out of ${path}. Then retract or ` +
    "preserve the package again if it was, or delete it with `throughline feedback delete`, and with " +
    "--in-bucket if it was uploaded";
  return { id, status: "damaged", says };
}

function bytesCheck(damaged: readonly string[], unread: readonly string[], whole: number): Check {
  const id = "packages";
  const unreadSays = `not read: ${named(unread)}`;
  if (damaged.length > 0) {
    const rest = unread.length === 0 ? "" : `; ${unreadSays}`;
    const wayOut =
      "take such a package from a backup or from the bucket, or delete it with " +
      "`throughline feedback delete PACKAGE`";
    const says = `damaged feedback packages: ${named(damaged)}; ${wayOut}${rest}`;
    return { id, status: "damaged", says };
  }
  if (unread.length > 0) return { id, status: "failed", says: `packages ${unreadSays}` };
  const found = counted(whole, "feedback package");
  return { id, status: "ok", says: `${found}, every byte matches its checksum` };
}

function named(all: readonly string[]): string {
  const more = all.length - namedAtMost;
  return [...all.slice(0, namedAtMost), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
