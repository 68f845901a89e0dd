import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Check } from "../../cli/doctor/check.ts";
import { counted } from "../../cli/format.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import { codeOf } from "../directory/disk-errors.ts";
import { placeOf } from "../directory/names.ts";
import { verifyFolder } from "../directory/verify.ts";

const id = "packages";
/** How many files or packages are printed. */
const namedAtMost = 5;

/** Checks every byte of every package. Changes nothing, so it can run beside a server. */
export async function checkPackages(home: string): Promise<Check> {
  const path = join(home, "feedback");
  const damaged: string[] = [];
  const unread: string[] = [];
  let whole = 0;
  try {
    for (const name of await packagesIn(path)) {
      try {
        const { state, differences } = await verifyFolder(realDisk, join(path, name), name);
        if (state !== "damaged") whole++;
        // A server may have deleted it since it was listed.
        else if (existsSync(join(path, name))) {
          damaged.push(...differences.map((each) => `${name}/${each.path} (${each.detail})`));
        }
      } catch (error) {
        if (existsSync(join(path, name))) unread.push(`${name} (${codeOf(error)})`);
      }
    }
  } catch (error) {
    return { id, status: "failed", says: `${path} cannot be read: ${codeOf(error)}` };
  }
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

async function packagesIn(path: string): Promise<readonly string[]> {
  if (!existsSync(path)) return [];
  const places = (await readdir(path)).sort().map(placeOf);
  return places.flatMap((place) => (place?.as === "package" ? [place.name] : []));
}

function named(all: readonly string[]): string {
  const more = all.length - namedAtMost;
  return [...all.slice(0, namedAtMost), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
