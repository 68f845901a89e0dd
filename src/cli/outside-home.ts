import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { wrongUsage } from "./failure.ts";

/** Keeps `--out` away from the companion's own files. */
export async function assertOutsideHome(out: string, home: string): Promise<void> {
  if ((await placeToHome(out, home)) === "outside") return;
  throw wrongUsage(`--out ${out} is inside the home ${home}. Choose a place outside of it`);
}

/**
 * Where a path lies, whatever links lead there, and whether or not anything is there yet. A folder that
 * a link in the home leads to is inside too, unless the home lies in it. A home that is not there has no inside.
 */
export async function placeToHome(
  path: string,
  home: string,
): Promise<"same" | "inside" | "outside"> {
  const identity = await folderAt(home);
  if (identity === undefined) return "outside";
  if ((await folderAt(resolve(path))) === identity) return "same";
  const folders = new Set(await foldersIn(home));
  for (let at = await realpath(home); dirname(at) !== at; at = dirname(at)) {
    folders.delete((await folderAt(dirname(at))) ?? "");
  }
  folders.add(identity);
  for (let at = await nearest(path); ; at = dirname(at)) {
    if (folders.has((await folderAt(at)) ?? "")) return "inside";
    if (dirname(at) === at) return "outside";
  }
}

/** The real path of what is there: the path itself, else the first of its folders that is. */
async function nearest(path: string): Promise<string> {
  for (let at = resolve(path); ; at = dirname(at)) {
    try {
      return await realpath(at);
    } catch (error) {
      if (dirname(at) === at) throw error;
    }
  }
}

async function foldersIn(home: string): Promise<readonly string[]> {
  const names = await readdir(home);
  const found = await Promise.all(names.map((name) => folderAt(join(home, name))));
  return found.filter((each) => each !== undefined);
}

/** Which folder that is: disks that ignore case, and mounts, give one several names. */
async function folderAt(path: string): Promise<string | undefined> {
  try {
    const stats = await stat(path, { bigint: true });
    return stats.isDirectory() ? `${stats.dev} ${stats.ino}` : undefined;
  } catch {
    return undefined; // the writer reports the problem
  }
}
