import { lstat, statfs } from "node:fs/promises";
import { isErrno } from "../failure.ts";
import { bytes } from "../format.ts";
import type { Check, Checker } from "./check.ts";

/** Less free space than this is a note: a turn takes kilobytes, a moment up to 20 MB. */
const littleBytes = 1e9;

export const homeChecks: Checker = async ({ home }) => ({ checks: [await checkHome(home)] });

/** Whether the home exists, is a directory of this user, and is closed to other users. */
export async function checkHome(home: string): Promise<Check & { readonly isThere: boolean }> {
  const id = "home";
  try {
    const stats = await lstat(home);
    const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
    if (!stats.isDirectory()) {
      return { id, isThere: true, status: "note", says: `${home} is not a directory` };
    }
    if (process.getuid !== undefined && stats.uid !== process.getuid()) {
      return { id, isThere: true, status: "note", says: `${home} belongs to another user` };
    }
    if (process.getuid !== undefined && (stats.mode & 0o077) !== 0) {
      const says = `other users can read ${home} (mode ${mode}). Run: chmod 700 ${home}`;
      return { id, isThere: true, status: "note", says };
    }
    return { id, isThere: true, status: "ok", says: `${home}, mode ${mode}` };
  } catch (error) {
    if (isErrno(error, "ENOENT")) {
      const says = `there is no home at ${home} yet. It is created when something is stored`;
      return { id, isThere: false, status: "note", says };
    }
    return { id, isThere: true, status: "note", says: `${home} cannot be read` };
  }
}

export async function checkSpace(home: string): Promise<Check> {
  const { bavail, bsize } = await statfs(home);
  const free = bavail * bsize;
  const status = free < littleBytes ? "note" : "ok";
  return { id: "space", status, says: `${bytes(free)} free on the home's disk` };
}
